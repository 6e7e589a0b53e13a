//! RFC 9112: what is refused before a handler sees it, byte by byte over a real socket.

use crate::support::{exchange, exchange_all, run, server, status};

/// Sends `wire`; checks the first answer's status and that only `handled` reached the handler.
fn check(wire: &str, expected: u16, handled: &[&str]) {
    run(async {
        let (address, asked) = server().await;
        let answer = exchange(address, wire.as_bytes()).await;
        assert_eq!(status(&answer), expected, "{wire:?} was answered {answer:?}");
        assert_eq!(*asked.borrow(), handled, "{wire:?}");
    });
}

fn refused(wire: &str) {
    check(wire, 400, &[]);
}

const SMUGGLED: &str = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";

#[test]
fn plain_requests_are_served() {
    check("GET /p?q HTTP/1.1\r\nHost: a\r\n\r\n", 200, &["GET /p?q 0"]);
    check("GET / HTTP/1.0\r\n\r\n", 200, &["GET / 0"]);
    check("\r\n\r\nGET / HTTP/1.1\r\nHost: a:80\r\n\r\n", 200, &["GET / 0"]);
    check("POST / HTTP/1.1\r\nHost: [::1]:80\r\nContent-Length: 3\r\n\r\nabc", 200, &["POST / 3"]);
    let chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n\
                   3;ext=\"1\"\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: 1\r\n\r\n";
    check(chunked, 200, &["POST / 5"]);
    check("GET http://b.example/p HTTP/1.1\r\nHost: a\r\n\r\n", 200, &["GET http://b.example/p 0"]);
}

#[test]
fn length_beside_encoding_is_refused_in_either_order() {
    let body = "0\r\n\r\n";
    refused(&format!(
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n{body}{SMUGGLED}"
    ));
    refused(&format!(
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n{body}{SMUGGLED}"
    ));
    refused(&format!(
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n{body}"
    ));
}

#[test]
fn a_refusal_also_ends_what_is_pipelined_behind_it() {
    let first = "GET /first HTTP/1.1\r\nHost: a\r\n\r\n";
    let bad = "POST /bad HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    run(async {
        let (address, asked) = server().await;
        // All three are in one read; nothing behind the fault is run.
        let answer = exchange_all(address, format!("{first}{bad}{SMUGGLED}").as_bytes()).await;
        assert_eq!(answer.matches("HTTP/1.1 200").count(), 1, "{answer}");
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 2, "{answer}");
        assert_eq!(*asked.borrow(), ["GET /first 0"]);
        // Where no request is simple the fault taints the whole read.
        let answer = exchange(address, format!("\r\n{first}{bad}{SMUGGLED}").as_bytes()).await;
        assert_eq!(status(&answer), 400);
        assert_eq!(asked.borrow().len(), 1, "{:?}", asked.borrow());
    });
}

#[test]
fn a_length_must_be_one_plain_number() {
    let with =
        |fields: &str| format!("POST / HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\nhello{SMUGGLED}");
    refused(&with("Content-Length: 5\r\nContent-Length: 6"));
    refused(&with("Content-Length: 5\r\nContent-Length: 5"));
    refused(&with("Content-Length: 5, 5"));
    refused(&with("Content-Length: +5"));
    refused(&with("Content-Length: -5"));
    refused(&with("Content-Length: 0x5"));
    refused(&with("Content-Length: 5 5"));
    refused(&with("Content-Length: "));
    refused(&with("Content-Length: 99999999999999999999999999"));
}

