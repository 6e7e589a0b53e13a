//! Servers whose answers are cut, untidy, or to be read in two ways: what reaches clients of the
//! proxy and the gateway, and what the log says of it; for requests with a body and without one
//! alike.

use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;
use tidegate_tests::origin::header;
use tidegate_tests::tidegate::Tidegate;
use tidegate_tests::wait;

const DEADLINE: Duration = Duration::from_secs(30);
/// What is asked of a server that answers well.
const WELL: &str = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nwell";

/// Reads a request; `None` at the end of the connection.
fn read_request(stream: &mut TcpStream) -> Option<String> {
    let (mut came, mut byte) = (Vec::new(), [0]);
    while !came.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(0) | Err(_) => return None,
            Ok(_) => came.push(byte[0]),
        }
    }
    let head = String::from_utf8(came).unwrap();
    let length = header(&head, "content-length").map_or(0, |it| it.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some(head)
}

/// A server that answers `/well` well, and everything else with `answer` before it closes.
fn server(answer: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            std::thread::spawn(move || {
                while let Some(head) = read_request(&mut stream) {
                    if head.contains("/well") {
                        stream.write_all(WELL.as_bytes()).unwrap();
                    } else {
                        // Who refuses it reads no more.
                        let _ = stream.write_all(answer.as_bytes());
                        return;
                    }
                }
            });
        }
    });
    address
}

/// Both doors before `servers`, each at the gateway under its own host `s0`, `s1` …
fn doors(servers: &[SocketAddr]) -> Tidegate {
    doors_with(servers, "", "")
}

/// The same with these lines for the proxy and for each route.
fn doors_with(servers: &[SocketAddr], of_proxy: &str, of_route: &str) -> Tidegate {
    let (mut pools, mut routes) = (String::new(), String::new());
    for (at, server) in servers.iter().enumerate() {
        writeln!(pools, "    p{at}: {{ servers: [\"http://{server}\"] }}").unwrap();
        writeln!(routes, "    - {{ host: s{at}.example, path: \"/*\", pool: p{at}{of_route} }}")
            .unwrap();
    }
    Tidegate::start(&format!(
        r#"
proxy: {{ listen: ["http://127.0.0.1:0"], destinations: any{of_proxy} }}
gateway:
  listen: ["http://127.0.0.1:0"]
  pools:
{pools}  routes:
{routes}admin: {{ listen: "127.0.0.1:0" }}
"#
    ))
}

/// All that a door says to these bytes until it closes.
fn said(door: SocketAddr, wire: &str) -> String {
    let mut stream = TcpStream::connect(door).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream.write_all(wire.as_bytes()).unwrap();
    let mut answer = Vec::new();
    if let Err(why) = stream.read_to_end(&mut answer) {
        assert_eq!(why.kind(), ErrorKind::ConnectionReset, "{why}");
    }
    String::from_utf8_lossy(&answer).into_owned()
}

/// A way of asking.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Asking {
    Get,
    Post,
    /// Over a connection to the server that a `POST` has opened.
    GetAfterPost,
}

/// What the proxy and the gateway of `doors` make of the answer of a server.
fn answers(doors: &Tidegate, servers: &[SocketAddr], at: usize, asking: Asking) -> [String; 2] {
    ["proxy", "gateway"].map(|door| {
        let (base, host) = match door {
            "proxy" => (format!("http://{}", servers[at]), servers[at].to_string()),
            _ => (String::new(), format!("s{at}.example")),
        };
        let ask = |method: &str, path: &str, body: &str| {
            let length = if body.is_empty() { "" } else { "Content-Length: 4\r\n" };
            let close = if path == "/well" { "" } else { "Connection: close\r\n" };
            format!("{method} {base}{path} HTTP/1.1\r\nHost: {host}\r\n{length}{close}\r\n{body}")
        };
        let address = doors.address(door, "http");
        match asking {
            Asking::Get => said(address, &ask("GET", "/bad", "")),
            Asking::Post => said(address, &ask("POST", "/bad", "body")),
            Asking::GetAfterPost => {
                let both = ask("POST", "/well", "body") + &ask("GET", "/bad", "");
                let answers = said(address, &both);
                let (first, second) = answers.split_once("well").expect("the first answer");
                assert!(first.starts_with("HTTP/1.1 200"), "{first}");
                second.to_owned()
            }
        }
    })
}

