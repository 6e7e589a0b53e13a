//! Requests to web servers over kept connections: which are used again, which requests go out once
//! more, and what closes a connection. The server plays a script; nothing waits for a clock.

use http::Request;
use http_body_util::BodyExt;
use http_engine::Body;
use origins::{
    AnyDestination, Dialer, Origin, OriginLimits, Origins, ResponseTimeout, SendError,
    UnansweredRequest,
};
use resolver::{Resolver, ResolverSettings};
use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{LocalSet, spawn_local};
use tokio::time::timeout;
use transport::ClientTls;

/// Longer than anything here takes; reached only by a failing test.
const DEADLINE: Duration = Duration::from_secs(20);

/// What the server does with a request that it has read.
#[derive(Clone, Debug)]
enum Reply {
    Sends(String),
    /// And closes.
    SendsLast(String),
    Nothing,
}

/// `connection: request line` for each request, and `connection: end` when its client closed.
type Log = Rc<RefCell<Vec<String>>>;

struct Play {
    origins: Origins,
    origin: Origin,
    log: Log,
}

fn play<T>(script: Vec<Vec<Reply>>, test: impl AsyncFnOnce(&Play) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        let log = Log::default();
        let noted = Rc::clone(&log);
        spawn_local(async move {
            for (number, replies) in (1..).zip(script) {
                let (stream, _) = listener.accept().await.unwrap();
                spawn_local(serve(stream, number, replies, Rc::clone(&noted)));
            }
        });
        let resolver = Resolver::start(&ResolverSettings::default(), ClientTls::new()).unwrap();
        let origins =
            Origins::new(Dialer::new(resolver, ClientTls::new()), OriginLimits::default());
        test(&Play { origins, origin, log }).await
    })
}

async fn serve(mut stream: TcpStream, number: u32, replies: Vec<Reply>, log: Log) {
    for reply in replies {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            if !matches!(stream.read_buf(&mut head).await, Ok(1..)) {
                log.borrow_mut().push(format!("{number}: end"));
                return;
            }
        }
        let head = String::from_utf8(head).unwrap();
        let mark = if head.contains("x-mark: kept") { " kept" } else { "" };
        let line = head.lines().next().unwrap_or_default().trim_end_matches(" HTTP/1.1");
        log.borrow_mut().push(format!("{number}: {line}{mark}"));
        match reply {
            Reply::Sends(wire) => stream.write_all(wire.as_bytes()).await.unwrap(),
            Reply::SendsLast(wire) => {
                stream.write_all(wire.as_bytes()).await.unwrap();
                return;
            }
            Reply::Nothing => {}
        }
    }
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest).await;
    assert!(rest.is_empty(), "nothing was asked");
    log.borrow_mut().push(format!("{number}: end"));
}

