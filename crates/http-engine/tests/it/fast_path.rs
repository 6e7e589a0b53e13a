//! The fast path: what it answers, when it hands over, and that nothing is lost between.

use crate::support::{Asked, DEADLINE, note, run, run_in_simulated_time, status};
use bytes::Bytes;
use http_engine::fast_path::{FastPath, FastReply, SimpleMethod, SimpleRequest};
use http_engine::{HttpVersions, Limits, ServeError, serve_with_fast_path};
use std::cell::RefCell;
use std::future::{Future, pending};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufStream, DuplexStream, duplex};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

/// Claims `/quick…` and `/large`, and notes what it was asked.
#[derive(Clone, Default)]
struct Noting(Rc<RefCell<Vec<String>>>);

const LARGE_BYTES: usize = 300_000;

impl FastPath for Noting {
    fn answer(&self, request: &SimpleRequest<'_>, out: &mut Vec<u8>) -> FastReply {
        out.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
        let is_large = request.path() == "/large";
        if !is_large && !request.path().starts_with("/quick") {
            return FastReply::Decline;
        }
        self.0.borrow_mut().push(format!("{:?} {}", request.method(), request.target()));
        let length = if is_large { LARGE_BYTES } else { request.target().len() };
        out.extend_from_slice(format!("content-length: {length}\r\n").as_bytes());
        request.end_head(out);
        match request.method() {
            SimpleMethod::Head => FastReply::Done,
            SimpleMethod::Get if is_large => {
                FastReply::DoneWithBody(Bytes::from(vec![b'x'; length]))
            }
            SimpleMethod::Get => {
                out.extend_from_slice(request.target().as_bytes());
                FastReply::Done
            }
        }
    }
}

struct Served {
    client: DuplexStream,
    ended: oneshot::Receiver<Result<(), ServeError>>,
    quick: Noting,
    slow: Asked,
}

fn serve_with(stop: impl Future<Output = ()> + 'static) -> Served {
    serve_over(64 << 10, stop)
}

fn serve_over(pipe_bytes: usize, stop: impl Future<Output = ()> + 'static) -> Served {
    let (client, server) = duplex(pipe_bytes);
    let (done, ended) = oneshot::channel();
    let (quick, slow) = (Noting::default(), Asked::default());
    let noted = Rc::clone(&slow);
    let handler = move |request| note(Rc::clone(&noted), request);
    let limits = Limits::default();
    let serving = serve_with_fast_path(
        server,
        HttpVersions::Http1And2,
        limits,
        Box::pin(stop),
        quick.clone(),
        handler,
    );
    tokio::task::spawn_local(async move { done.send(serving.await) });
    Served { client, ended, quick, slow }
}

