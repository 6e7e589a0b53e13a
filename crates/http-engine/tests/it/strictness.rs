//! One table of malformed and smuggling requests, run against hyper's path and both of the quick
//! fast path's.
//!
//! Each line: what is sent, and the statuses that come back in order. The connection must be closed
//! behind a refusal, and nothing behind it may reach a handler.

use crate::support::{Asked, DEADLINE, note, run};
use http_engine::fast_path::{FastPath, FastReply, SimpleMethod, SimpleRequest};
use http_engine::{HttpVersions, Limits, serve, serve_with_fast_path};
use std::future::pending;
use std::rc::Rc;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

/// Answers everything simple, and notes it as the handler would.
struct Everything(Asked);

impl FastPath for Everything {
    fn answer(&self, request: &SimpleRequest<'_>, out: &mut Vec<u8>) -> FastReply {
        let method = match request.method() {
            SimpleMethod::Get => "GET",
            SimpleMethod::Head => "HEAD",
        };
        self.0.borrow_mut().push(format!("{method} {} 0", request.target()));
        out.extend_from_slice(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n");
        request.end_head(out);
        FastReply::Done
    }
}

/// Who answers.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// The handler, behind hyper.
    Hyper,
    /// The handler, within the fast path if the request is simple.
    Lane,
    /// The fast path if the request is simple.
    Quick,
}

const WAYS: [Way; 3] = [Way::Hyper, Way::Lane, Way::Quick];

/// What came back for `wire`, and what was handled. Ends when the server closes.
async fn talk(way: Way, wire: &[u8]) -> (String, Vec<String>) {
    let (mut client, server) = duplex(1 << 20);
    let asked = Asked::default();
    let noted = Rc::clone(&asked);
    let handler = move |request| note(Rc::clone(&noted), request);
    let (versions, limits) = (HttpVersions::Http1And2, Limits::default());
    match way {
        Way::Hyper | Way::Lane => {
            let serving = serve(server, versions, limits, pending(), handler);
            tokio::task::spawn_local(async move { drop(serving.await) });
        }
        Way::Quick => {
            let quick = Everything(Rc::clone(&asked));
            let serving = serve_with_fast_path(server, versions, limits, pending(), quick, handler);
            tokio::task::spawn_local(async move { drop(serving.await) });
        }
    }
    if let Way::Hyper = way {
        // An empty line before a request is allowed (RFC 9112 section 2.2), but not simple.
        client.write_all(b"\r\n").await.unwrap();
    }
    client.write_all(wire).await.unwrap();
    let mut answer = Vec::new();
    let read = client.read_to_end(&mut answer);
    if tokio::time::timeout(DEADLINE, read).await.is_err() {
        let start = String::from_utf8_lossy(&wire[..wire.len().min(99)]);
        panic!(
            "{way:?} {start:?} leaves the connection open: {}",
            String::from_utf8_lossy(&answer)
        );
    }
    let asked = asked.borrow().clone();
    (String::from_utf8_lossy(&answer).into_owned(), asked)
}

/// The statuses of all answers.
fn statuses(answer: &str) -> Vec<u16> {
    let lines = answer.split("HTTP/1.").skip(1);
    lines.map(|it| it.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0)).collect()
}

fn check(wire: &str, expected: &[u16], handled: &[&str]) {
    for way in WAYS {
        run(async {
            let (answer, asked) = talk(way, wire.as_bytes()).await;
            assert_eq!(statuses(&answer), expected, "{way:?} {wire:?} was answered {answer:?}");
            assert_eq!(asked, handled, "{way:?} {wire:?}");
        });
    }
}

const SMUGGLED: &str = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";

/// Refused with `status`, alone and behind a good request in a read of its own.
fn refused(status: u16, wire: &str) {
    check(&format!("{wire}{SMUGGLED}"), &[status], &[]);
}

/// A POST with these fields.
fn post(fields: &str, body: &str) -> String {
    format!("POST / HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n{body}")
}

/// A GET with these fields.
fn with(fields: &str) -> String {
    format!("GET / HTTP/1.1\r\n{fields}\r\n\r\n")
}

#[test]
fn a_client_of_http_1_0_is_not_kept_after_a_refusal() {
    let wire = "GET / HTTP/1.0\r\nHost: a b\r\nConnection: keep-alive\r\n\r\n";
    refused(400, wire);
    for way in WAYS {
        run(async {
            let (answer, _) = talk(way, wire.as_bytes()).await;
            let fields: Vec<_> =
                answer.lines().filter(|it| it.starts_with("connection:")).collect();
            assert_eq!(fields, ["connection: close"], "{way:?} {answer}");
        });
    }
}

