//! One connection of the client through its life: used again, closed, disturbed, handed to hyper.

use crate::support::{DEADLINE, run};
use http::{Request, Response, StatusCode, header};
use http_body::Body as HttpBody;
use http_body_util::BodyExt;
use http_engine::client::{ClientError, RequestSender, connect_http1};
use http_engine::{Body, Incoming, upgrade};
use std::future::Future;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{spawn_local, yield_now};
use tokio::time::timeout;

fn get(path: &str) -> Request<Body> {
    Request::get(path).header("host", "a").body(Body::empty()).unwrap()
}

async fn within<T>(work: impl Future<Output = T>) -> T {
    timeout(DEADLINE, work).await.expect("done in time")
}

/// The head of the next request, or what came of it before the end.
async fn next_head(io: &mut DuplexStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        // A byte at a time: what follows is the body's.
        match within(io.read_u8()).await {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    String::from_utf8(head).unwrap()
}

async fn text(response: Response<Incoming>) -> String {
    let bytes = within(response.into_body().collect()).await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn ok(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// Sends a request and has it answered with `wire`.
async fn exchange(
    sender: &mut RequestSender,
    server: &mut DuplexStream,
    request: Request<Body>,
    wire: &[u8],
) -> (String, Response<Incoming>) {
    let serving = async {
        let head = next_head(server).await;
        server.write_all(wire).await.unwrap();
        head
    };
    let (head, answered) = tokio::join!(serving, within(sender.send(request)));
    (head, answered.unwrap())
}

#[test]
fn one_connection_carries_request_after_request() {
    run(async {
        let (client, mut server) = duplex(4096);
        let mut sender = connect_http1(client);
        for round in 0..5 {
            let path = format!("/{round}");
            let chunked =
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n";
            let wire = if round % 2 == 0 { ok("x") } else { chunked.into() };
            let (head, answer) = exchange(&mut sender, &mut server, get(&path), &wire).await;
            assert_eq!(head, format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n"));
            assert_eq!(text(answer).await, "x");
            within(sender.ready()).await.unwrap();
            assert!(sender.is_ready() && !sender.is_closed());
        }
    });
}

#[test]
fn a_body_that_came_with_its_head_holds_no_connection() {
    run(async {
        let (client, mut server) = duplex(4096);
        let mut sender = connect_http1(client);
        let (_, first) = exchange(&mut sender, &mut server, get("/1"), &ok("one")).await;
        assert!(sender.is_ready() && !first.body().is_end_stream());
        let (_, second) = exchange(&mut sender, &mut server, get("/2"), &ok("two")).await;
        assert_eq!(Body::from(first.into_body()).bytes(), Some(&b"one"[..]));
        assert_eq!(text(second).await, "two");
    });
}

#[test]
fn long_bodies_come_whole_and_give_the_connection_back() {
    run(async {
        let (client, mut server) = duplex(10_000);
        let mut sender = connect_http1(client);
        let data: Vec<u8> = (0..1_000_000_u32).map(|at| (at / 7) as u8).collect();
        let mut chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        for piece in data.chunks(77_777) {
            chunked.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
            chunked.extend_from_slice(piece);
            chunked.extend_from_slice(b"\r\n");
        }
        chunked.extend_from_slice(b"0\r\n\r\n");
        let mut plain = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n".to_vec();
        plain.extend_from_slice(&data);
        for wire in [plain, chunked] {
            let serving = async {
                next_head(&mut server).await;
                server.write_all(&wire).await.unwrap();
            };
            let reading = async {
                let answer = sender.send(get("/")).await.unwrap();
                assert!(!sender.is_ready() && !sender.is_closed());
                let refused = sender.send(get("/busy")).await.unwrap_err();
                assert!(refused.unsent_request.is_some(), "one at a time");
                let body = answer.into_body().collect().await.unwrap().to_bytes();
                assert!(body == data, "the bytes differ");
                assert!(sender.is_ready());
            };
            within(async { tokio::join!(serving, reading) }).await;
        }
    });
}

#[test]
fn ready_waits_for_the_body_to_be_read() {
    run(async {
        let (client, mut server) = duplex(4096);
        let mut sender = connect_http1(client);
        let wire = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab";
        let (_, answer) = exchange(&mut sender, &mut server, get("/"), wire).await;
        let reading = spawn_local(text(answer));
        let rest = async {
            yield_now().await;
            server.write_all(b"cd").await.unwrap();
        };
        let (ready, ()) = tokio::join!(within(sender.ready()), rest);
        ready.unwrap();
        assert_eq!(reading.await.unwrap(), "abcd");
    });
}

#[test]
fn an_idle_connection_that_ends_or_speaks_is_closed() {
    run(async {
        for unasked in [&b""[..], &ok("mine")] {
            let (client, mut server) = duplex(4096);
            let mut sender = connect_http1(client);
            let (_, answer) = exchange(&mut sender, &mut server, get("/"), &ok("x")).await;
            assert_eq!(text(answer).await, "x");
            assert!(!sender.is_closed());
            server.write_all(unasked).await.unwrap();
            if unasked.is_empty() {
                drop(server);
            }
            let failed = sender.send(get("/next")).await.unwrap_err();
            assert!(matches!(failed.error, ClientError::Closed));
            assert_eq!(failed.unsent_request.unwrap().uri(), "/next");
            assert!(sender.is_closed() && !sender.is_ready());
        }
    });
}

#[test]
fn the_reactor_tells_of_an_idle_connection_that_its_server_closed() {
    run(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        let mut sender = connect_http1(client);
        assert!(!sender.is_closed());
        drop(server);
        within(async {
            while !sender.is_closed() {
                yield_now().await;
            }
        })
        .await;
    });
}

#[test]
fn a_request_comes_back_if_nothing_came() {
    run(async {
        for came in [&b""[..], b"HTTP/1.1 2"] {
            let (client, mut server) = duplex(4096);
            let mut sender = connect_http1(client);
            assert!(sender.keeps(&get("/")));
            let serving = async move {
                next_head(&mut server).await;
                server.write_all(came).await.unwrap();
            };
            let (failed, ()) = tokio::join!(within(sender.send(get("/again"))), serving);
            let failed = failed.unwrap_err();
            assert!(matches!(failed.error, ClientError::Closed) && failed.unsent_request.is_none());
            assert_eq!(failed.unanswered.is_some(), came.is_empty());
        }
    });
}

#[test]
fn an_answer_may_come_before_its_request_was_read() {
    run(async {
        let (client, mut server) = duplex(512);
        let mut sender = connect_http1(client);
        let mut request = get("/");
        request.headers_mut().insert("x-large", "y".repeat(4000).parse().unwrap());
        let serving = async {
            let mut some = [0; 100];
            server.read_exact(&mut some).await.unwrap();
            let wire = b"HTTP/1.1 431 Too Large\r\nContent-Length: 2\r\n\r\nno";
            server.write_all(wire).await.unwrap();
        };
        let (answer, ()) = tokio::join!(within(sender.send(request)), serving);
        let answer = answer.unwrap();
        assert_eq!(answer.status(), StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
        assert_eq!(text(answer).await, "no");
        assert!(sender.is_closed(), "half a request was sent");
    });
}

#[test]
fn a_long_head_goes_out_as_there_is_room() {
    run(async {
        let (client, mut server) = duplex(64);
        let mut sender = connect_http1(client);
        let mut request = get("/");
        request.headers_mut().insert("x-large", "y".repeat(9000).parse().unwrap());
        let (head, answer) = exchange(&mut sender, &mut server, request, &ok("x")).await;
        assert_eq!(head.len(), "GET / HTTP/1.1\r\nhost: a\r\nx-large: \r\n\r\n".len() + 9000);
        assert_eq!(text(answer).await, "x");
        assert!(!sender.is_closed());
    });
}

#[test]
fn who_asks_to_close_is_not_kept() {
    run(async {
        let (client, mut server) = duplex(4096);
        let mut sender = connect_http1(client);
        let mut request = get("/");
        request.headers_mut().insert(header::CONNECTION, "Close".parse().unwrap());
        let (_, answer) = exchange(&mut sender, &mut server, request, &ok("x")).await;
        assert!(sender.is_closed());
        assert_eq!(text(answer).await, "x");
    });
}

#[test]
fn what_is_dropped_in_the_middle_closes_the_connection() {
    run(async {
        // The body.
        let (client, mut server) = duplex(4096);
        let mut sender = connect_http1(client);
        let wire = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab";
        let (_, answer) = exchange(&mut sender, &mut server, get("/"), wire).await;
        drop(answer);
        assert!(sender.is_closed());
        assert_eq!(next_head(&mut server).await, "", "the server sees the end");
        // The wait for a head.
        let (client, mut server) = duplex(4096);
        let mut sender = connect_http1(client);
        tokio::select! {
            biased;
            _ = sender.send(get("/")) => panic!("nobody answered"),
            () = yield_now() => {}
        }
        assert!(sender.is_closed());
        assert!(next_head(&mut server).await.starts_with("GET / "));
        assert_eq!(next_head(&mut server).await, "", "the server sees the end");
    });
}

#[test]
fn a_connection_carries_requests_with_and_without_a_body() {
    run(async {
        let (client, mut server) = duplex(4096);
        let mut sender = connect_http1(client);
        let (_, answer) = exchange(&mut sender, &mut server, get("/1"), &ok("one")).await;
        assert_eq!(text(answer).await, "one");
        let post = Request::post("/2").header("host", "a").body(Body::full("body")).unwrap();
        assert!(!sender.keeps(&post));
        let (head, answer) = exchange(&mut sender, &mut server, post, &ok("two")).await;
        assert!(head.contains("content-length: 4"), "{head}");
        let mut body = [0; 4];
        server.read_exact(&mut body).await.unwrap();
        assert_eq!((&body, text(answer).await.as_str()), (b"body", "two"));
        sender.ready().await.unwrap();
        assert!(sender.keeps(&get("/3")));
        let (_, answer) = exchange(&mut sender, &mut server, get("/3"), &ok("three")).await;
        assert_eq!(text(answer).await, "three");
    });
}

/// Reads until what came ends so; all of it.
async fn until(server: &mut DuplexStream, end: &str) -> String {
    let mut came = Vec::new();
    while !came.ends_with(end.as_bytes()) {
        assert_ne!(within(server.read_buf(&mut came)).await.unwrap(), 0, "it ends early");
    }
    String::from_utf8(came).unwrap()
}

#[test]
fn a_body_without_a_length_goes_in_chunks() {
    run(async {
        let (client, mut server) = duplex(4096);
        let mut sender = connect_http1(client);
        let (mut feed, body) = Body::channel(1);
        let post = Request::post("/").header("host", "a").body(body).unwrap();
        let feeding = async move {
            feed.send("one").await.unwrap();
            yield_now().await;
            feed.send("x".repeat(20_000)).await.unwrap();
            feed.finish();
        };
        let serving = async {
            let came = until(&mut server, "\r\n0\r\n\r\n").await;
            server.write_all(&ok("fine")).await.unwrap();
            came
        };
        let (answer, (), came) = tokio::join!(within(sender.send(post)), feeding, serving);
        let head = "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n";
        let body = format!("3\r\none\r\n4E20\r\n{}\r\n0\r\n\r\n", "x".repeat(20_000));
        assert_eq!(came, format!("{head}{body}"));
        assert_eq!(text(answer.unwrap()).await, "fine");
        assert!(!sender.is_closed());
    });
}

#[test]
fn a_body_that_fails_closes_the_connection_and_is_the_reason() {
    run(async {
        let (client, mut server) = duplex(4096);
        let mut sender = connect_http1(client);
        let (mut feed, body) = Body::channel(1);
        let post = Request::post("/").header("host", "a").body(body).unwrap();
        let feeding = async move {
            feed.send("one").await.unwrap();
            yield_now().await;
            drop(feed);
        };
        let (failed, ()) = tokio::join!(within(sender.send(post)), feeding);
        let failed = failed.unwrap_err();
        assert!(matches!(failed.error, ClientError::Body(_)), "{}", failed.error);
        assert!(failed.unsent_request.is_none() && failed.unanswered.is_none());
        assert!(sender.is_closed());
        let mut came = String::new();
        within(server.read_to_string(&mut came)).await.unwrap();
        assert!(came.ends_with("\r\n\r\n3\r\none\r\n"), "{came}");
    });
}

#[test]
fn the_rest_of_a_body_goes_on_behind_an_answer_that_came_first() {
    run(async {
        for (answer, read_first) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", false),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", true),
        ] {
            let (client, mut server) = duplex(512);
            let mut sender = connect_http1(client);
            let (mut feed, body) = Body::channel(1);
            let post = Request::post("/").header("content-length", "3006").body(body).unwrap();
            feed.send("first ").await.unwrap();
            let serving = async {
                until(&mut server, "first ").await;
                server.write_all(answer.as_bytes()).await.unwrap();
            };
            let (answered, ()) = tokio::join!(within(sender.send(post)), serving);
            let mut body = answered.unwrap().into_body();
            let came = body.frame().await.unwrap().unwrap().into_data().unwrap();
            assert_eq!(came, "ok");
            assert!(!sender.is_ready(), "nothing else goes over it");
            let feeding = async move {
                for _ in 0..3 {
                    feed.send("x".repeat(1000)).await.unwrap();
                }
                feed.finish();
            };
            let expected = "x".repeat(3000);
            let ((), rest) = tokio::join!(within(feeding), until(&mut server, &expected));
            assert_eq!(rest, expected);
            if read_first {
                server.write_all(b"0\r\n\r\n").await.unwrap();
            }
            assert!(within(body.frame()).await.is_none());
            drop((body, sender));
            let mut more = Vec::new();
            assert_eq!(within(server.read_to_end(&mut more)).await.unwrap(), 0, "it is closed");
        }
    });
}

#[test]
fn a_body_that_is_asked_about_waits_for_the_word() {
    run(async {
        for (word, is_sent) in [
            ("HTTP/1.1 100 Continue\r\n\r\n", true),
            ("HTTP/1.1 103 Early Hints\r\n\r\n", true),
            ("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n", false),
        ] {
            let (client, mut server) = duplex(4096);
            let mut sender = connect_http1(client);
            let post = Request::put("/").header("expect", "100-continue").body(Body::from("body"));
            let serving = async {
                let head = next_head(&mut server).await;
                assert!(head.ends_with("\r\n\r\n"), "no body yet: {head}");
                server.write_all(word.as_bytes()).await.unwrap();
                // Hints are no word: the body comes when the server was waited for long enough.
                if is_sent {
                    assert_eq!(until(&mut server, "body").await, "body");
                    server.write_all(&ok("fine")).await.unwrap();
                }
            };
            let (answer, ()) = tokio::join!(within(sender.send(post.unwrap())), serving);
            let answer = answer.unwrap();
            assert_eq!(answer.status(), if is_sent { 200 } else { 417 });
            assert_eq!(text(answer).await, if is_sent { "fine" } else { "" });
            assert_eq!(sender.is_closed(), !is_sent, "{word}");
        }
    });
}

#[test]
fn a_used_connection_may_leave_http() {
    run(async {
        let (client, mut server) = duplex(4096);
        let mut sender = connect_http1(client);
        let (_, answer) = exchange(&mut sender, &mut server, get("/1"), &ok("one")).await;
        assert_eq!(text(answer).await, "one");
        let mut request = get("/2");
        request.headers_mut().insert(header::UPGRADE, "echo".parse().unwrap());
        request.headers_mut().insert(header::CONNECTION, "upgrade".parse().unwrap());
        let wire =
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: upgrade\r\n\r\n";
        let (_, mut answer) = exchange(&mut sender, &mut server, request, wire).await;
        let mut stream = upgrade::stream(upgrade::on(&mut answer)).await.unwrap();
        stream.write_all(b"ping").await.unwrap();
        let mut word = [0; 4];
        server.read_exact(&mut word).await.unwrap();
        assert_eq!(&word, b"ping");
    });
}
