//! The pixel door over HTTPS, with curl as the client that trusts our CA.

use crate::support::{DEADLINE, Edge};
use http::Request;
use http_engine::Body;
use std::io::{Read, Write};
use std::net::TcpStream;
use vocab::{Action, Source};

const RULES: &str = "||ads.example.com^\n||tracker.example.org^\n@@||good.ads.example.com^\n";

#[test]
fn first_contact_succeeds_over_http2_and_over_http1() {
    let edge = Edge::start(RULES);
    for (version, line) in [("--http2", "HTTP/2 200"), ("--http1.1", "HTTP/1.1 200")] {
        for host in ["ads.example.com", "x.ads.example.com", "tracker.example.org"] {
            let (well, answer) = edge.curl(&format!("https://{host}/x.js"), &[version]);
            assert!(well && answer.starts_with(line), "{host}: {answer}");
            assert!(answer.contains("content-length: 0") || version == "--http1.1", "{answer}");
        }
    }
    let (_, answer) = edge.curl("https://ads.example.com/x.gif", &["--http2", "-I"]);
    assert!(answer.contains("content-length: 43"), "HEAD has the length of GET: {answer}");
    let row = edge.rows_at_least(7).remove(0);
    assert_eq!(
        (row.subject.as_str(), row.action),
        ("https://ads.example.com/x.gif", Action::Block)
    );
}

#[test]
fn a_post_over_http2_is_taken() {
    let edge = Edge::start(RULES);
    let (well, answer) =
        edge.curl("https://ads.example.com/b", &["--http2", "-d", &"x".repeat(30_000)]);
    assert!(well && answer.starts_with("HTTP/2 204"), "{answer}");
}

#[test]
fn a_body_over_the_cap_does_not_cost_an_http2_client_its_answer() {
    let edge = Edge::start(RULES);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let status = tokio::task::LocalSet::new().block_on(&runtime, async {
        let mut sender = edge.http2("ads.example.com").await;
        let request = Request::post("https://ads.example.com/b");
        let request = request.body(Body::full(vec![b'x'; 4 << 20])).unwrap();
        let answer = tokio::time::timeout(DEADLINE, sender.send(request)).await.unwrap();
        answer.unwrap().status()
    });
    assert_eq!(status, 204);
}

#[test]
fn a_connection_answers_only_for_the_names_of_its_certificate() {
    let edge = Edge::start(RULES);
    let url = "https://x.tracker.example.org/a.js";
    for (host, status) in [
        ("x.tracker.example.org", "200"),
        // One label below a domain that is blocked as a whole: the certificate covers it.
        ("y.tracker.example.org", "200"),
        ("tracker.example.org", "200"),
        ("ads.example.com", "421"),
        ("www.example.net", "421"),
        ("a.b.tracker.example.org", "421"),
    ] {
        let (well, answer) = edge.curl(url, &["--http1.1", "-H", &format!("Host: {host}")]);
        assert!(well && answer.starts_with(&format!("HTTP/1.1 {status}")), "{host}: {answer}");
    }
}

#[test]
fn one_http2_connection_serves_every_name_of_its_certificate_and_no_other() {
    let edge = Edge::start(RULES);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let answers = tokio::task::LocalSet::new().block_on(&runtime, async {
        let mut sender = edge.http2("x.tracker.example.org").await;
        let mut answers = Vec::new();
        for host in [
            "x.tracker.example.org",
            "y.tracker.example.org",
            "tracker.example.org",
            "a.b.tracker.example.org",
            "ads.example.com",
            "www.example.net",
            // The connection goes on after a refusal.
            "x.tracker.example.org",
        ] {
            let request = Request::get(format!("https://{host}/a.js"));
            let request = request.body(Body::empty()).unwrap();
            let answer = tokio::time::timeout(DEADLINE, sender.send(request)).await.unwrap();
            let answer = answer.unwrap();
            let forget = answer.headers().get("alt-svc").is_some_and(|it| it == "clear");
            answers.push((answer.status().as_u16(), forget));
        }
        answers
    });
    let statuses: Vec<u16> = answers.iter().map(|(status, _)| *status).collect();
    assert_eq!(statuses, [200, 200, 200, 421, 421, 421, 200]);
    assert!(answers.iter().all(|(_, forget)| *forget), "over TLS all have HTTP/3 forgotten");
    let covered = "tidegate_pixel_pages_total{page=\"not_covered\"}";
    assert_eq!(edge.figure(covered), 3);
}

#[test]
fn handshakes_and_connections_are_counted() {
    let edge = Edge::start(RULES);
    edge.curl("https://ads.example.com/x.js", &["--http1.1"]);
    edge.curl("https://ads.example.com/x.js", &["--http2"]);
    edge.curl("https://ads.example.com/", &["--cacert", "/etc/ssl/certs/ca-certificates.crt"]);
    edge.curl("https://bank.example/", &[]);
    let failed = |reason| format!("tidegate_pixel_handshakes_failed_total{{reason=\"{reason}\"}}");
    edge.figure_at_least(&failed("name_not_blocked"), 1);
    edge.figure_at_least(&failed("unknown_ca"), 1);
    edge.figure_at_least("tidegate_pixel_handshakes_total{version=\"1.3\"}", 2);
    edge.figure_at_least("tidegate_pixel_connections_total{scheme=\"https\"}", 2);
    edge.figure_at_least("tidegate_pixel_requests_over_total{scheme=\"https\"}", 2);
    assert_eq!(edge.figure("tidegate_pixel_quick_total"), 1, "HTTP/2 has no fast path");
}

#[test]
fn a_refused_handshake_is_recorded_with_its_name() {
    let edge = Edge::start(RULES);
    let (well, _) = edge.curl("https://bank.example/", &[]);
    assert!(!well, "no certificate is made for a name that is not blocked");
    let row = edge.rows_at_least(1).remove(0);
    assert_eq!((row.subject.as_str(), row.status), ("bank.example", 421));
    assert_eq!((row.source, row.action), (Source::Refused, Action::Pass));
}

#[test]
fn a_client_that_does_not_trust_us_is_recorded() {
    let edge = Edge::start(RULES);
    let (well, _) =
        edge.curl("https://ads.example.com/", &["--cacert", "/etc/ssl/certs/ca-certificates.crt"]);
    assert!(!well);
    assert_eq!(edge.rows_at_least(1).remove(0).status, 495);
}

#[test]
fn noise_at_the_tls_port_holds_nobody_up() {
    let edge = Edge::start(RULES);
    for bytes in
        [&b"GET / HTTP/1.1\r\nHost: ads.example.com\r\n\r\n"[..], &[0x16, 3, 1, 0xff, 0xff, 1]]
    {
        let mut stream = TcpStream::connect(edge.https).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.write_all(bytes).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert!(rest.len() < 64, "an alert at most");
    }
    let mut never = TcpStream::connect(edge.https).unwrap();
    never.write_all(&[0x16, 3, 1, 2, 0, 1]).unwrap();
    let (well, answer) = edge.curl("https://ads.example.com/x.js", &[]);
    assert!(well, "{answer}");
    assert!(edge.rows().iter().any(|row| row.status == 400 && row.source == Source::Refused));
}