#[test]
fn framing_that_can_be_read_in_two_ways() {
    let table = [
        (400, "Content-Length: 5\r\nTransfer-Encoding: chunked"),
        (400, "Transfer-Encoding: chunked\r\nContent-Length: 5"),
        (400, "Content-Length: 0\r\nTransfer-Encoding: identity"),
        (400, "Content-Length: 5\r\nContent-Length: 5"),
        (400, "Content-Length: 5\r\ncontent-length: 6"),
        (400, "Content-Length: 5, 5"),
        (400, "Content-Length: 5,"),
        (400, "Content-Length: +5"),
        (400, "Content-Length: -0"),
        (400, "Content-Length: 0x5"),
        (400, "Content-Length: 5e0"),
        (400, "Content-Length: five"),
        (400, "Content-Length:"),
        (400, "Content-Length: 18446744073709551616"),
        // hyper keeps this number for itself and calls it too large.
        (431, "Content-Length: 18446744073709551615"),
        (400, "Content-Length : 5"),
        (400, "Content-Length\t: 5"),
        (400, "Transfer-Encoding : chunked"),
        (400, "Transfer-Encoding: xchunked"),
        (400, "Transfer-Encoding: chunked, identity"),
        (501, "Transfer-Encoding: identity, chunked"),
        (501, "Transfer-Encoding: gzip, chunked"),
        (501, "Transfer-Encoding: ,chunked"),
        (400, "Transfer-Encoding: chunked;x=y"),
        (400, "Transfer-Encoding: \"chunked\""),
        (400, "Transfer-Encoding: chunked\x0b"),
        (400, "Transfer-Encoding:\x0bchunked"),
        (400, "Transfer-Encoding: chunked\0"),
        (400, "Transfer-Encoding:\r\n chunked"),
        (501, "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
        (400, "Transfer-Encoding: chunked\r\nTransfer-Encoding: x"),
        (400, "Transfer-Encoding:"),
    ];
    for (status, fields) in table {
        refused(status, &post(fields, "0\r\n\r\n"));
    }
}

#[test]
fn lines_and_fields_that_are_none() {
    for fields in [
        "Host: a\r\nX: b\r\n folded",
        "Host: a\r\n\tX: b",
        " Host: a",
        "Host : a",
        "Host: a\r\nX\r\n: b",
        "Host: a\r\n: b",
        "Host: a\r\nno colon",
        "Host: a\r\nX: b\0c",
        "Host: a\r\nX: b\x01c",
        "Host: a\r\nX: b\x7fc",
        "Host: a\r\nX\0: b",
        "Host: a\r\nX y: b",
        "Host: a\r\nX(): b",
        "Host: a\r\nX\u{e9}: b",
        "Host: a\nX: b",
        "Host: a\r\nX: b\rY: c",
        "Host: a\r\nX: b\r",
        "Host: a\r\nX: b\n",
    ] {
        refused(400, &with(fields));
    }
    refused(400, "GET / HTTP/1.1\nHost: a\r\n\r\n");
    refused(400, "GET / HTTP/1.1\r\nHost: a\r\n\n");
    refused(400, "GET / HTTP/1.1\r\nHost: a\n\n");
}

#[test]
fn hosts_that_are_none_or_two() {
    for fields in [
        "X: y",
        "Host: a\r\nHost: a",
        "Host: a\r\nhost: b",
        "Host: a b",
        "Host: a, b",
        "Host: a/b",
        "Host: u@a",
        "Host: a:b",
        "Host: a:123456",
        "Host: [::1",
        "Host: [::1]x",
        "Host: a#b",
        "Host: a?b",
        "Host: a\\b",
        "Host: \u{e9}",
    ] {
        refused(400, &with(fields));
    }
}

#[test]
fn request_lines_that_are_none() {
    for line in [
        "GET  / HTTP/1.1",
        "GET /  HTTP/1.1",
        "GET / HTTP/1.1 ",
        "GET\t/ HTTP/1.1",
        " GET / HTTP/1.1",
        "GET /a b HTTP/1.1",
        "GET / HTTP/1.2",
        "GET / HTTP/2.0",
        "GET / HTTP/1.10",
        "GET / HTTP/01.1",
        "GET / HTTP/1",
        "GET / http/1.1",
        "GET / ",
        "GET /",
        "GET",
        "GET / HTTPS/1.1",
        "(GET) / HTTP/1.1",
        "G\0T / HTTP/1.1",
        "GET /\0 HTTP/1.1",
        "GET /\x7f HTTP/1.1",
        "GET /a#b HTTP/1.1",
        "GET a HTTP/1.1",
        "GET a:80 HTTP/1.1",
        "GET * HTTP/1.1",
        "GET http:///p HTTP/1.1",
        "GET http://u@a/ HTTP/1.1",
        "CONNECT / HTTP/1.1",
        "PRI * HTTP/2.0",
    ] {
        refused(400, &format!("{line}\r\nHost: a\r\n\r\n"));
    }
}

#[test]
fn heads_beyond_the_limits() {
    let many = format!("Host: a\r\n{}X: y", "X: y\r\n".repeat(100));
    refused(431, &with(&many));
    refused(431, &with(&format!("Host: a\r\nX: {}", "y".repeat(70_000))));
    // Whether the line or the whole head is called too long depends on how the bytes arrive.
    for way in WAYS {
        run(async {
            let wire = format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "a".repeat(70_000));
            let (answer, asked) = talk(way, wire.as_bytes()).await;
            assert!(matches!(statuses(&answer)[..], [414 | 431]), "{way:?}: {answer}");
            assert!(asked.is_empty());
        });
    }
}

