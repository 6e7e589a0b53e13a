//! Requests that servers could read in two ways: refused, or framed anew by us, byte for byte.

use crate::support;

use door_gateway::UploadMode;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use support::{DEADLINE, Gateway, Origin, ask, ok, parts, simple, start};

/// Everything that the gateway says to these bytes, until it closes.
fn say(to: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    // It may have answered and closed before all is sent.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// Whether a message can be read in one way only: see each line.
fn is_plain(message: &str) {
    let (head, body) = message.split_once("\r\n\r\n").unwrap();
    let mut lines = head.split("\r\n");
    let words: Vec<_> = lines.next().unwrap().split(' ').collect();
    assert!(words.len() == 3 && words[2] == "HTTP/1.1", "{message:?}");
    let mut framing = Vec::new();
    for line in lines {
        let (name, value) = line.split_once(':').unwrap();
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        assert!(!name.is_empty() && name.bytes().all(token), "{line:?}");
        assert!(!name.contains('_'), "{line:?}");
        assert!(!value.contains(['\r', '\n', '\0']), "{line:?}");
        let (name, value) = (name.to_ascii_lowercase(), value.trim());
        match name.as_str() {
            "content-length" => {
                assert!(
                    !value.is_empty() && value.bytes().all(|it| it.is_ascii_digit()),
                    "{line:?}"
                );
                assert_eq!(value.parse(), Ok(body.len()), "{message:?}");
                framing.push(name);
            }
            "transfer-encoding" => {
                assert_eq!(value, "chunked", "{message:?}");
                assert!(body.ends_with("0\r\n\r\n"), "{message:?}");
                framing.push(name);
            }
            _ => {}
        }
    }
    assert!(framing.len() <= 1, "{message:?}");
    assert!(!framing.is_empty() || body.is_empty(), "{message:?}");
}

/// The body of a message, without the chunks that it may come in.
fn body_of(message: &str) -> String {
    let (head, mut rest) = message.split_once("\r\n\r\n").unwrap();
    if !head.to_ascii_lowercase().contains("transfer-encoding") {
        return rest.to_owned();
    }
    let mut body = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        body.push_str(&after[..size]);
        rest = after[size..].strip_prefix("\r\n").unwrap();
    }
    body
}

fn gateways(server: &Origin) -> [Gateway; 2] {
    [UploadMode::Stream, UploadMode::Buffer].map(|mode| {
        let mut settings = simple(&[server.address]);
        settings.uploads.mode = mode;
        start(settings, parts(""))
    })
}

#[test]
fn what_can_be_read_in_two_ways_reaches_no_server() {
    let server = Origin::start(|_, _, _| ok("x"));
    let gateways = gateways(&server);
    let smuggled = "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
    for fields in [
        // Two lengths, or a length that is none.
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
        "Content-Length: 4\r\nContent-Length: 5\r\n",
        "Content-Length: 4, 5\r\n",
        "Content-Length: +4\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: 0x4\r\n",
        "Content-Length: 4 4\r\n",
        "Content-Length: 4.0\r\n",
        "Content-Length: 18446744073709551620\r\n",
        "Content-Length:\r\n",
        // Codings that are not exactly the one.
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: identity\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: \"chunked\"\r\n",
        "Transfer-Encoding: \x0bchunked\r\n",
        "Transfer-Encoding: chunked;q=1\r\n",
        "Transfer-Encoding:\r\n chunked\r\n",
        // Names and lines that some servers forgive.
        "Transfer-Encoding : chunked\r\n",
        "Transfer Encoding: chunked\r\n",
        " Transfer-Encoding: chunked\r\n",
        "X: 1\r\n Transfer-Encoding: chunked\r\n",
        "X: 1\rTransfer-Encoding: chunked\r\n",
        "X: 1\nTransfer-Encoding: chunked\r\n",
        "X: 1\0\r\n",
        "X\0: 1\r\n",
        ": 1\r\n",
        "X\r\n",
        "Host: b\r\n",
        "(x): 1\r\n",
    ] {
        let request = format!("POST / HTTP/1.1\r\nHost: a\r\n{fields}\r\n{smuggled}");
        for gateway in &gateways {
            let answer = say(gateway.address, request.as_bytes());
            let refused = ["HTTP/1.1 400", "HTTP/1.1 501", "HTTP/1.1 413"];
            let refused = refused.iter().any(|status| answer.starts_with(status));
            assert!(refused, "{fields:?}: {answer}");
            assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{fields:?}: {answer}");
        }
    }
    for start in
        ["GET / HTTP/1.1\r\n Host: a", "GET  / HTTP/1.1\r\nHost: a", "GET / HTTP/1.1 x\r\nHost: a"]
    {
        for gateway in &gateways {
            let answer = say(gateway.address, format!("{start}\r\n\r\n").as_bytes());
            assert!(!answer.starts_with("HTTP/1.1 2"), "{start:?}: {answer}");
        }
    }
    assert_eq!(server.seen(), [""; 0]);
}

