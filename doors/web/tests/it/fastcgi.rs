//! A `FastCGI` server that misbehaves, and what the client gets then.

use crate::support::{DEADLINE, Edge, Folder, site};
use door_web::{FastcgiChoice, SiteSettings};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;

/// Serves connections one after another with `serve`.
fn server(serve: impl Fn(TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("tcp://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            serve(stream.unwrap());
        }
    });
    address
}

fn edge(address: String) -> (Folder, Edge) {
    let base = Folder::new();
    base.write("www/a.php", "");
    let fastcgi = BTreeMap::from([("*.php".to_owned(), FastcgiChoice::Address(address))]);
    let settings = SiteSettings { fastcgi, ..site("www", &[]) };
    let edge = Edge::start_with(&base, &[settings], "");
    (base, edge)
}

fn record(kind: u8, content: &[u8]) -> Vec<u8> {
    let mut record = vec![1, kind, 0, 1, (content.len() >> 8) as u8, content.len() as u8, 0, 0];
    record.extend_from_slice(content);
    record
}

/// Reads a request to the empty record that ends its body; its parameters.
fn read_request(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut parameters = Vec::new();
    loop {
        let mut header = [0; 8];
        stream.read_exact(&mut header).ok()?;
        let len = usize::from(u16::from_be_bytes([header[4], header[5]]));
        let mut content = vec![0; len + usize::from(header[6])];
        stream.read_exact(&mut content).ok()?;
        match (header[1], len) {
            (5, 0) => return Some(parameters),
            (4, _) => parameters.extend_from_slice(&content),
            _ => {}
        }
    }
}

#[test]
fn what_is_no_answer_is_a_bad_gateway() {
    let head = b"Content-Type: text/plain\r\n\r\nhi";
    let mut too_large = Vec::new();
    for _ in 0..3 {
        too_large.extend(record(6, &b"A".repeat(30_000)));
    }
    let wrong: [Vec<u8>; 6] = [
        b"HTTP/1.1 200 OK\r\n\r\n".to_vec(),
        record(6, b"no head at all\r\n\r\n"),
        [record(6, b"Content-Type: text/plain\r\n"), record(3, &[0; 8])].concat(),
        record(11, head),
        too_large,
        Vec::new(),
    ];
    for answer in wrong {
        let shown = String::from_utf8_lossy(&answer[..answer.len().min(60)]).into_owned();
        let address = server(move |mut stream| {
            read_request(&mut stream);
            let _ = stream.write_all(&answer);
        });
        let (_base, edge) = edge(address);
        assert_eq!(edge.ask("GET /a.php", &[]).status, 502, "{shown:?}");
    }
}

#[test]
fn a_short_answer_gets_the_length_that_its_script_left_out() {
    let address = server(|mut stream| {
        read_request(&mut stream);
        let (head, more) = (b"Content-Type: text/plain\r\n\r\nwh", b"ole");
        let answer = [record(6, head), record(7, b"told"), record(6, more), record(3, &[0; 8])];
        let _ = stream.write_all(&answer.concat());
    });
    let (_base, edge) = edge(address);
    let answer = edge.ask("GET /a.php", &[]);
    assert_eq!((answer.field("content-length"), answer.text().as_str()), ("5", "whole"));
    assert_eq!(edge.ask("HEAD /a.php", &[]).field("content-length"), "", "its body is not made");
}

