//! Null answers over HTTP: to each kind of request the type it can digest.

use crate::support::{Answer, CLIENT, Edge, policy_of};
use std::io::Write;
use vocab::{Action, RequestKind, Source};

const RULES: &str = "||ads.example^\n||tracker.example^$script\n@@||ads.example/ok.js\n";

/// Request, fields, status, type, body.
pub(crate) type Case = (
    &'static str,
    &'static [(&'static str, &'static str)],
    u16,
    &'static str,
    Option<&'static str>,
);

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";
const XML: &str = "application/xml; charset=utf-8";
const GIF: &str = "image/gif";
const JSON: &str = "application/json";
const VAST3: &str = "<?xml version=\"1.0\"?><VAST version=\"3.0\"/>";

/// Every kind of request, with metadata as over HTTPS and without as over HTTP.
pub(crate) const TABLE: &[Case] = &[
    ("GET /a", &[("Sec-Fetch-Dest", "document"), ("Sec-Fetch-Mode", "navigate")], 403, HTML, None),
    ("GET /a", &[("Accept", "text/html,*/*;q=0.8")], 403, HTML, None),
    (
        "GET /a",
        &[("Accept", "text/html,*/*;q=0.8"), ("Referer", "http://news.example/")],
        200,
        HTML,
        Some("<!doctype html><title></title>"),
    ),
    ("GET /a", &[("Sec-Fetch-Dest", "iframe")], 200, HTML, Some("<!doctype html><title></title>")),
    ("GET /a", &[("Sec-Fetch-Dest", "object")], 200, HTML, None),
    ("GET /a.gif", &[("Sec-Fetch-Dest", "script")], 200, SCRIPT, Some("")),
    ("GET /a.js?v=2", &[("Accept", "*/*")], 200, SCRIPT, Some("")),
    (
        "GET /j?callback=jQuery1_2",
        &[("Sec-Fetch-Dest", "script")],
        200,
        SCRIPT,
        Some("/**/try{jQuery1_2({})}catch(e){}"),
    ),
    ("GET /j?callback=alert(1)", &[("Sec-Fetch-Dest", "script")], 200, SCRIPT, Some("")),
    ("GET /a", &[("Sec-Fetch-Dest", "style")], 200, STYLE, Some("")),
    ("GET /a", &[("Accept", "text/css,*/*;q=0.1")], 200, STYLE, Some("")),
    ("GET /a.jpg", &[("Sec-Fetch-Dest", "image")], 200, GIF, None),
    ("GET /a", &[("Accept", "image/avif,image/webp,*/*;q=0.8")], 200, GIF, None),
    (
        "GET /a",
        &[("Accept", "image/svg+xml,image/*;q=0.8"), ("Sec-Fetch-Dest", "image")],
        200,
        GIF,
        None,
    ),
    ("GET /a.PNG?x", &[("Sec-Fetch-Dest", "image")], 200, "image/png", None),
    ("GET /a.png", &[], 200, "image/png", None),
    ("GET /a.ico", &[], 200, "image/x-icon", None),
    ("GET /favicon.ico", &[], 200, "image/x-icon", None),
    ("GET /a.svg", &[("Sec-Fetch-Dest", "image")], 200, "image/svg+xml", None),
    ("GET /a.woff2", &[("Sec-Fetch-Dest", "font")], 200, "font/woff2", None),
    ("GET /a.ttf", &[], 200, "font/woff2", None),
    ("GET /a.mp3", &[("Sec-Fetch-Dest", "audio")], 200, "audio/mpeg", None),
    ("GET /a", &[("Accept", "audio/webm,audio/*;q=0.9")], 200, "audio/mpeg", None),
    ("GET /a", &[("Sec-Fetch-Dest", "video")], 200, "video/mp4", None),
    ("GET /a.webm", &[], 200, "video/mp4", None),
    (
        "GET /a.vtt",
        &[("Sec-Fetch-Dest", "track")],
        200,
        "text/vtt; charset=utf-8",
        Some("WEBVTT\n"),
    ),
    ("GET /a.m3u8", &[("Sec-Fetch-Dest", "empty")], 200, "application/vnd.apple.mpegurl", None),
    (
        "GET /a",
        &[("Sec-Fetch-Dest", "empty"), ("Accept", "application/json, text/plain, */*")],
        200,
        JSON,
        Some("{}"),
    ),
    ("GET /a.json", &[("Accept", "*/*")], 200, "application/json", Some("{}")),
    (
        "PUT /a.json",
        &[("Sec-Fetch-Dest", "empty"), ("Sec-Fetch-Mode", "cors")],
        200,
        JSON,
        Some("{}"),
    ),
    (
        "GET /a",
        &[("Sec-Fetch-Dest", "empty"), ("Accept", "application/vnd.api+json")],
        200,
        JSON,
        Some("{}"),
    ),
    (
        "GET /j?jsonp=on.load",
        &[("Sec-Fetch-Dest", "empty")],
        200,
        SCRIPT,
        Some("/**/try{on.load({})}catch(e){}"),
    ),
    (
        "GET /sw.js",
        &[("Service-Worker", "script"), ("Sec-Fetch-Dest", "serviceworker")],
        200,
        SCRIPT,
        Some(
            "addEventListener('install',()=>skipWaiting());\
             addEventListener('activate',()=>registration.unregister());",
        ),
    ),
    ("GET /w.js", &[("Sec-Fetch-Dest", "worker")], 200, SCRIPT, Some("")),
    ("GET /feed.xml", &[("Sec-Fetch-Dest", "empty")], 200, XML, Some(VAST3)),
    (
        "GET /ads?output=xml_vast2",
        &[("Sec-Fetch-Dest", "empty")],
        200,
        XML,
        Some("<?xml version=\"1.0\"?><VAST version=\"2.0\"/>"),
    ),
    (
        "GET /ads?output=xml_vast4",
        &[],
        200,
        XML,
        Some("<?xml version=\"1.0\"?><VAST version=\"4.2\" xmlns=\"http://www.iab.com/VAST\"/>"),
    ),
    ("GET /ads?output=vmap", &[("Sec-Fetch-Dest", "empty")], 200, XML, None),
    ("GET /ads/vast.xml", &[("Sec-Fetch-Dest", "empty")], 200, XML, Some(VAST3)),
    ("GET /gampad/VMAP?x=1", &[("Sec-Fetch-Dest", "empty")], 200, XML, None),
    ("GET /a?x=1", &[("Sec-Fetch-Dest", "empty"), ("Accept", "*/*")], 200, TEXT, Some("")),
    ("GET /a", &[], 200, TEXT, Some("")),
    ("GET /a", &[("Accept", "text/event-stream")], 204, "", Some("")),
    ("POST /b", &[("Sec-Fetch-Dest", "empty"), ("Sec-Fetch-Mode", "no-cors")], 204, "", Some("")),
    ("POST /b", &[("Content-Type", "application/csp-report")], 204, "", Some("")),
    ("POST /b", &[("Content-Type", "text/ping")], 204, "", Some("")),
    ("POST /b", &[], 204, "", Some("")),
    ("POST /b.gif", &[("Sec-Fetch-Dest", "image")], 204, "", Some("")),
    ("DELETE /b", &[], 204, "", Some("")),
    ("GET /generate_204", &[], 204, "", Some("")),
    ("GET /gen_204?x", &[("Accept", "image/*")], 204, "", Some("")),
    ("GET /s", &[("Upgrade", "websocket"), ("Connection", "Upgrade")], 403, "", Some("")),
    ("TRACE /", &[], 405, "", Some("")),
];