const ASKINGS: [Asking; 3] = [Asking::Get, Asking::Post, Asking::GetAfterPost];

#[test]
fn answers_that_two_readers_could_read_differently_are_refused_however_they_are_asked_for() {
    let hostile = [
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n4\r\nevil\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nevil\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 4, 4\r\n\r\nevil",
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nevil",
        "HTTP/1.1 200 OK\r\nContent-Length : 4\r\n\r\nevil",
        "HTTP/1.1 200 OK\r\nContent-Length: +4\r\n\r\nevil",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\nContent-Length: 4\r\n\r\nevil",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nevil",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n4\r\nevil\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, identity\r\n\r\n4\r\nevil\r\n0\r\n\r\n",
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nevil\r\n0\r\n\r\n",
        "\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
        "HTTP/1.1 200 OK\r\nno colon\r\nContent-Length: 4\r\n\r\nevil",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nevil",
        // A first chunk that is none.
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x4\r\nevil\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\nevil\n0\n\n",
    ];
    let servers = hostile.map(server);
    let doors = doors(&servers);
    for (at, wire) in hostile.iter().enumerate() {
        for asking in ASKINGS {
            for answer in answers(&doors, &servers, at, asking) {
                let case = format!("{asking:?} {wire:?}: {answer}");
                assert!(answer.starts_with("HTTP/1.1 502 Bad Gateway\r\n"), "{case}");
                assert!(!answer.contains("evil"), "{case}");
            }
        }
    }
}

#[test]
fn untidy_answers_are_passed_on_tidily() {
    let mut fields = String::new();
    (0..150).for_each(|at| write!(fields, "X-{at}: {at}\r\n").unwrap());
    let many = format!("HTTP/1.1 200 OK\r\n{fields}X-A: b\r\nContent-Length: 4\r\n\r\ngood");
    let untidy = [
        &*many.leak(),
        "HTTP/1.1 200 OK\r\nX-A : b\r\nContent-Length: 4\r\n\r\ngood",
        "HTTP/1.1 200 OK\r\nX-A:\r\n \tb\r\nContent-Length: 4\r\n\r\ngood",
        "HTTP/1.1 200 OK\r\nX-A: b\r\nTransfer-Encoding: identity\r\n\r\ngood",
        "HTTP/1.1 200 OK\r\nX-A: b\r\nTransfer-Encoding: identity\r\nContent-Length: 4\r\n\r\ngood",
        "HTTP/1.1 200 OK\nX-A: b\nContent-Length: 4\n\ngood",
    ];
    let servers = untidy.map(server);
    let doors = doors(&servers);
    for (at, wire) in untidy.iter().enumerate() {
        for asking in ASKINGS {
            for answer in answers(&doors, &servers, at, asking) {
                let case = format!("{asking:?} {wire:?}: {answer}");
                assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{case}");
                assert!(answer.contains("\r\nx-a: b\r\n"), "{case}");
                assert!(answer.contains("good"), "{case}");
                assert!(!answer.contains("identity"), "{case}");
            }
        }
    }
}