#[test]
fn what_is_passed_on_is_framed_anew() {
    let server = Origin::start(|_, _, _| ok("x"));
    let gateways = gateways(&server);
    for (request, body) in [
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", ""),
        ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", ""),
        ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", "abc"),
        ("DELETE / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", "abc"),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nConnection: Content-Length\r\n\r\nabc",
            "abc",
        ),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n1\r\na\r\n0002\r\nbc\r\n0\r\n\r\n",
            "abc",
        ),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;a=\"b\"\r\nabc\r\n0;x\r\n\r\n",
            "abc",
        ),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: Content-Length\r\n\r\n\
             3\r\nabc\r\n0\r\nContent-Length: 9\r\nHost: b\r\n\r\n",
            "abc",
        ),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nX_Y: 1\r\nContent_Length: 9\r\nContent-Length: 3\r\n\r\nabc",
            "abc",
        ),
        ("POST / HTTP/1.0\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", "abc"),
        ("POST http://a/x HTTP/1.1\r\nHost: other\r\nContent-Length: 3\r\n\r\nabc", "abc"),
    ] {
        for gateway in &gateways {
            let before = server.seen().len();
            let answer = ask(gateway.address, request);
            assert!(answer.contains("200 OK"), "{request:?}: {answer}");
            let seen = server.seen();
            assert_eq!(seen.len(), before + 1, "{request:?}");
            is_plain(&seen[before]);
            assert_eq!(body_of(&seen[before]), body, "{request:?}");
            assert!(!seen[before].contains("Host: b"), "{request:?}");
        }
    }
}

#[test]
fn what_follows_a_body_is_a_request_of_its_own() {
    let server = Origin::start(|_, _, _| ok("x"));
    for gateway in gateways(&server) {
        let before = server.seen().len();
        let two = "POST /one HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc\
                   GET /two HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
        assert_eq!(say(gateway.address, two.as_bytes()).matches("200 OK").count(), 2);
        let seen = server.seen();
        assert!(
            seen[before].starts_with("POST /one ") && seen[before + 1].starts_with("GET /two ")
        );
        seen[before..].iter().for_each(|message| is_plain(message));
    }
}

#[test]
fn a_connection_without_keep_alive_ends_with_its_first_answer() {
    let server = Origin::start(|_, _, _| ok("x"));
    let mut settings = simple(&[server.address]);
    settings.client.keep_alive = false;
    let gateway = start(settings, parts(""));
    for head in [
        "GET /a HTTP/1.1\r\nHost: a",
        "GET /a HTTP/1.0\r\nConnection: keep-alive",
        // Not in the fast path.
        "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 0",
        "POST /a HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 0",
    ] {
        let two = format!("{head}\r\n\r\n").repeat(2);
        let answer = say(gateway.address, two.as_bytes()).to_ascii_lowercase();
        assert_eq!(answer.matches("200 ok").count(), 1, "{answer}");
        assert!(!answer.contains("keep-alive"), "{answer}");
        assert!(answer.contains("connection: close"), "{answer}");
    }
}

#[test]
fn broken_chunks_end_the_request_for_the_server_too() {
    let server = Origin::start(|_, _, _| ok("x"));
    for gateway in gateways(&server) {
        for chunks in [
            "zz\r\nabc\r\n0\r\n\r\n",
            "-3\r\nabc\r\n0\r\n\r\n",
            "3\r\nabcdef\r\n0\r\n\r\n",
            "3\nabc\n0\n\n",
            "fffffffffffffffff\r\nabc\r\n0\r\n\r\n",
            "3\r\nabc\r\n0\r\n bad: 1\r\n\r\n",
        ] {
            let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
            let answer = say(gateway.address, format!("{head}{chunks}").as_bytes());
            assert!(!answer.contains("200 OK"), "{chunks:?}: {answer}");
        }
    }
    // The origin notes whole messages only: it was given none.
    assert_eq!(server.seen(), [""; 0]);
}
