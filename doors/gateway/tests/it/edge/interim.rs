//! What servers send ahead of their answers (1xx, RFC 8297): it reaches the client that waits, at
//! once.

use crate::support::{DEADLINE, Gateway, ask, parts, read_message, simple, start};
use door_gateway::{FieldRule, ReproxySettings, Settings};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;

const HINTS: &str = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n";
const KEPT: &str = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 2\r\n\r\nok";

/// A server that sends `ahead`, and its answer once it is told to.
fn gated(ahead: &'static str) -> (SocketAddr, mpsc::Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (answer, due) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            while read_message(&mut stream).is_some() {
                stream.write_all(ahead.as_bytes()).unwrap();
                let Ok(()) = due.recv() else { return };
                stream.write_all(KEPT.as_bytes()).unwrap();
            }
        }
    });
    (address, answer)
}

/// A server that sends so many hints for every answer; its connections end with them, and it says
/// so.
fn hinting(count: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let last = KEPT.replacen("Content-Length", "Connection: close\r\nContent-Length", 1);
    let said = HINTS.repeat(count) + &last;
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            if read_message(&mut stream).is_some() {
                // Who has had enough of it reads no more.
                let _ = stream.write_all(said.as_bytes());
            }
        }
    });
    address
}

fn plain(server: SocketAddr) -> Settings {
    simple(&[server])
}

fn cached(server: SocketAddr) -> Settings {
    let mut settings = plain(server);
    settings.routes[0].cache = true;
    settings
}

/// A client on a connection of its own.
struct Client(TcpStream);

impl Client {
    fn asks(gateway: &Gateway, request: &str) -> Self {
        let mut stream = TcpStream::connect(gateway.address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        Self(stream)
    }

    /// The next head, without a byte beyond it.
    fn head(&mut self) -> String {
        let mut came = Vec::new();
        while !came.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            self.0.read_exact(&mut byte).unwrap();
            came.push(byte[0]);
        }
        String::from_utf8(came).unwrap()
    }
}

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const POST: &str = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab";

#[test]
fn hints_are_there_before_the_answer_by_every_way() {
    for (settings, request) in
        [(plain as fn(_) -> _, GET), (plain, POST), (cached, GET), (cached, POST)]
    {
        let (server, answer) = gated(HINTS);
        let gateway = start(settings(server), parts(""));
        let mut client = Client::asks(&gateway, request);
        let hints = client.head();
        assert!(hints.starts_with("HTTP/1.1 103 Early Hints\r\n"), "{request}: {hints}");
        assert!(hints.contains("link: </a.css>; rel=preload\r\n"), "{request}: {hints}");
        answer.send(()).unwrap();
        assert!(client.head().starts_with("HTTP/1.1 200 OK\r\n"), "{request}");
    }
}

#[test]
fn what_comes_ahead_is_treated_like_an_answer() {
    let ahead = "HTTP/1.1 103 Early Hints\r\nServer: secret/1\r\nConnection: X-Hop\r\nX-Hop: 1\r\n\
                 Keep-Alive: timeout=5\r\nX-Accel-Redirect: /inner\r\nLink: </a>\r\n\r\n";
    let (server, answer) = gated(ahead);
    let mut settings = simple(&[server]);
    let rule = FieldRule::default();
    settings.headers.response = vec![
        FieldRule { remove: Some("Server".into()), ..rule.clone() },
        FieldRule { add: Some("X-For".into()), value: Some("{client}".into()), ..rule },
    ];
    settings.routes[0].reproxy =
        Some(ReproxySettings { urls: vec!["127.0.0.0/8".into()], ..Default::default() });
    let gateway = start(settings, parts(""));
    let mut client = Client::asks(&gateway, GET);
    let hints = client.head();
    let (line, fields) = hints.trim_end().split_once("\r\n").unwrap();
    let mut fields: Vec<_> = fields.split("\r\n").collect();
    fields.sort_unstable();
    assert_eq!(line, "HTTP/1.1 103 Early Hints");
    assert_eq!(fields, ["link: </a>", "via: 1.1 tidegate", "x-for: 127.0.0.1"]);
    answer.send(()).unwrap();
    assert!(client.head().starts_with("HTTP/1.1 200 OK\r\n"));
}