/// All that comes back for `wire`, whose last request must ask for the close.
async fn answers(served: &mut Served, wire: &str) -> String {
    served.client.write_all(wire.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let read = served.client.read_to_end(&mut answer);
    tokio::time::timeout(DEADLINE, read).await.unwrap().unwrap();
    String::from_utf8(answer).unwrap()
}

fn bodies(answer: &str) -> Vec<&str> {
    answer
        .split("HTTP/1.")
        .skip(1)
        .map(|it| it.split_once("\r\n\r\n").map_or("no head", |it| it.1))
        .collect()
}

fn get(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n")
}

fn last(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
}

#[test]
fn pipelined_requests_are_answered_in_order_with_one_write() {
    run(async {
        let mut served = serve_with(pending());
        let wire = [get("/quick1"), get("/quick2"), get("/quick3")].concat();
        served.client.write_all(wire.as_bytes()).await.unwrap();
        // One read takes what one write brought.
        let mut answer = vec![0; 4096];
        let count = served.client.read(&mut answer).await.unwrap();
        let answer = String::from_utf8(answer[..count].to_vec()).unwrap();
        assert_eq!(bodies(&answer), ["/quick1", "/quick2", "/quick3"]);
        assert!(answer.contains("\r\ndate: ") && !answer.contains("connection:"), "{answer}");
    });
}

#[test]
fn a_request_in_pieces_is_answered_once_it_is_whole() {
    run(async {
        let mut served = serve_with(pending());
        let wire = [get("/quick1"), last("/quick2")].concat();
        for piece in wire.as_bytes().chunks(7) {
            served.client.write_all(piece).await.unwrap();
            tokio::task::yield_now().await;
        }
        assert_eq!(bodies(&answers(&mut served, "").await), ["/quick1", "/quick2"]);
        assert!(served.slow.borrow().is_empty());
    });
}

#[test]
fn what_the_door_does_not_claim_goes_to_the_handler_and_the_lane_goes_on() {
    run(async {
        let mut served = serve_with(pending());
        let wire = [get("/quick1"), get("/other"), last("/quick2")].concat();
        let answer = answers(&mut served, &wire).await;
        assert_eq!(bodies(&answer), ["/quick1", "GET /other 0", "/quick2"]);
        assert_eq!(*served.quick.0.borrow(), ["Get /quick1", "Get /quick2"]);
        assert!(matches!(served.ended.await.unwrap(), Ok(())));
    });
}

#[test]
fn a_body_goes_to_the_handler_and_what_follows_it_too() {
    run(async {
        let mut served = serve_with(pending());
        let post = "POST /quick HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
        let answer =
            answers(&mut served, &[&get("/quick1"), post, &last("/quick2")].concat()).await;
        assert_eq!(bodies(&answer), ["/quick1", "POST /quick 3", "GET /quick2 0"]);
    });
}

#[test]
fn http10_is_kept_alive_on_request_and_closed_otherwise() {
    run(async {
        let mut served = serve_with(pending());
        let kept = "GET /quick1 HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n";
        let last = "GET /quick2 HTTP/1.0\r\n\r\n";
        let answer = answers(&mut served, &[kept, last, kept].concat()).await;
        assert_eq!(bodies(&answer), ["/quick1", "/quick2"]);
        let (first, second) = answer.split_once("/quick1").unwrap();
        assert!(first.contains("\r\nconnection: keep-alive\r\n"), "{first}");
        assert!(second.contains("\r\nconnection: close\r\n"), "{second}");
        assert!(matches!(served.ended.await.unwrap(), Ok(())));
    });
}

#[test]
fn a_head_has_no_body() {
    run(async {
        let mut served = serve_with(pending());
        let head = "HEAD /quick1 HTTP/1.1\r\nHost: a\r\n\r\n";
        let answer = answers(&mut served, &[head, &last("/quick2")].concat()).await;
        assert_eq!(bodies(&answer), ["", "/quick2"]);
    });
}

#[test]
fn a_large_body_passes_a_narrow_pipe_between_its_neighbours() {
    run(async {
        let mut served = serve_over(1000, pending());
        let wire = [get("/quick1"), get("/large"), last("/quick2")].concat();
        let answer = answers(&mut served, &wire).await;
        let bodies = bodies(&answer);
        assert_eq!((bodies[0], bodies[2]), ("/quick1", "/quick2"));
        assert_eq!(bodies[1].len(), LARGE_BYTES);
        assert!(bodies[1].bytes().all(|byte| byte == b'x'));
    });
}

#[test]
fn many_pipelined_requests_to_a_client_that_reads_late_are_all_answered() {
    run(async {
        let served = serve_over(2000, pending());
        let wire = get("/quick").repeat(5000);
        let (mut from, mut to) = tokio::io::split(served.client);
        tokio::task::spawn_local(async move {
            to.write_all(wire.as_bytes()).await.unwrap();
            to.shutdown().await.unwrap();
        });
        let mut answer = String::new();
        let read = from.read_to_string(&mut answer);
        tokio::time::timeout(DEADLINE, read).await.unwrap().unwrap();
        assert_eq!(bodies(&answer).len(), 5000);
        assert_eq!(served.quick.0.borrow().len(), 5000);
    });
}

#[test]
fn a_head_beyond_the_lane_is_left_to_hyper() {
    run(async {
        let mut served = serve_with(pending());
        let cookie = "y".repeat(20_000);
        let wire = format!(
            "GET /quick HTTP/1.1\r\nHost: a\r\nConnection: close\r\nCookie: {cookie}\r\n\r\n"
        );
        let answer = answers(&mut served, &wire).await;
        assert_eq!(bodies(&answer), ["GET /quick 0"]);
    });
}

#[test]
fn malformed_requests_are_refused_behind_the_lane() {
    run(async {
        let mut served = serve_with(pending());
        let bad = "GET /quick HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n";
        let answer = answers(&mut served, &[&get("/quick1"), bad, &get("/quick2")].concat()).await;
        let (first, rest) = answer.split_once("/quick1").unwrap();
        assert_eq!((status(first), status(rest)), (200, 400));
        assert_eq!(*served.quick.0.borrow(), ["Get /quick1"]);
        assert!(served.slow.borrow().is_empty());
    });
}

#[test]
fn silent_slow_and_idle_clients_are_cut_in_the_lane_too() {
    run_in_simulated_time(async {
        let start = Instant::now();
        let silent = serve_with(pending());
        assert!(matches!(silent.ended.await.unwrap(), Err(ServeError::HeadTooSlow)));
        assert_eq!(start.elapsed().as_secs(), 10);

        let start = Instant::now();
        let mut late = serve_with(pending());
        late.client.write_all(get("/quick").as_bytes()).await.unwrap();
        sleep(Duration::from_secs(33)).await;
        late.client.write_all(b"GET /qui").await.unwrap();
        assert!(matches!(late.ended.await.unwrap(), Err(ServeError::HeadTooSlow)));
        assert_eq!(start.elapsed().as_secs(), 43);

        let start = Instant::now();
        let mut idle = serve_with(pending());
        idle.client.write_all(get("/quick").as_bytes()).await.unwrap();
        assert!(matches!(idle.ended.await.unwrap(), Ok(())));
        assert!((60..=80).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());

        let mut deaf = serve_over(1000, pending());
        deaf.client.write_all(get("/large").as_bytes()).await.unwrap();
        assert!(matches!(deaf.ended.await.unwrap(), Err(ServeError::TooSlow)));
    });
}

#[test]
fn the_time_for_a_head_is_not_given_twice() {
    run_in_simulated_time(async {
        // Eight seconds of silence in the fast path, and the rest of the ten behind it; on a kept
        // connection as on a new one.
        for answered_before in [false, true] {
            let mut served = serve_with(pending());
            if answered_before {
                served.client.write_all(get("/quick").as_bytes()).await.unwrap();
                sleep(Duration::from_secs(30)).await;
                served.client.write_all(b"GET /quick HTTP/1.1\r\n").await.unwrap();
            }
            let start = Instant::now();
            sleep(Duration::from_secs(8)).await;
            // Neither stays in the fast path: the one is too long, the other no GET.
            let long = format!("Cookie: {}", "y".repeat(9000));
            let odd = if answered_before { &long } else { "POST / HT" };
            served.client.write_all(odd.as_bytes()).await.unwrap();
            assert!(matches!(served.ended.await.unwrap(), Err(ServeError::HeadTooSlow)));
            assert_eq!(start.elapsed().as_secs(), 10, "{answered_before}");
        }
    });
}

#[test]
fn stopping_closes_what_is_idle_and_finishes_what_runs() {
    run_in_simulated_time(async {
        let (stop, stopped) = oneshot::channel::<()>();
        let mut idle = serve_with(async { drop(stopped.await) });
        idle.client.write_all(get("/quick").as_bytes()).await.unwrap();
        sleep(Duration::from_secs(1)).await;
        stop.send(()).unwrap();
        assert!(matches!(idle.ended.await.unwrap(), Ok(())));

        // An answer under way is finished; a head that has begun is answered, then closed.
        for rest in ["", "GET /quick2 HTTP/1.1\r\nHo"] {
            let (stop, stopped) = oneshot::channel::<()>();
            let mut busy = serve_over(1000, async { drop(stopped.await) });
            let wire = [&get("/large"), rest].concat();
            busy.client.write_all(wire.as_bytes()).await.unwrap();
            sleep(Duration::from_secs(1)).await;
            stop.send(()).unwrap();
            sleep(Duration::from_secs(1)).await;
            let behind = if rest.is_empty() { "" } else { "st: a\r\n\r\n" };
            busy.client.write_all(behind.as_bytes()).await.unwrap();
            let mut answer = String::new();
            busy.client.read_to_string(&mut answer).await.unwrap();
            let bodies = bodies(&answer);
            assert_eq!(bodies[0].len(), LARGE_BYTES);
            assert_eq!(
                bodies.get(1).copied().unwrap_or_default(),
                rest.split(' ').nth(1).unwrap_or("")
            );
            assert!(matches!(busy.ended.await.unwrap(), Ok(())));
        }
    });
}

#[test]
fn stopping_holds_behind_the_lane() {
    run_in_simulated_time(async {
        let (stop, stopped) = oneshot::channel::<()>();
        let mut served = serve_over(1000, async { drop(stopped.await) });
        let odd = "OPTIONS /other HTTP/1.1\r\nHost: a\r\n\r\n";
        let wire = [&get("/large"), odd].concat();
        served.client.write_all(wire.as_bytes()).await.unwrap();
        sleep(Duration::from_secs(1)).await;
        stop.send(()).unwrap();
        let mut answer = String::new();
        served.client.read_to_string(&mut answer).await.unwrap();
        assert_eq!(bodies(&answer)[1], "OPTIONS /other 0");
        assert!(matches!(served.ended.await.unwrap(), Ok(())));
    });
}

#[test]
fn what_a_stream_holds_back_is_handed_on_before_the_next_request() {
    run(async {
        // As TLS does when its socket is full: bytes that it took stay in it until they are
        // flushed.
        let (mut client, server) = duplex(1 << 10);
        let server = BufStream::with_capacity(64, 1 << 20, server);
        let handler = move |request| note(Asked::default(), request);
        let limits = Limits::default();
        let quick = Noting::default();
        let serving =
            serve_with_fast_path(server, HttpVersions::Http1, limits, pending(), quick, handler);
        tokio::task::spawn_local(serving);
        for (path, expected) in [
            ("/quick", 6),
            ("/large", LARGE_BYTES),
            ("/other", "GET /other 0".len()),
            ("/quick", 6),
        ] {
            let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
            client.write_all(request.as_bytes()).await.unwrap();
            let mut answer = Vec::new();
            let whole = async {
                loop {
                    let head = answer.windows(4).position(|it| it == b"\r\n\r\n");
                    if head.is_some_and(|at| answer.len() == at + 4 + expected) {
                        return;
                    }
                    assert_ne!(client.read_buf(&mut answer).await.unwrap(), 0);
                }
            };
            tokio::time::timeout(DEADLINE, whole).await.unwrap();
        }
    });
}
