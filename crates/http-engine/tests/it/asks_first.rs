//! Clients that ask before they send a body (RFC 9110 §10.1.1), byte by byte over a real socket.

use crate::support::{DEADLINE, run, server, status};
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Sends a head that asks; the connection, and what came before a byte of body was sent.
async fn ask(address: SocketAddr, fields: &str) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n{fields}\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut came = Vec::new();
    timeout(DEADLINE, async {
        while !came.windows(4).any(|it| it == b"\r\n\r\n") {
            assert_ne!(stream.read_buf(&mut came).await.unwrap(), 0);
        }
    })
    .await
    .expect("an answer comes before the body");
    (stream, String::from_utf8(came).unwrap())
}

async fn rest(mut stream: TcpStream, body: &str) -> String {
    stream.write_all(body.as_bytes()).await.unwrap();
    let mut came = Vec::new();
    timeout(DEADLINE, async {
        while !came.ends_with(b"POST / 3") {
            assert_ne!(stream.read_buf(&mut came).await.unwrap(), 0);
        }
    })
    .await
    .expect("an answer comes after the body");
    String::from_utf8(came).unwrap()
}

#[test]
fn the_body_is_sent_only_once_it_is_asked_for() {
    run(async {
        let (address, asked) = server().await;
        for (fields, body) in [
            ("Content-Length: 3", "abc"),
            ("Transfer-Encoding: chunked", "3\r\nabc\r\n0\r\n\r\n"),
            ("Content-Length: 3\r\nX: y", "abc"),
        ] {
            let (stream, first) = ask(address, fields).await;
            assert_eq!(first, "HTTP/1.1 100 Continue\r\n\r\n");
            let answer = rest(stream, body).await;
            assert_eq!(status(&answer), 200, "{answer}");
        }
        assert_eq!(asked.borrow().len(), 3);
    });
}

#[test]
fn a_request_that_is_refused_is_told_so_and_not_to_go_on() {
    run(async {
        let (address, asked) = server().await;
        for (fields, expected) in [
            ("Content-Length: 3\r\nHost: b", 400),
            ("Content-Length: 3\r\nContent-Length: 3", 400),
            ("Content-Length: 3\r\nTransfer-Encoding: chunked", 400),
            ("Transfer-Encoding: gzip, chunked", 501),
        ] {
            let (_stream, first) = ask(address, fields).await;
            assert_eq!(status(&first), expected, "{first}");
            assert!(!first.contains("100 Continue"), "{first}");
            assert!(first.contains("connection: close"), "{first}");
        }
        assert!(asked.borrow().is_empty());
    });
}