fn length(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

fn request(method: &str, path: &str) -> Request<Body> {
    let request = Request::builder().method(method).uri(path).header("host", "a.example");
    request.header("x-mark", "kept").body(Body::empty()).unwrap()
}

impl Play {
    async fn send(&self, request: Request<Body>) -> Result<String, UnansweredRequest> {
        let sent =
            timeout(DEADLINE, self.origins.send(&self.origin, Box::new(request), &AnyDestination))
                .await;
        let body = sent.expect("an answer in time")?.into_body();
        let body = timeout(DEADLINE, body.collect()).await.expect("a body in time").unwrap();
        Ok(String::from_utf8(body.to_bytes().to_vec()).unwrap())
    }

    async fn get(&self, path: &str) -> Result<String, UnansweredRequest> {
        self.send(request("GET", path)).await
    }

    /// Waits until the server has noted `count` things, and tells them.
    async fn noted(&self, count: usize) -> Vec<String> {
        within(async {
            while self.log.borrow().len() < count {
                tokio::task::yield_now().await;
            }
        })
        .await;
        self.log.borrow().clone()
    }
}

async fn within<T>(work: impl Future<Output = T>) -> T {
    timeout(DEADLINE, work).await.expect("done in time")
}

#[test]
fn one_connection_serves_bodies_of_every_framing() {
    let long = "x".repeat(300_000);
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n";
    let replies = vec![
        Reply::Sends(length("one")),
        Reply::Sends(length(&long)),
        Reply::Sends(chunked.into()),
        Reply::Sends("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n".into()),
        Reply::Sends("HTTP/1.1 304 Not Modified\r\n\r\n".into()),
        Reply::Sends(length("last")),
    ];
    play(vec![replies], async |play| {
        assert_eq!(play.get("/1").await.unwrap(), "one");
        assert!(play.get("/2").await.unwrap() == long, "the body differs");
        assert_eq!(play.get("/3").await.unwrap(), "ab");
        assert_eq!(play.send(request("HEAD", "/4")).await.unwrap(), "");
        assert_eq!(play.get("/5").await.unwrap(), "");
        assert_eq!(play.get("/6").await.unwrap(), "last");
        assert_eq!(play.noted(6).await.last().unwrap(), "1: GET /6 kept");
    });
}

#[test]
fn a_get_that_meets_a_dead_connection_goes_out_once_more_as_it_was() {
    let script = vec![
        vec![Reply::Sends(length("one")), Reply::SendsLast(String::new())],
        vec![Reply::Sends(length("two"))],
    ];
    play(script, async |play| {
        play.get("/1").await.unwrap();
        assert_eq!(play.get("/2").await.unwrap(), "two");
        let expected = ["1: GET /1 kept", "1: GET /2 kept", "2: GET /2 kept"];
        assert_eq!(play.noted(3).await, expected);
    });
}

#[test]
fn a_connection_that_closed_while_idle_is_not_tried() {
    let script = vec![vec![Reply::SendsLast(length("one"))], vec![Reply::Sends(length("two"))]];
    play(script, async |play| {
        play.get("/1").await.unwrap();
        // The reactor has its turn: the end of the first connection is seen.
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(play.send(request("POST", "/2")).await.unwrap(), "two");
        assert_eq!(play.noted(2).await, ["1: GET /1 kept", "2: POST /2 kept"]);
    });
}

#[test]
fn what_could_change_something_goes_over_a_connection_that_has_just_served_or_a_new_one() {
    for (method, idle_secs, connection) in [("POST", 1, 1), ("POST", 3, 2), ("GET", 3, 1)] {
        let script = vec![
            vec![Reply::Sends(length("one")), Reply::Sends(length("two"))],
            vec![Reply::Sends(length("two"))],
        ];
        play(script, async |play| {
            play.get("/1").await.unwrap();
            tokio::time::pause();
            tokio::time::advance(Duration::from_secs(idle_secs)).await;
            tokio::time::resume();
            assert_eq!(play.send(request(method, "/2")).await.unwrap(), "two");
            let expected = ["1: GET /1 kept".to_owned(), format!("{connection}: {method} /2 kept")];
            assert_eq!(play.noted(2).await, expected, "after {idle_secs} s");
        });
    }
}

#[test]
fn what_could_change_something_is_not_repeated_nor_what_was_answered_in_part() {
    for (method, part) in [("POST", ""), ("GET", "HTTP/1.1 2")] {
        let script = vec![
            vec![Reply::Sends(length("one")), Reply::SendsLast(part.into())],
            vec![Reply::Sends(length("never"))],
        ];
        play(script, async |play| {
            play.get("/1").await.unwrap();
            let failed = play.send(request(method, "/2")).await.unwrap_err();
            assert_eq!(failed.error, SendError::Closed);
            assert!(failed.unsent_request.is_none());
            let expected = ["1: GET /1 kept".to_owned(), format!("1: {method} /2 kept")];
            assert_eq!(play.noted(2).await, expected);
        });
    }
}

#[test]
fn bytes_beyond_an_answer_close_its_connection() {
    let split = format!("{}{}", length("one"), length("forged"));
    let script = vec![vec![Reply::Sends(split)], vec![Reply::Sends(length("two"))]];
    play(script, async |play| {
        assert_eq!(play.get("/1").await.unwrap(), "one");
        assert_eq!(play.get("/2").await.unwrap(), "two");
        let noted = play.noted(3).await;
        assert!(noted.contains(&"1: end".to_owned()), "{noted:?}");
        assert!(noted.contains(&"2: GET /2 kept".to_owned()), "{noted:?}");
    });
}

#[test]
fn an_answer_that_two_readers_could_read_differently_is_refused() {
    let both =
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    play(vec![vec![Reply::Sends(both.into())]], async |play| {
        let failed = play.get("/1").await.unwrap_err();
        assert!(matches!(failed.error, SendError::BadResponse(_)), "{failed:?}");
        assert_eq!(play.noted(2).await, ["1: GET /1 kept", "1: end"]);
    });
}

#[test]
fn a_body_dropped_in_the_middle_closes_its_connection() {
    let begun = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc";
    let script = vec![vec![Reply::Sends(begun.into())], vec![Reply::Sends(length("two"))]];
    play(script, async |play| {
        let sent = play.origins.send(&play.origin, Box::new(request("GET", "/1")), &AnyDestination);
        drop(within(sent).await.unwrap());
        assert_eq!(play.noted(2).await, ["1: GET /1 kept", "1: end"]);
        assert_eq!(play.get("/2").await.unwrap(), "two");
    });
}

#[test]
fn a_server_that_is_silent_is_given_up() {
    play(vec![vec![Reply::Nothing]], async |play| {
        let mut asked = request("GET", "/1");
        asked.extensions_mut().insert(ResponseTimeout(Duration::from_millis(10)));
        assert_eq!(play.send(asked).await.unwrap_err().error, SendError::Timeout);
        assert_eq!(play.noted(2).await, ["1: GET /1 kept", "1: end"]);
    });
}