#[test]
fn only_the_client_that_caused_a_fetch_gets_its_hints() {
    let (server, answer) = gated(HINTS);
    let gateway = start(cached(server), parts(""));
    let mut first = Client::asks(&gateway, GET);
    assert!(first.head().starts_with("HTTP/1.1 103 "));
    // One that waits for the same fetch, and one that comes when it is over.
    let mut second = Client::asks(&gateway, GET);
    answer.send(()).unwrap();
    assert!(first.head().starts_with("HTTP/1.1 200 "));
    let joined = second.head();
    assert!(joined.starts_with("HTTP/1.1 200 "), "{joined}");
    let stored = Client::asks(&gateway, GET).head();
    assert!(stored.starts_with("HTTP/1.1 200 ") && stored.contains(";hit;"), "{stored}");
    assert!(!stored.contains("link"), "{stored}");
}

#[test]
fn neither_http_1_0_nor_a_neighbours_100_is_passed_on() {
    for (ahead, request) in [
        (HINTS, "GET / HTTP/1.0\r\n\r\n"),
        (HINTS, "POST / HTTP/1.0\r\nContent-Length: 2\r\n\r\nab"),
        ("HTTP/1.1 100 Continue\r\n\r\n", GET),
        ("HTTP/1.1 100 Continue\r\n\r\n", POST),
    ] {
        let (server, answer) = gated(ahead);
        let gateway = start(simple(&[server]), parts(""));
        answer.send(()).unwrap();
        let said = Client::asks(&gateway, request).head();
        assert!(said.contains(" 200 OK\r\n"), "{request}: {said}");
    }
}

#[test]
fn an_authority_gives_no_hints_to_the_client() {
    let (judge, admit) = gated(HINTS);
    let (server, answer) = gated("");
    let mut settings = simple(&[server]);
    let asked = format!(r#"{{ "url": "http://{judge}/" }}"#);
    settings.routes[0].forward_auth = Some(serde_json::from_str(&asked).unwrap());
    let gateway = start(settings, parts(""));
    admit.send(()).unwrap();
    answer.send(()).unwrap();
    let said = Client::asks(&gateway, GET).head();
    assert!(said.starts_with("HTTP/1.1 200 "), "{said}");
}

#[test]
fn a_server_that_never_comes_to_its_answer_is_a_bad_gateway() {
    for request in [GET, POST] {
        let gateway = start(simple(&[hinting(16)]), parts(""));
        let mut client = Client::asks(&gateway, request);
        (0..16).for_each(|_| assert!(client.head().starts_with("HTTP/1.1 103 "), "{request}"));
        assert!(client.head().starts_with("HTTP/1.1 200 "), "{request}");

        let gateway = start(simple(&[hinting(10_000)]), parts(""));
        let mut client = Client::asks(&gateway, request);
        let mut ahead = 0;
        let last = loop {
            let head = client.head();
            if !head.starts_with("HTTP/1.1 103 ") {
                break head;
            }
            ahead += 1;
        };
        assert!(ahead <= 16, "{request}: {ahead}");
        assert!(last.starts_with("HTTP/1.1 502 "), "{request}: {last}");
    }
}

#[test]
fn hints_stand_between_pipelined_answers() {
    let gateway = start(simple(&[hinting(1)]), parts(""));
    let last = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    for requests in [[GET, GET, last], [POST, GET, last], [POST, POST, last]] {
        let mut client = Client::asks(&gateway, &requests.concat());
        let mut said = String::new();
        client.0.read_to_string(&mut said).unwrap();
        let lines = said.lines().filter(|line| line.contains("HTTP/1.1 "));
        let lines: Vec<_> = lines.map(|line| line.trim_start_matches("ok")).collect();
        let both = ["HTTP/1.1 103 Early Hints", "HTTP/1.1 200 OK"];
        assert_eq!(lines, [both, both, both].concat(), "{requests:?}: {said}");
    }
    let plain = ask(gateway.address, GET);
    assert!(plain.starts_with(&HINTS[..26]), "{plain}");
}