#[test]
fn every_kind_of_request_gets_an_answer_of_its_type() {
    let edge = Edge::start(RULES);
    for (request, fields, status, media, body) in TABLE {
        let answer = edge.ask(request, fields);
        let case = format!("{request} {fields:?}: {answer:?}");
        assert_eq!((answer.status, answer.field("content-type")), (*status, *media), "{case}");
        if let Some(body) = body {
            assert_eq!(answer.text(), *body, "{case}");
        }
        if *status != 204 {
            assert_eq!(answer.field("content-length"), answer.body.len().to_string(), "{case}");
        }
        for lasting in ["strict-transport-security", "set-cookie", "nel", "clear-site-data"] {
            assert_eq!(answer.field(lasting), "", "{case}");
        }
        assert_eq!(answer.field("alt-svc"), "", "HTTP/3 is promised over TLS only: {case}");
        assert_ne!(answer.field("date"), "", "{case}");
    }
    assert_eq!(edge.rows_at_least(TABLE.len()).len(), TABLE.len(), "each is one event");
}

#[test]
fn any_page_may_read_and_embed_a_null_answer_for_a_minute() {
    let edge = Edge::start(RULES);
    for origin in ["https://news.example", "null"] {
        let answer = edge.ask("GET /x.js", &[("Origin", origin)]);
        assert_eq!(answer.field("access-control-allow-origin"), origin);
        assert_eq!(answer.field("access-control-allow-credentials"), "true");
    }
    let answer = edge.ask("GET /x.js", &[]);
    assert_eq!(answer.field("access-control-allow-origin"), "");
    assert_eq!(answer.field("vary"), "Origin, Accept, Sec-Fetch-Dest");
    assert_eq!(answer.field("cross-origin-resource-policy"), "cross-origin");
    assert_eq!(answer.field("timing-allow-origin"), "*");
    assert_eq!(answer.field("x-content-type-options"), "nosniff");
    assert_eq!(answer.field("cache-control"), "max-age=60");
    // What it is for is not known, so no browser is told to insist on the type.
    assert_eq!(edge.ask("GET /x", &[]).field("x-content-type-options"), "");
    let frame = edge.ask("GET /x", &[("Sec-Fetch-Dest", "iframe")]);
    assert_eq!(frame.field("content-security-policy"), "default-src 'none'");
    assert_eq!(frame.field("x-frame-options"), "");
}

