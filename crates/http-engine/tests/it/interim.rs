//! Interim answers (RFC 9110 §15.2): told by handlers, written ahead of answers; sent by servers,
//! heard by whoever waits. Simple requests (`GET`) stay in the fast path, others (`DELETE`, `POST`)
//! are hyper's.

use crate::support::{DEADLINE, run, run_in_simulated_time};
use http::{Request, Response};
use http_body_util::BodyExt;
use http_engine::client::{BadHead, ClientError, connect_http1, connect_http2};
use http_engine::interim::{self, INTERIM_MAX};
use http_engine::{Body, HttpVersions, Incoming, Limits, ServeError, serve};
use std::cell::RefCell;
use std::fmt::Write as _;
use std::future::pending;
use std::pin::pin;
use std::rc::Rc;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::{Notify, oneshot};
use tokio::task::spawn_local;
use tokio::time::timeout;

/// The way through the fast path, and the way through hyper.
const WAYS: [&str; 2] = ["GET", "DELETE"];
const HINTS: &str = "HTTP/1.1 103 Early Hints\r\nlink: </a.css>; rel=preload\r\n\r\n";

fn early(status: u16, fields: &[(&str, &str)]) -> Response<()> {
    let mut early = Response::builder().status(status);
    for (name, value) in fields {
        early = early.header(*name, *value);
    }
    early.body(()).unwrap()
}

fn hints() -> Response<()> {
    early(103, &[("link", "</a.css>; rel=preload")])
}

/// A body of unknown length in three pieces.
fn fed() -> Body {
    let (mut feed, body) = Body::channel(1);
    spawn_local(async move {
        for piece in ["one ", "two ", "three"] {
            if feed.send(piece).await.is_err() {
                return;
            }
        }
        feed.finish();
    });
    body
}

async fn handle(go_on: Rc<Notify>, request: Request<Incoming>) -> Response<Body> {
    match request.uri().path() {
        "/waits" => {
            interim::send(hints());
            go_on.notified().await;
            interim::send(early(102, &[]));
        }
        "/at-once" => interim::send(hints()),
        "/all-kinds" => {
            for status in [100, 101, 200] {
                interim::send(early(status, &[("x", "never")]));
            }
            let framing = [("connection", "close"), ("transfer-encoding", "chunked")];
            interim::send(early(199, &[framing[0], framing[1], ("content-length", "5")]));
        }
        "/many" => {
            let long = "x".repeat(10_000);
            (0..INTERIM_MAX).for_each(|_| interim::send(early(103, &[("link", &long)])));
        }
        "/in-another-task" => {
            let told = spawn_local(async { interim::send(hints()) });
            told.await.unwrap();
        }
        "/fed" => return Response::new(fed()),
        _ => {}
    }
    Response::new(Body::from("body"))
}

struct Served {
    client: DuplexStream,
    go_on: Rc<Notify>,
    ended: oneshot::Receiver<Result<(), ServeError>>,
}

fn served(pipe_bytes: usize) -> Served {
    let (client, server) = duplex(pipe_bytes);
    let (done, ended) = oneshot::channel();
    let go_on = Rc::new(Notify::new());
    let shared = Rc::clone(&go_on);
    let handler = move |request| handle(Rc::clone(&shared), request);
    let serving = serve(server, HttpVersions::Http1And2, Limits::default(), pending(), handler);
    spawn_local(async move { done.send(serving.await) });
    Served { client, go_on, ended }
}

/// The request on a line of its own; the last one ends the connection.
fn ask(method: &str, path: &str, version: &str, fields: &str) -> String {
    format!("{method} {path} HTTP/{version}\r\nHost: a\r\n{fields}\r\n")
}

const LAST: &str = "Connection: close\r\n";

/// Heads without their dates, and bodies.
fn undated(said: &str) -> String {
    said.split_inclusive("\r\n").filter(|line| !line.starts_with("date: ")).collect()
}

impl Served {
    async fn send(&mut self, wire: &str) {
        self.client.write_all(wire.as_bytes()).await.unwrap();
    }

    async fn head(&mut self) -> String {
        let mut came = Vec::new();
        let reading = async {
            while !came.ends_with(b"\r\n\r\n") {
                came.push(self.client.read_u8().await.unwrap());
            }
        };
        timeout(DEADLINE, reading).await.expect("a head comes");
        String::from_utf8(came).unwrap()
    }

