//! Methods, versions and sizes at the edge.

use crate::support::{DEADLINE, Origin, Reply, ask, ok, parts, simple, start};
use settings::Text;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use vocab::{ByteSize, TimeSpan};

#[test]
fn a_route_has_a_cap_on_bodies_of_its_own() {
    let origin = Origin::start(|_, _, _| ok("x"));
    let mut settings = simple(&[origin.address]);
    settings.routes[0].body_max = Some(Text(ByteSize(1 << 10)));
    let gateway = start(settings, parts(""));
    let post = |fields: &str, body: &str| {
        let head = "POST / HTTP/1.1\r\nHost: a\r\n";
        ask(gateway.address, &format!("{head}{fields}\r\n\r\n{body}"))
    };
    assert!(post("Content-Length: 1025", &"x".repeat(1025)).starts_with("HTTP/1.1 413 "));
    assert!(origin.seen().is_empty());
    assert!(post("Content-Length: 1024", &"x".repeat(1024)).starts_with("HTTP/1.1 200 "));
    let chunks = format!("401\r\n{}\r\n0\r\n\r\n", "x".repeat(1025));
    assert!(post("Transfer-Encoding: chunked", &chunks).starts_with("HTTP/1.1 413 "));
}

#[test]
fn a_route_has_a_patience_of_its_own() {
    let origin = Origin::start(|_, _, _| Reply::Keep(String::new()));
    let mut settings = simple(&[origin.address]);
    settings.routes[0].response_timeout = Some(Text(TimeSpan(Duration::from_secs(1))));
    let gateway = start(settings, parts(""));
    let said = ask(gateway.address, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(said.starts_with("HTTP/1.1 504 "), "{said}");
}

#[test]
fn a_client_that_waits_is_told_to_go_on() {
    let origin = Origin::start(|_, _, _| ok("x"));
    let gateway = start(simple(&[origin.address]), parts(""));
    let mut stream = TcpStream::connect(gateway.address).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let head = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let mut said = [0; 25];
    stream.read_exact(&mut said).unwrap();
    assert_eq!(&said, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"body").unwrap();
    assert!(crate::support::read_message(&mut stream).unwrap().starts_with("HTTP/1.1 200 "));
    let seen = &origin.seen()[0];
    assert!(seen.ends_with("\r\n\r\nbody") && !seen.contains("expect"), "{seen}");
}

#[test]
fn a_head_has_the_length_and_no_body() {
    let origin = Origin::start(|_, _, request| {
        assert!(request.starts_with("HEAD / HTTP/1.1\r\n"), "{request}");
        Reply::Keep("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n".into())
    });
    let gateway = start(simple(&[origin.address]), parts(""));
    let mut stream = TcpStream::connect(gateway.address).unwrap();
    let head = b"HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    stream.write_all(head).unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    assert!(said.contains("content-length: 7\r\n") && said.ends_with("\r\n\r\n"), "{said}");
}

#[test]
fn a_client_of_http_1_0_gets_what_it_understands() {
    let origin = Origin::start(|_, _, _| {
        Reply::Close(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n".into(),
        )
    });
    let gateway = start(simple(&[origin.address]), parts(""));
    let mut stream = TcpStream::connect(gateway.address).unwrap();
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    assert!(said.starts_with("HTTP/1.0 200 ") && said.ends_with("\r\n\r\nx"), "{said}");
    assert!(!said.contains("chunked"), "{said}");
}

#[test]
fn the_authority_of_the_target_stands_over_host() {
    let origin = Origin::start(|_, _, _| ok("x"));
    let gateway = start(simple(&[origin.address]), parts(""));
    ask(gateway.address, "GET http://real.example/p HTTP/1.1\r\nHost: other.example\r\n\r\n");
    let seen = &origin.seen()[0];
    assert!(seen.starts_with("GET /p HTTP/1.1\r\n") && seen.contains("host: real.example\r\n"));
    for request in [
        "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    ] {
        assert!(ask(gateway.address, request).starts_with("HTTP/1.1 400 "), "{request}");
    }
    assert!(
        ask(gateway.address, "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n")
            .starts_with("HTTP/1.1 405 ")
    );
}