#[test]
fn an_answer_that_breaks_off_is_never_taken_for_whole() {
    let (seen_half, wait) = mpsc::channel();
    let address = server(move |mut stream| {
        read_request(&mut stream);
        let _ = stream.write_all(&record(6, b"Content-Type: text/plain\r\n\r\nhalf"));
        // Only now does it die.
        wait.recv().unwrap();
    });
    let (_base, edge) = edge(address);
    let mut stream = edge.connect();
    stream.write_all(b"GET /a.php HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut seen = Vec::new();
    while !seen.ends_with(b"half\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        seen.push(byte[0]);
    }
    seen_half.send(()).unwrap();
    let _ = stream.read_to_end(&mut seen);
    let text = String::from_utf8_lossy(&seen);
    assert!(text.starts_with("HTTP/1.1 200") && text.contains("half"), "{text}");
    assert!(!text.ends_with("0\r\n\r\n"), "{text}");
}

#[test]
fn a_length_that_the_body_does_not_reach_ends_the_connection() {
    let address = server(|mut stream| {
        read_request(&mut stream);
        let head = b"Content-Length: 50\r\nContent-Type: text/plain\r\n\r\nfour";
        let _ = stream.write_all(&[record(6, head), record(3, &[0; 8])].concat());
    });
    let (_base, edge) = edge(address);
    let mut stream = edge.connect();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream.write_all(b"GET /a.php HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut seen = Vec::new();
    // The client is told by the end, or by a reset, that bytes are missing.
    let _ = stream.read_to_end(&mut seen);
    let text = String::from_utf8_lossy(&seen);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    if head.starts_with("HTTP/1.1 200") {
        assert!(head.to_ascii_lowercase().contains("content-length: 50"), "{text}");
        assert!("four".starts_with(body), "{text}");
    } else {
        assert!(head.starts_with("HTTP/1.1 502"), "{text}");
    }
}

#[test]
fn parameters_of_more_than_64_kilobytes_arrive() {
    let (sender, receiver) = mpsc::channel();
    let address = server(move |mut stream| {
        if let Some(parameters) = read_request(&mut stream) {
            sender.send(parameters.len()).unwrap();
            let answer = [record(6, b"Content-Type: a/b\r\n\r\n"), record(3, &[0; 8])].concat();
            stream.write_all(&answer).unwrap();
        }
    });
    let base = Folder::new();
    base.write("www/a.php", "");
    let mut detail = FastcgiChoice::Address(address).settings();
    detail.params = BTreeMap::from([("LONG".to_owned(), "x".repeat(100_000))]);
    let fastcgi = BTreeMap::from([("*.php".to_owned(), FastcgiChoice::Detailed(detail))]);
    let edge = Edge::start_with(&base, &[SiteSettings { fastcgi, ..site("www", &[]) }], "");
    let mut stream = edge.connect();
    stream.write_all(b"GET /a.php HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    assert!(receiver.recv().unwrap() > 100_000);
}

#[test]
fn a_client_that_leaves_ends_the_scripts_connection() {
    let (sender, receiver) = mpsc::channel();
    let address = server(move |mut stream| {
        read_request(&mut stream);
        let _ = stream.write_all(&record(6, b"Content-Type: text/plain\r\n\r\nbegun"));
        // An abort, and then the end.
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        sender.send(rest).unwrap();
    });
    let (_base, edge) = edge(address);
    let mut stream = edge.connect();
    stream.write_all(b"GET /a.php HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut piece = [0; 1024];
    assert_ne!(stream.read(&mut piece).unwrap(), 0);
    drop(stream);
    let rest = receiver.recv_timeout(crate::support::DEADLINE).unwrap();
    assert!(rest.is_empty() || rest[1] == 2, "{rest:?}");
}

#[test]
fn a_kept_connection_that_the_server_closed_is_replaced() {
    let address = server(|mut stream| {
        read_request(&mut stream);
        let answer =
            [record(6, b"Content-Length: 2\r\nContent-Type: a/b\r\n\r\nok"), record(3, &[0; 8])];
        let _ = stream.write_all(&answer.concat());
    });
    let (_base, edge) = edge(address);
    for _ in 0..20 {
        assert_eq!(edge.ask("GET /a.php", &[]).text(), "ok");
    }
}

#[test]
fn clients_beyond_the_servers_children_are_answered_when_no_more_come() {
    // One child, as long as its connection is open.
    let address = server(|mut stream| {
        while read_request(&mut stream).is_some() {
            let head = record(6, b"Content-Length: 2\r\nContent-Type: a/b\r\n\r\nok");
            let _ = stream.write_all(&[head, record(3, &[0; 8])].concat());
        }
    });
    let (_base, edge) = edge(address);
    for _ in 0..10 {
        thread::scope(|threads| {
            for _ in 0..6 {
                threads.spawn(|| assert_eq!(edge.ask("GET /a.php", &[]).text(), "ok"));
            }
        });
    }
}

#[test]
fn a_server_may_be_given_by_name() {
    let address = server(|mut stream| {
        read_request(&mut stream);
        let answer =
            [record(6, b"Content-Length: 2\r\nContent-Type: a/b\r\n\r\nok"), record(3, &[0; 8])];
        let _ = stream.write_all(&answer.concat());
    });
    let port = address.rsplit_once(':').unwrap().1;
    let (_base, named) = edge(format!("tcp://localhost:{port}"));
    assert_eq!(named.ask("GET /a.php", &[]).text(), "ok");
    assert_eq!(named.ask("GET /a.php", &[]).text(), "ok");
    let (_base, nobody) = edge(format!("tcp://nothing.invalid:{port}"));
    assert_eq!(nobody.ask("GET /a.php", &[]).status, 502);
}

/// An edge whose scripts are told, one after another, by `mpsc`.
fn telling() -> (Folder, Edge, mpsc::Receiver<String>) {
    let (tell, told) = mpsc::channel();
    let address = server(move |mut stream| {
        let Some(parameters) = read_request(&mut stream) else { return };
        tell.send(String::from_utf8_lossy(&parameters).into_owned()).unwrap();
        let answer =
            [record(6, b"Content-Type: text/plain\r\n\r\nhi"), record(3, &[0; 8])].concat();
        let _ = stream.write_all(&answer);
    });
    let (base, edge) = edge(address);
    (base, edge, told)
}

#[test]
fn a_script_is_told_the_host_of_an_absolute_target_and_no_field_with_a_dot() {
    let (_base, edge, told) = telling();
    let fields = [("x.dot", "1"), ("x-plain", "2"), ("x_under", "3")];
    assert_eq!(edge.ask_host("a.example", "GET http://b.example/a.php", &fields).status, 200);
    let variables = told.recv_timeout(DEADLINE).unwrap();
    assert!(variables.contains("HTTP_HOSTb.example"), "{variables:?}");
    assert!(variables.contains("SERVER_NAMEb.example"), "{variables:?}");
    assert!(!variables.contains("a.example") && variables.contains("HTTP_X_PLAIN"));
    assert!(!variables.contains("DOT") && !variables.contains("UNDER"), "{variables:?}");
}

#[test]
fn a_path_with_dots_runs_the_script_that_it_comes_to_and_sends_no_source() {
    let (base, edge, told) = telling();
    base.write("www/b.PHP", "<?php source");
    base.write("www/index.Php", "<?php source");
    for path in ["/./a.php", "/x/../a.php", "/%2e/a.php"] {
        assert_eq!(edge.ask(&format!("GET {path}"), &[]).status, 200, "{path}");
        let variables = told.recv_timeout(DEADLINE).unwrap();
        assert!(variables.contains("SCRIPT_NAME/a.php"), "{path}: {variables:?}");
    }
    for copy in ["a.php~", "a.php.bak", "a.php.old", "a.php.orig", "a.php.save", "a.php.swp"] {
        base.write(&format!("www/{copy}"), "<?php source");
        assert_eq!(edge.ask(&format!("GET /{copy}"), &[]).status, 404, "{copy}");
    }
    for path in ["/b.PHP", "/./b.PHP", "/index.Php"] {
        let answer = edge.ask(&format!("GET {path}"), &[]);
        assert_eq!((answer.status, answer.text().contains("source")), (404, false), "{path}");
    }
}