    async fn rest(mut self) -> String {
        let mut came = Vec::new();
        timeout(DEADLINE, self.client.read_to_end(&mut came)).await.unwrap().unwrap();
        String::from_utf8(came).unwrap()
    }
}

#[test]
fn what_is_told_is_there_before_the_answer() {
    run(async {
        for method in WAYS {
            let mut served = served(64 << 10);
            served.send(&ask(method, "/waits", "1.1", LAST)).await;
            assert_eq!(served.head().await, HINTS, "{method}");
            served.go_on.notify_one();
            let rest = undated(&served.rest().await);
            let (ahead, answer) = rest.split_once("\r\n\r\n").unwrap();
            assert_eq!(ahead, "HTTP/1.1 102 Processing", "{method}");
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{method}: {answer}");
            assert!(answer.ends_with("\r\n\r\nbody"), "{method}: {answer}");
        }
    });
}

/// Three answers, of which the second has hints ahead, over and over; through pipes of all widths,
/// so that each of them ends in the middle of a write somewhere.
#[test]
fn what_is_told_stands_between_the_answers_of_a_pipeline() {
    run(async {
        for method in WAYS {
            for width in [1, 3, 7, 50, 64, 100, 333, 1000, 64 << 10] {
                let mut served = served(width);
                let mut wire = String::new();
                for _ in 0..20 {
                    for path in ["/fed", "/at-once", "/plain"] {
                        wire += &ask(method, path, "1.1", "");
                    }
                }
                wire += &ask(method, "/at-once", "1.1", LAST);
                let (mut from, mut to) = tokio::io::split(served.client);
                let sending = spawn_local(async move {
                    to.write_all(wire.as_bytes()).await.unwrap();
                    to
                });
                let mut came = String::new();
                timeout(DEADLINE, from.read_to_string(&mut came)).await.unwrap().unwrap();
                drop(sending.await.unwrap());
                served.ended.try_recv().unwrap().unwrap();
                let fed = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
                           4\r\none \r\n4\r\ntwo \r\n5\r\nthree\r\n0\r\n\r\n";
                let whole = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nbody";
                let last = whole.replace("4\r\n\r\n", "4\r\nconnection: close\r\n\r\n");
                let round = [fed, HINTS, whole, whole].concat();
                let expected = round.repeat(20) + HINTS + &last;
                // hyper has its own order of the fields that it sets.
                let came = undated(&came).replace(
                    "connection: close\r\ncontent-length: 4\r\n",
                    "content-length: 4\r\nconnection: close\r\n",
                );
                assert!(came == expected, "{method} through {width} bytes:\n{came}");
            }
        }
    });
}

#[test]
fn a_client_of_http_1_0_hears_of_none() {
    run(async {
        for method in WAYS {
            let mut served = served(64 << 10);
            served.send(&ask(method, "/at-once", "1.0", "")).await;
            let said = served.rest().await;
            assert!(said.starts_with("HTTP/1.0 200 OK\r\n"), "{method}: {said}");
            assert_eq!(said.matches("HTTP/").count(), 1, "{method}: {said}");
        }
    });
}

#[test]
fn a_client_of_http_2_gets_its_answer_alone() {
    run(async {
        let served = served(64 << 10);
        let mut sender = connect_http2(served.client).await.unwrap();
        let request = Request::get("http://a/at-once").body(Body::empty()).unwrap();
        let answer = sender.send(request).await.unwrap();
        assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "body");
    });
}

#[test]
fn only_interim_answers_are_told_and_none_that_frames() {
    run(async {
        for method in WAYS {
            let mut served = served(64 << 10);
            served.send(&ask(method, "/all-kinds", "1.1", LAST)).await;
            assert_eq!(served.head().await, "HTTP/1.1 199 \r\n\r\n", "{method}");
            assert!(served.rest().await.starts_with("HTTP/1.1 200 OK\r\n"), "{method}");
        }
    });
}