#[test]
fn only_chunked_is_a_known_encoding() {
    let with = |value: &str| {
        format!("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: {value}\r\n\r\n0\r\n\r\n")
    };
    check(&with("gzip, chunked"), 501, &[]);
    check(&with("chunked, chunked"), 501, &[]);
    check(&with("identity\r\nTransfer-Encoding: chunked"), 501, &[]);
    refused(&with("chunked, identity"));
    refused(&with("xchunked"));
    refused(&with("gzip"));
    refused("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
}

#[test]
fn lines_must_end_in_cr_lf() {
    refused("GET / HTTP/1.1\nHost: a\n\n");
    refused("GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n");
    refused("GET / HTTP/1.1\r\nHost: a\r\nX: b\rY: c\r\n\r\n");
}

#[test]
fn fields_must_be_well_formed() {
    refused("GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n folded\r\n\r\n");
    refused("GET / HTTP/1.1\r\nHost: a\r\n X: b\r\n\r\n");
    refused("GET / HTTP/1.1\r\nHost : a\r\n\r\n");
    refused("POST / HTTP/1.1\r\nHost: a\r\nContent-Length : 5\r\n\r\nhello");
    refused("GET / HTTP/1.1\r\nHost: a\r\nX: b\0c\r\n\r\n");
    refused("GET / HTTP/1.1\r\nHost: a\r\nX\0: b\r\n\r\n");
    refused("GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n");
    refused("GET / HTTP/1.1\r\nHost: a\r\n: no name\r\n\r\n");
    refused("GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n");
}

#[test]
fn one_host_is_due() {
    refused("GET / HTTP/1.1\r\n\r\n");
    refused("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n");
    refused("GET http://b/ HTTP/1.1\r\n\r\n");
    for host in [
        "a b", "a/b", "user@a", "a:b", "a:123456", "a:1:2", "[::1", "[x]", "a\u{e9}", "a#b", "a\\b",
    ] {
        refused(&format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    }
}

#[test]
fn what_is_no_request_is_answered_400() {
    refused("garbage\r\n\r\n");
    refused("GET / HTTP/3.7\r\nHost: a\r\n\r\n");
    refused("GET  / HTTP/1.1\r\nHost: a\r\n\r\n");
    refused("\x16\x03\x01\x02\x00\x01\x00\x01\x7c\x03\x03 a ClientHello at the wrong door\r\n\r\n");
    refused("PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n");
    refused("(GET) / HTTP/1.1\r\nHost: a\r\n\r\n");
}

#[test]
fn heads_are_bounded() {
    let head = |fields: &str| format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
    check(&head(&"X: y\r\n".repeat(99)), 200, &["GET / 0"]);
    check(&head(&"X: y\r\n".repeat(100)), 431, &[]);
    check(&head(&format!("X: {}\r\n", "y".repeat(70_000))), 431, &[]);
    run(async {
        let (address, asked) = server().await;
        let wire = format!("GET {} HTTP/1.1\r\nHost: a\r\n\r\n", "/".repeat(66_000));
        // Whether the line or the whole head is called too long depends on how the bytes arrive.
        let status = status(&exchange(address, wire.as_bytes()).await);
        assert!(matches!(status, 414 | 431), "{status}");
        assert!(asked.borrow().is_empty());
    });
}

#[test]
fn broken_chunks_end_the_body_as_broken() {
    let with = |chunks: &str| {
        format!("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}")
    };
    for chunks in [
        "zz\r\nabc\r\n0\r\n\r\n",
        "-1\r\nabc\r\n0\r\n\r\n",
        "fffffffffffffffff\r\nabc\r\n0\r\n\r\n",
        "3\r\nabcX\r\n0\r\n\r\n",
        "3\nabc\n0\n\n",
        "0x3\r\nabc\r\n0\r\n\r\n",
    ] {
        run(async {
            let (address, asked) = server().await;
            let _ = exchange(address, format!("{}{SMUGGLED}", with(chunks)).as_bytes()).await;
            let asked = asked.borrow();
            assert!(asked.iter().all(|it| it == "POST / broken"), "{chunks:?}: {asked:?}");
        });
    }
}

#[test]
fn the_same_host_twice_over_is_no_smuggling_in_trailers() {
    // A field in a trailer is not a field of the head.
    let wire = "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
                1\r\nx\r\n0\r\nContent-Length: 5\r\nHost: b\r\n\r\n";
    check(wire, 200, &["POST /a 1"]);
}