#[test]
fn a_refusal_behind_a_good_request_ends_the_connection() {
    let good = "GET /good HTTP/1.1\r\nHost: a\r\n\r\n";
    run(async {
        // In the fast path the good one has been answered when the other is read anew by hyper.
        for bad in ["garbage\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"] {
            for way in [Way::Lane, Way::Quick] {
                let wire = format!("{good}{bad}{SMUGGLED}");
                let (answer, asked) = talk(way, wire.as_bytes()).await;
                assert_eq!(statuses(&answer), [200, 400], "{way:?}: {answer:?}");
                assert_eq!(asked, ["GET /good 0"]);
            }
        }
    });
}

#[test]
fn chunks_that_are_none_break_the_body_off() {
    for chunks in [
        "zz\r\nabc\r\n0\r\n\r\n",
        "-1\r\nabc\r\n0\r\n\r\n",
        "+3\r\nabc\r\n0\r\n\r\n",
        "0x3\r\nabc\r\n0\r\n\r\n",
        "3 \r\nabc\r\n0\r\n\r\n",
        " 3\r\nabc\r\n0\r\n\r\n",
        "3 ;a\r\nabc\r\n0\r\n\r\n",
        "3;a\0\r\nabc\r\n0\r\n\r\n",
        "3;a\nb\r\nabc\r\n0\r\n\r\n",
        "3;a\rb\r\nabc\r\n0\r\n\r\n",
        "fffffffffffffffff\r\nabc\r\n0\r\n\r\n",
        "00000000000000000000003\r\nabc\r\n0\r\n\r\n",
        "3\nabc\n0\n\n",
        "3\r\nabc0\r\n\r\n",
        "3\r\nabcX\r\n0\r\n\r\n",
        "3\r\nabc\n0\r\n\r\n",
        "\r\n3\r\nabc\r\n0\r\n\r\n",
        "3\r\nabc\r\n0\r\nno colon\r\n\r\n",
    ] {
        for way in WAYS {
            run(async {
                // The head alone first, so that the handler runs when the fault comes.
                let wire = post("Transfer-Encoding: chunked", &format!("{chunks}{SMUGGLED}"));
                let (answer, asked) = talk(way, wire.as_bytes()).await;
                let smuggled = asked.iter().any(|it| it.contains("/smuggled"));
                assert!(!smuggled, "{way:?} {chunks:?}: {asked:?}, answered {answer:?}");
                let whole = asked.iter().any(|it| it.ends_with(" 3"));
                assert!(!whole, "{way:?} {chunks:?} was taken for a body: {asked:?}");
            });
        }
    }
}

#[test]
fn what_is_unusual_but_right_is_served() {
    let close = "Connection: close";
    check(&with(&format!("Host: a\r\n{close}")), &[200], &["GET / 0"]);
    check(&with(&format!("Host:\r\n{close}")), &[200], &["GET / 0"]);
    check(&with(&format!("Host: [::1]:8080\r\n{close}")), &[200], &["GET / 0"]);
    check("GET / HTTP/1.0\r\n\r\n", &[200], &["GET / 0"]);
    check(&format!("\r\n{}", with(&format!("Host: a\r\n{close}"))), &[200], &["GET / 0"]);
    // A body on GET is a body: what it holds is no request.
    let get = format!(
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n{close}\r\n\r\n{SMUGGLED}",
        SMUGGLED.len()
    );
    check(&get, &[200], &[&format!("GET / {}", SMUGGLED.len())]);
    let chunked = format!("Transfer-Encoding: chunked\r\n{close}");
    let body = "3;a=\"b\"\r\nabc\r\nA\r\n0123456789\r\n000\r\nX: y\r\n\r\n";
    check(&post(&chunked, body), &[200], &["POST / 13"]);
    check(&post(&format!("Content-Length: 5 \r\n{close}"), "hello"), &[200], &["POST / 5"]);
    let other = format!("GET http://b.example/p HTTP/1.1\r\nHost: a\r\n{close}\r\n\r\n");
    check(&other, &[200], &["GET http://b.example/p 0"]);
    let options = format!("OPTIONS * HTTP/1.1\r\nHost: a\r\n{close}\r\n\r\n");
    check(&options, &[200], &["OPTIONS * 0"]);
}

#[test]
fn a_client_that_asks_first_is_told_to_go_on() {
    run(async {
        let expect = "Expect: 100-continue\r\nConnection: close\r\nContent-Length: 3";
        for way in WAYS {
            let (answer, asked) = talk(way, post(expect, "abc").as_bytes()).await;
            assert_eq!(statuses(&answer).last(), Some(&200), "{answer}");
            assert_eq!(asked, ["POST / 3"]);
        }
    });
}