#[test]
fn what_is_told_where_nobody_listens_reaches_nobody() {
    run(async {
        for method in WAYS {
            let mut served = served(64 << 10);
            let wire = ask(method, "/in-another-task", "1.1", "") + &ask(method, "/", "1.1", LAST);
            served.send(&wire).await;
            let said = served.rest().await;
            assert_eq!(said.matches("HTTP/1.1 200 OK\r\n").count(), 2, "{method}: {said}");
            assert!(!said.contains("103"), "{method}: {said}");
        }
    });
}

#[test]
fn a_client_that_takes_none_of_them_is_cut() {
    run_in_simulated_time(async {
        for method in WAYS {
            let mut served = served(1000);
            served.send(&ask(method, "/many", "1.1", "")).await;
            let ended = served.ended.await.unwrap();
            let cut = matches!(ended, Err(ServeError::Stalled | ServeError::TooSlow));
            assert!(cut, "{method}: {ended:?}");
        }
    });
}

/// A request that is ours to write, and one that is hyper's.
fn requests() -> [Request<Body>; 2] {
    let request = |method| Request::builder().method(method).uri("/").header("host", "a");
    let post = request("POST").header("content-length", "2");
    [request("GET").body(Body::empty()).unwrap(), post.body(Body::from("ab")).unwrap()]
}

async fn read_request(server: &mut DuplexStream) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") && !head.ends_with(b"\r\n\r\nab") {
        assert_ne!(server.read_buf(&mut head).await.unwrap(), 0);
    }
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

#[test]
fn what_a_server_sends_ahead_is_heard_at_once() {
    run(async {
        for request in requests() {
            let method = request.method().clone();
            let (client, mut server) = duplex(64 << 10);
            let (heard_it, told) = oneshot::channel();
            let serving = spawn_local(async move {
                read_request(&mut server).await;
                let length = "HTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\n";
                server.write_all(length.as_bytes()).await.unwrap();
                server.write_all(b"Link: </a>\r\nLINK: </b>\r\n\r\n").await.unwrap();
                // The answer is sent because the hints were heard.
                told.await.unwrap();
                server.write_all(OK.as_bytes()).await.unwrap();
                server
            });
            let mut sender = connect_http1(client);
            let (heard, mut heard_it) = (RefCell::new(String::new()), Some(heard_it));
            let sending = pin!(sender.send(request));
            let answered = interim::with_handler(sending, |early| {
                for value in early.headers().get_all("link") {
                    write!(heard.borrow_mut(), "{} {value:?} ", early.status()).unwrap();
                }
                heard_it.take().unwrap().send(()).unwrap();
            });
            let answer = timeout(DEADLINE, answered).await.unwrap().unwrap();
            let body = answer.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(body, "ok", "{method}: no body follows what comes ahead");
            let expected = "103 Early Hints \"</a>\" 103 Early Hints \"</b>\" ";
            assert_eq!(*heard.borrow(), expected, "{method}");
            drop(serving.await.unwrap());
        }
    });
}

#[test]
fn a_server_that_sends_them_without_end_is_given_up() {
    run(async {
        for many in [INTERIM_MAX, INTERIM_MAX + 1, 10_000] {
            for request in requests() {
                let method = request.method().clone();
                let (client, mut server) = duplex(64 << 10);
                let serving = spawn_local(async move {
                    read_request(&mut server).await;
                    let all = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".repeat(many) + OK;
                    // Who gave up reads no more.
                    let _ = server.write_all(all.as_bytes()).await;
                    server
                });
                let mut sender = connect_http1(client);
                let heard = RefCell::new(0);
                let answered = timeout(DEADLINE, sender.send(request));
                let hear = |_| *heard.borrow_mut() += 1;
                let answer = interim::with_handler(pin!(answered), hear).await.unwrap();
                assert!(*heard.borrow() <= INTERIM_MAX, "{method}");
                if many == INTERIM_MAX {
                    assert!(answer.is_ok_and(|it| it.status() == 200), "{method}");
                    assert_eq!(*heard.borrow(), many, "{method}");
                } else {
                    let why = answer.unwrap_err().error;
                    let expected = ClientError::BadHead(BadHead::TooManyInterim).to_string();
                    assert_eq!(why.to_string(), expected, "{method}");
                }
                drop(sender);
                drop(serving.await.unwrap());
            }
        }
    });
}