#[test]
fn an_answer_that_breaks_off_reaches_its_client_as_far_as_it_came() {
    let cut = [
        "HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 1000\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\nX-A: b\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        "HTTP/1.1 200 OK\r\nX-A: b\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nevil\r\n",
    ];
    let servers = cut.map(server);
    let caching = doors_with(&servers, ", cache: {}", ", cache: true");
    let doors = doors(&servers);
    for doors in [&doors, &caching] {
        for (at, wire) in cut.iter().enumerate() {
            for asking in ASKINGS {
                for answer in answers(doors, &servers, at, asking) {
                    let case = format!("{asking:?} {wire:?}: {answer}");
                    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{case}");
                    assert!(answer.contains("\r\nx-a: b\r\n"), "{case}");
                    assert!(answer.contains("half"), "{case}");
                    assert!(!answer.ends_with("0\r\n\r\n"), "it is not whole: {case}");
                }
            }
        }
    }
    // The log tells it from one that came whole.
    let row = wait::until("the row of an answer that broke off", || {
        let rows = doors.api("/api/requests?door=gateway&limit=100");
        let rows = rows["rows"].as_array().cloned().unwrap_or_default();
        rows.into_iter().find(|row| row["source"] == "failed")
    });
    assert_eq!((&row["status"], &row["bytes"]), (&200.into(), &4.into()), "{row}");
}

#[test]
fn what_is_not_stored_and_not_to_be_fetched_is_said_in_words() {
    let servers = [server(WELL)];
    let caching = doors_with(&servers, ", cache: {}", ", cache: true");
    let offline = doors_with(&servers, ", cache: { stale: offline }", "");
    let (base, host) = (format!("http://{}", servers[0]), servers[0].to_string());
    let ask = |doors: &Tidegate, fields: &str| {
        let wire = format!(
            "GET {base}/well HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{fields}\r\n"
        );
        said(doors.address("proxy", "http"), &wire)
    };
    let only = "Cache-Control: only-if-cached\r\n";
    for (doors, fields) in [(&caching, only), (&offline, "")] {
        let answer = ask(doors, fields);
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        assert!(head.starts_with("HTTP/1.1 504 "), "{answer}");
        assert_eq!(
            header(head, "proxy-status").as_deref(),
            Some("tidegate; error=proxy_internal_response")
        );
        assert!(header(head, "cache-status").is_some(), "{answer}");
        assert!(body.starts_with("Nothing is stored"), "{answer}");
        let page = ask(doors, &format!("{fields}Accept: text/html\r\n"));
        assert!(page.contains("<p class=\"lead\">Nothing is stored"), "{page}");
        assert!(page.contains("proxy-status: "), "{page}");
    }
}

#[test]
fn trailers_of_a_request_are_no_fields_of_its_server() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let servers = [listener.local_addr().unwrap()];
    let doors = doors(&servers);
    for (door, base) in [("proxy", format!("http://{}", servers[0])), ("gateway", String::new())] {
        let host = if door == "proxy" { servers[0].to_string() } else { "s0.example".to_owned() };
        let wire = format!(
            "POST {base}/ HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\
             Trailer: X-Forwarded-For, X-User, Content-Digest\r\nConnection: close\r\n\r\n\
             4\r\nbody\r\n0\r\nX-Forwarded-For: 6.6.6.6\r\nX-User: root\r\n\
             Content-Digest: sha-256=:AA==:\r\n\r\n"
        );
        let address = doors.address(door, "http");
        let asking = std::thread::spawn(move || said(address, &wire));
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let (mut came, mut byte) = (Vec::new(), [0]);
        while !came.windows(5).any(|it| it == b"\r\n0\r\n") || !came.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte).unwrap();
            came.push(byte[0]);
        }
        stream.write_all(WELL.as_bytes()).unwrap();
        assert!(asking.join().unwrap().ends_with("well"), "{door}");
        let came = String::from_utf8(came).unwrap();
        assert!(!came.contains("6.6.6.6") && !came.contains("root"), "{door}: {came}");
        let end = "0\r\ncontent-digest: sha-256=:AA==:\r\n\r\n";
        assert!(came.contains("trailer: content-digest\r\n") && came.ends_with(end), "{came}");
    }
}