#[test]
fn a_rule_may_name_the_stand_in() {
    let edge = Edge::start(
        "||ads.example^\n||ads.example/m.js$script,redirect=google-analytics_analytics.js\n\
         ||ads.example/n.js$script,redirect=noop.json\n||ads.example/o.js$script,redirect=what\n\
         ||ads.example/film$redirect=click2load.html\n",
    );
    // Both lanes: a field that stands twice takes a request out of the quick one.
    for more in [&[][..], &[("Accept", "*/*"), ("Accept", "text/*")][..]] {
        let body = |path| String::from_utf8(edge.ask(path, more).body).unwrap();
        assert!(body("GET /m.js").contains("hitCallback"));
        assert_eq!(body("GET /n.js"), "{}");
        assert_eq!(body("GET /o.js"), "");
        assert_eq!(body("GET /p.js"), "");
        assert!(body("GET /film").contains("target=\"_blank\""));
    }
    // A person who follows that link sees the page that says why.
    let person = [("Sec-Fetch-Dest", "document"), ("Sec-Fetch-Mode", "navigate")];
    assert_eq!(edge.ask("GET /film", &person).status, 403);
}

#[test]
fn a_preflight_is_granted_what_it_asks_for() {
    let edge = Edge::start(RULES);
    let answer = edge.ask(
        "OPTIONS /collect",
        &[
            ("Origin", "https://news.example"),
            ("Access-Control-Request-Method", "PUT"),
            ("Access-Control-Request-Headers", "x-id, content-type"),
            ("Access-Control-Request-Private-Network", "true"),
        ],
    );
    assert_eq!(answer.status, 204);
    for (field, value) in [
        ("access-control-allow-origin", "https://news.example"),
        ("access-control-allow-credentials", "true"),
        ("access-control-allow-methods", "PUT"),
        ("access-control-allow-headers", "x-id, content-type"),
        ("access-control-max-age", "7200"),
        ("access-control-allow-private-network", "true"),
    ] {
        assert_eq!(answer.field(field), value, "{field}");
    }
    let plain = edge.ask("OPTIONS /", &[]);
    assert_eq!((plain.status, plain.field("access-control-allow-private-network")), (204, ""));
    assert!(plain.field("allow").contains("GET"));
}

#[test]
fn head_gets_the_fields_of_get_and_no_body() {
    let edge = Edge::start(RULES);
    for path in ["/a.gif", "/a.js", "/a.mp3", "/a?callback=f", "/generate_204", "/analytics"] {
        let (get, head) =
            (edge.ask(&format!("GET {path}"), &[]), edge.ask(&format!("HEAD {path}"), &[]));
        assert!(head.body.is_empty());
        let without_date = |answer: &Answer| {
            let mut fields = answer.fields.clone();
            fields.remove("date");
            (answer.status, fields)
        };
        assert_eq!(without_date(&get), without_date(&head), "{path}");
    }
}

