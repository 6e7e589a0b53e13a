//! How long a connection is waited for, in simulated time: nothing here sleeps.

use crate::support::{Asked, connection, note, run_in_simulated_time};
use http::{Request, Response};
use http_engine::{Body, HttpVersions, Incoming, Limits, ServeError, reply, serve};
use std::future::{Future, pending};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

type Ended = oneshot::Receiver<Result<(), ServeError>>;

fn serve_with<F>(
    stop: impl Future<Output = ()> + 'static,
    handler: impl Fn(Request<Incoming>) -> F + 'static,
) -> (DuplexStream, Ended)
where
    F: Future<Output = Response<Body>> + 'static,
{
    let (client, server) = connection();
    let (done, ended) = oneshot::channel();
    let serving =
        serve(server, HttpVersions::Http1And2, Limits::default(), Box::pin(stop), handler);
    tokio::task::spawn_local(async move { done.send(serving.await) });
    (client, ended)
}

fn noting() -> (DuplexStream, Ended) {
    let asked = Asked::default();
    serve_with(pending(), move |request| note(Rc::clone(&asked), request))
}

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

#[test]
fn a_silent_client_is_cut_at_ten_seconds() {
    run_in_simulated_time(async {
        let (_client, ended) = noting();
        let start = Instant::now();
        assert!(matches!(ended.await.unwrap(), Err(ServeError::HeadTooSlow)));
        assert_eq!(start.elapsed().as_secs(), 10);
    });
}

#[test]
fn a_head_that_drips_is_cut_at_ten_seconds() {
    run_in_simulated_time(async {
        let (mut client, ended) = noting();
        let start = Instant::now();
        tokio::task::spawn_local(async move {
            client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n").await.unwrap();
            while client.write_all(b"X: y\r\n").await.is_ok() {
                sleep(Duration::from_secs(1)).await;
            }
        });
        assert!(matches!(ended.await.unwrap(), Err(ServeError::HeadTooSlow)));
        assert_eq!(start.elapsed().as_secs(), 10);
    });
}

#[test]
fn a_second_head_has_its_own_ten_seconds() {
    run_in_simulated_time(async {
        let (mut client, ended) = noting();
        let start = Instant::now();
        client.write_all(GET).await.unwrap();
        let mut answer = [0; 512];
        assert!(client.read(&mut answer).await.unwrap() > 0);
        sleep(Duration::from_secs(33)).await;
        client.write_all(b"GET / HTT").await.unwrap();
        assert!(matches!(ended.await.unwrap(), Err(ServeError::HeadTooSlow)));
        assert_eq!(start.elapsed().as_secs(), 43);
    });
}

#[test]
fn an_idle_connection_is_closed_within_a_tick_of_a_minute() {
    run_in_simulated_time(async {
        let (mut client, ended) = noting();
        let start = Instant::now();
        client.write_all(GET).await.unwrap();
        assert!(matches!(ended.await.unwrap(), Ok(())));
        assert!((60..=80).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
    });
}

#[test]
fn a_body_that_stops_coming_is_cut() {
    run_in_simulated_time(async {
        let (mut client, ended) = noting();
        let start = Instant::now();
        let head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf";
        client.write_all(head).await.unwrap();
        assert!(matches!(ended.await.unwrap(), Err(ServeError::TooSlow)));
        assert!((20..=30).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
    });
}

/// Sends a body of `bytes` bytes a second for ten minutes; how the connection ended, if it did.
async fn upload(bytes: usize) -> Option<ServeError> {
    let (mut client, mut ended) = noting();
    let head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n";
    client.write_all(head).await.unwrap();
    for _ in 0..600 {
        if client.write_all(&vec![b'x'; bytes]).await.is_err() {
            break;
        }
        sleep(Duration::from_secs(1)).await;
    }
    ended.try_recv().ok().and_then(Result::err)
}

#[test]
fn an_upload_may_take_long_but_not_drip() {
    run_in_simulated_time(async {
        assert!(upload(600).await.is_none());
        let slow = upload(100).await;
        assert!(matches!(slow, Some(ServeError::TooSlow)), "{slow:?}");
    });
}

/// Reads a megabyte at `bytes` a second for ten minutes; how the connection ended, if it did.
async fn download(bytes: usize) -> Option<ServeError> {
    let (mut client, mut ended) =
        serve_with(pending(), |_| async { Response::new(Body::full(vec![b'x'; 1 << 20])) });
    client.write_all(GET).await.unwrap();
    let mut piece = vec![0; bytes];
    for _ in 0..600 {
        if client.read_exact(&mut piece).await.is_err() {
            break;
        }
        sleep(Duration::from_secs(1)).await;
    }
    ended.try_recv().ok().and_then(Result::err)
}

#[test]
fn a_download_may_take_long_but_not_drip() {
    run_in_simulated_time(async {
        assert!(download(600).await.is_none());
        assert!(matches!(download(100).await, Some(ServeError::TooSlow)));
    });
}

#[test]
fn a_client_that_reads_nothing_is_cut() {
    run_in_simulated_time(async {
        let (mut client, ended) =
            serve_with(pending(), |_| async { Response::new(Body::full(vec![b'x'; 1 << 20])) });
        client.write_all(GET).await.unwrap();
        assert!(matches!(ended.await.unwrap(), Err(ServeError::TooSlow)));
    });
}

#[test]
fn a_handler_may_think_for_long() {
    run_in_simulated_time(async {
        let (mut client, _ended) = serve_with(pending(), |_| async {
            sleep(Duration::from_mins(15)).await;
            reply::text(http::StatusCode::OK, "at last")
        });
        client.write_all(GET).await.unwrap();
        let mut answer = vec![0; 512];
        let count = client.read(&mut answer).await.unwrap();
        assert!(String::from_utf8_lossy(&answer[..count]).ends_with("at last"));
    });
}

#[test]
fn stopping_finishes_what_runs_and_closes() {
    run_in_simulated_time(async {
        let (stop, stopped) = oneshot::channel::<()>();
        let (mut client, ended) = serve_with(async { drop(stopped.await) }, |_| async {
            sleep(Duration::from_secs(5)).await;
            reply::text(http::StatusCode::OK, "done")
        });
        client.write_all(GET).await.unwrap();
        sleep(Duration::from_secs(1)).await;
        stop.send(()).unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert!(answer.contains("connection: close"), "{answer}");
        assert!(answer.ends_with("done"));
        assert!(matches!(ended.await.unwrap(), Ok(())));
    });
}

#[test]
fn stopping_closes_an_idle_connection_at_once() {
    run_in_simulated_time(async {
        let (stop, stopped) = oneshot::channel::<()>();
        let asked = Asked::default();
        let (mut client, ended) = serve_with(async { drop(stopped.await) }, move |request| {
            note(Rc::clone(&asked), request)
        });
        client.write_all(GET).await.unwrap();
        let mut answer = [0; 512];
        assert!(client.read(&mut answer).await.unwrap() > 0);
        let start = Instant::now();
        stop.send(()).unwrap();
        assert!(matches!(ended.await.unwrap(), Ok(())));
        assert_eq!(start.elapsed(), Duration::ZERO);
    });
}
