//! Names that were let through while connections to them stand, and what comes while some are.

use crate::support::{DEADLINE, Edge};
use http::Request;
use http_engine::Body;
use policy::{NameOverride, OverrideClients, OverrideEnd};
use std::io::{Read, Write};
use std::net::TcpStream;
use transport::clock;
use vocab::{Action, DomainName};

const RULES: &str = "||ads.example^\n||tracker.example.org^\n";

fn let_through(edge: &Edge, host: &str) {
    let host = Some(DomainName::parse(host).unwrap());
    let leave = NameOverride {
        action: Action::Pass,
        host,
        clients: OverrideClients::Everyone,
        until: OverrideEnd::Revoked,
    };
    edge.policy.load().set_override(leave, clock::now()).unwrap();
}

#[test]
fn over_http2_the_name_is_asked_for_on_a_new_connection() {
    let edge = Edge::start(RULES);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let answers = tokio::task::LocalSet::new().block_on(&runtime, async {
        let mut sender = edge.http2("x.tracker.example.org").await;
        let mut answers = Vec::new();
        let steps = [
            ("x.tracker.example.org", None),
            // A name that shares the connection's certificate keeps nobody from going on.
            ("y.tracker.example.org", Some("y.tracker.example.org")),
            ("x.tracker.example.org", None),
            ("x.tracker.example.org", Some("x.tracker.example.org")),
        ];
        for (host, allowed) in steps {
            if let Some(allowed) = allowed {
                let_through(&edge, allowed);
            }
            let request = Request::get(format!("https://{host}/a.js"));
            let request = request.body(Body::empty()).unwrap();
            let answer = tokio::time::timeout(DEADLINE, sender.send(request)).await.unwrap();
            let answer = answer.unwrap();
            let location =
                answer.headers().get("location").map(|it| it.to_str().unwrap().to_owned());
            answers.push((answer.status().as_u16(), location));
        }
        // Until it has heard that the connection takes no more, it is told the same.
        loop {
            let again = Request::get("https://x.tracker.example.org/a.js").body(Body::empty());
            let again = tokio::time::timeout(DEADLINE, sender.send(again.unwrap())).await.unwrap();
            let Ok(answer) = again else { break };
            assert_eq!(answer.status(), 307);
        }
        answers
    });
    let back = Some("https://x.tracker.example.org/a.js".to_owned());
    assert_eq!(answers, [(200, None), (421, None), (200, None), (307, back)]);
    edge.figure_at_least("tidegate_pixel_anew_total", 1);
}

#[test]
fn a_plain_connection_is_sent_back_once_and_over() {
    let edge = Edge::start(RULES);
    let mut stream = edge.connect();
    let ask = b"GET /x.gif HTTP/1.1\r\nHost: ads.example\r\nOrigin: https://news.example\r\n\r\n";
    let mut bytes = [0; 4096];
    stream.write_all(ask).unwrap();
    let count = stream.read(&mut bytes).unwrap();
    assert!(bytes[..count].starts_with(b"HTTP/1.1 200"));
    let_through(&edge, "ads.example");
    stream.write_all(ask).unwrap();
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    let rest = rest.to_lowercase();
    assert!(rest.starts_with("http/1.1 307"), "{rest}");
    for field in [
        "location: http://ads.example/x.gif\r\n",
        "connection: close\r\n",
        "cache-control: no-store\r\n",
        "access-control-allow-origin: https://news.example\r\n",
    ] {
        assert!(rest.contains(field), "{field:?} is missing: {rest}");
    }
}

#[test]
fn noise_and_slowness_while_something_is_let_through_hold_nobody_up() {
    let edge = Edge::start(RULES);
    let_through(&edge, "ads.example");
    let long = "a".repeat(63);
    let long = format!("{long}.{long}.{long}.{long}.{}", "b".repeat(44));
    let hello_of = |name: &str| {
        let name = name.as_bytes();
        let entry = [&[0][..], &(name.len() as u16).to_be_bytes(), name].concat();
        let list = [&(entry.len() as u16).to_be_bytes()[..], &entry].concat();
        let extension = [&[0, 0][..], &(list.len() as u16).to_be_bytes(), &list].concat();
        let body = [
            &[3, 3][..],
            &[7; 32],
            &[0, 0, 2, 0x13, 1, 1, 0],
            &(extension.len() as u16).to_be_bytes(),
            &extension,
        ]
        .concat();
        let message = [&[1, 0][..], &(body.len() as u16).to_be_bytes(), &body].concat();
        [&[0x16, 3, 1][..], &(message.len() as u16).to_be_bytes(), &message].concat()
    };
    let slow = hello_of("ads.example");
    let mut never = TcpStream::connect(edge.https).unwrap();
    never.write_all(&slow[..20]).unwrap();
    let mut silent = edge.connect();
    silent.write_all(b"GET /x.gif HT").unwrap();
    for bytes in [
        b"GET / HTTP/1.1\r\nHost: ads.example\r\n\r\n".to_vec(),
        vec![0x16, 3, 1, 0xff, 0xff, 1],
        hello_of(&long),
        hello_of("../../ads.example"),
        hello_of("ads.example\0.tracker.example.org"),
        hello_of("192.0.2.1"),
        hello_of(""),
    ] {
        let mut stream = TcpStream::connect(edge.https).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.write_all(&bytes).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert!(rest.len() < 64, "an alert at most");
    }
    let (well, answer) = edge.curl("https://tracker.example.org/x.js", &[]);
    assert!(well, "{answer}");
    // What came in pieces is answered as if nobody had looked at it.
    silent.write_all(b"TP/1.1\r\nHost: tracker.example.org\r\n\r\n").unwrap();
    let mut bytes = [0; 4096];
    let count = silent.read(&mut bytes).unwrap();
    assert!(bytes[..count].starts_with(b"HTTP/1.1 200"));
    let mut rest = Vec::new();
    never.set_read_timeout(Some(DEADLINE)).unwrap();
    let _ = never.read_to_end(&mut rest);
    edge.figure_at_least("tidegate_pixel_handshakes_failed_total{reason=\"slow\"}", 1);
    let carried = "tidegate_pixel_splices_total{outcome=\"carried\"}";
    assert_eq!(edge.figure(carried), 0);
}