#[test]
fn media_are_sent_in_parts() {
    let edge = Edge::start(RULES);
    let whole = edge.ask("GET /a.mp3", &[]);
    assert_eq!((whole.field("accept-ranges"), whole.body.len()), ("bytes", 416));
    let part = edge.ask("GET /a.mp3", &[("Range", "bytes=0-1")]);
    assert_eq!((part.status, part.field("content-range")), (206, "bytes 0-1/416"));
    assert_eq!(part.body, [0xff, 0xfb]);
    let outside = edge.ask("GET /a.mp3", &[("Range", "bytes=416-")]);
    assert_eq!((outside.status, outside.field("content-range")), (416, "bytes */416"));
    let film = edge.ask("GET /a.mp4", &[("Range", "bytes=4-7")]);
    assert_eq!((film.status, film.text().as_str()), (206, "ftyp"));
}

#[test]
fn bodies_are_taken_up_to_a_cap_and_the_connection_goes_on() {
    let edge = Edge::start(RULES);
    let mut stream = edge.connect();
    for _ in 0..2 {
        let body = "x".repeat(1_000_000);
        let head = format!(
            "POST /b HTTP/1.1\r\nHost: ads.example\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        let answer = Answer::read(&mut stream);
        assert_eq!((answer.status, answer.field("connection")), (204, ""));
    }
    let head = "POST /b HTTP/1.1\r\nHost: ads.example\r\nContent-Length: 9999999\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let answer = Answer::read(&mut stream);
    assert_eq!((answer.status, answer.field("connection")), (204, "close"));
}

#[test]
fn several_requests_in_one_packet_are_all_answered() {
    let edge = Edge::start(RULES);
    let mut stream = edge.connect();
    let one = "GET /a.js HTTP/1.1\r\nHost: ads.example\r\n\r\n";
    stream.write_all(one.repeat(3).as_bytes()).unwrap();
    let mut seen = Vec::new();
    let mut buffer = [0; 8192];
    while seen.windows(12).filter(|it| it == b"HTTP/1.1 200").count() < 3 {
        let count = std::io::Read::read(&mut stream, &mut buffer).unwrap();
        assert_ne!(count, 0, "cut off");
        seen.extend_from_slice(&buffer[..count]);
    }
}

#[test]
fn each_request_is_recorded_with_the_rule_that_blocks_it() {
    let edge = Edge::start(RULES);
    edge.ask("GET /x.js?a=1", &[]);
    let row = edge.rows_at_least(1).remove(0);
    assert_eq!(row.subject, "http://ads.example/x.js?a=1");
    assert_eq!((row.client, row.kind, row.action), (CLIENT, RequestKind::Script, Action::Block));
    assert_eq!((row.source, row.status), (Source::Policy, 200));
    let text = format!("{:?}", row.cause);
    assert!(text.contains("||ads.example^") && text.contains("mine"), "{text}");
}

#[test]
fn a_url_that_a_rule_excepts_on_a_blocked_host_is_answered_all_the_same() {
    let edge = Edge::start(RULES);
    let answer = edge.ask("GET /ok.js", &[]);
    assert_eq!((answer.status, answer.field("content-type")), (200, SCRIPT));
}

#[test]
fn a_page_that_embeds_what_was_blocked_a_moment_ago_goes_on() {
    let edge = Edge::start(RULES);
    let answer = edge.ask_host("metrics.news.example", "GET /collect.js", &[]);
    assert_eq!((answer.status, answer.field("content-type")), (200, SCRIPT));
    assert_eq!(answer.field("cache-control"), "no-store", "the name itself is not blocked");
    let row = edge.rows_at_least(1).remove(0);
    assert_eq!((row.action, row.source), (Action::Pass, Source::Local));
}

#[test]
fn a_new_policy_counts_from_the_next_request_on() {
    let edge = Edge::start(RULES);
    let mut stream = edge.connect();
    let ask = b"GET / HTTP/1.1\r\nHost: ads.example\r\nAccept: text/html\r\n\r\n";
    stream.write_all(ask).unwrap();
    assert_eq!(Answer::read(&mut stream).status, 403);
    edge.policy.store(std::sync::Arc::new(policy_of("||tracker.example^\n")));
    stream.write_all(ask).unwrap();
    assert_eq!(Answer::read(&mut stream).status, 421);
}
