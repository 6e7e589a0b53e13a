//! What stands before a route, on real sockets: who is turned away, how, and that no server sees
//! it.

use crate::support;

use door_gateway::{
    AnswerSettings, AuthSettings, BlockRedirect, BlockSettings, ForwardAuthSettings, GuardCounts,
    LimitSettings, PatternSource, RequestsSettings, RouteSettings, Settings, SilentClose,
};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::{DEADLINE, Origin, Reply, ask, ok, read_message};
use support::{Gateway, closed_port, get, parts, simple, start};

fn block(patterns: &[&str]) -> BlockSettings {
    let patterns = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
    BlockSettings { patterns: PatternSource::Inline(patterns), ..Default::default() }
}

/// One pool behind one route that is changed so.
fn guarded(server: SocketAddr, change: impl FnOnce(&mut RouteSettings)) -> Settings {
    let mut settings = simple(&[server]);
    change(&mut settings.routes[0]);
    settings
}

fn ask_with(gateway: &Gateway, path: &str, fields: &str) -> String {
    ask(gateway.address, &format!("GET {path} HTTP/1.1\r\nHost: app.example\r\n{fields}\r\n"))
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or("none")
}

#[test]
fn blocked_urls_get_the_answer_that_is_set_and_reach_no_server() {
    let server = Origin::start(|_, _, _| ok("x"));
    let answers = [
        (AnswerSettings::Status(403), "HTTP/1.1 403"),
        (AnswerSettings::Status(404), "HTTP/1.1 404"),
        (AnswerSettings::Status(410), "HTTP/1.1 410"),
        (AnswerSettings::Elsewhere(BlockRedirect { redirect: "/gone".into() }), "HTTP/1.1 302"),
        (AnswerSettings::Silence(SilentClose::Close), ""),
    ];
    for (answer, expected) in answers {
        let mut settings = simple(&[server.address]);
        let block = block(&["~/wp-[a-z]+\\.php", "/.env"]);
        settings.block = Some(BlockSettings { answer: answer.clone(), ..block });
        let gateway = start(settings, parts(""));
        for path in ["/.env", "/%2Eenv", "/wp-login.php?x"] {
            let got = get(&gateway, path);
            assert!(got.starts_with(expected), "{answer:?} {path}: {got}");
            assert_eq!(got.is_empty(), expected.is_empty(), "{answer:?} {path}: {got}");
        }
        let hits: Vec<_> = gateway.door.pattern_hits();
        assert_eq!(hits.iter().map(|it| (it.line, it.hits)).collect::<Vec<_>>(), [(1, 1), (2, 2)]);
        assert_eq!(hits[0].list, "the gateway's block");
        assert_eq!(server.connections(), 0, "nothing reaches a server");
    }
}

#[test]
fn a_pattern_for_the_end_is_not_evaded_by_what_servers_pass_over() {
    let server = Origin::start(|_, _, _| ok("x"));
    let settings = guarded(server.address, |route| route.block = Some(block(&[".bak|"])));
    let gateway = start(settings, parts(""));
    for end in ["", "?", "?x", "/", "/?x", "//", "%20", "%20/", ".", "./.", ";v=1", ";v=1/", "/;v"]
    {
        let answer = get(&gateway, &format!("/x/a.bak{end}"));
        assert_eq!(status(&answer), "403", "{end}: {answer}");
    }
    assert_eq!(server.connections(), 0);
    assert_eq!(status(&get(&gateway, "/x/a.bak.html")), "200");
}

#[test]
fn a_tarpit_begins_an_answer_and_does_not_end_it() {
    let server = Origin::start(|_, _, _| ok("x"));
    let tarpit = AnswerSettings::Silence(SilentClose::Tarpit);
    let settings = guarded(server.address, |route| {
        route.block = Some(BlockSettings { answer: tarpit, ..block(&["/.env"]) });
    });
    let gateway = start(settings, parts(""));
    let mut stream = TcpStream::connect(gateway.address).unwrap();
    stream.write_all(b"GET /.env HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let begun = std::time::Instant::now();
    let mut byte = [0; 1];
    stream.read_exact(&mut byte).unwrap();
    assert_eq!(byte, *b"H");
    assert!(begun.elapsed() < DEADLINE);
    drop(stream);
    assert!(get(&gateway, "/").ends_with('x'), "others are served");
    assert_eq!(server.connections(), 1);
}

#[test]
fn lists_in_the_syntaxes_of_the_policy_block_too() {
    let server = Origin::start(|_, _, _| ok("x"));
    let parts = parts("");
    let easy = "! Title: mine\n||app.example/ads/\n/banner/*/img^\n@@/ads/good\n";
    std::fs::write(parts.base.join("easy.txt"), easy).unwrap();
    let squid = "^https?://[^/]*/cgi-bin/.*\\.sh$\n[0-9]+\\.exe$\n";
    std::fs::write(parts.base.join("squid.txt"), squid).unwrap();
    let settings = guarded(server.address, |route| {
        let lists = vec!["easy.txt".into(), "squid.txt".into()];
        route.block = Some(BlockSettings { lists, ..Default::default() });
    });
    let gateway = start(settings, parts);
    for (path, expected) in [
        ("/ads/x", "403"),
        ("/%61ds/x", "403"),
        ("/ads/good", "200"),
        ("/banner/1/img?x", "403"),
        ("/cgi-bin/a.sh", "403"),
        ("/", "200"),
    ] {
        assert_eq!(status(&get(&gateway, path)), expected, "{path}");
    }
    let told = get(&gateway, "/ads/y");
    assert!(told.contains("Blocked by line 2 of easy.txt: ||app.example/ads/"), "{told}");
    let hits = gateway.door.pattern_hits();
    let count = |line| hits.iter().find(|it| it.list == "easy.txt" && it.line == line);
    assert_eq!(count(2).map(|it| it.hits), Some(3));
    assert_eq!(server.seen().len(), 2);
}

#[test]
fn log_only_counts_and_lets_pass() {
    let server = Origin::start(|_, _, _| ok("x"));
    let settings = guarded(server.address, |route| {
        route.block = Some(BlockSettings { log_only: true, ..block(&["/.env"]) });
        route.limit = Some(limit("1/h", "client", true));
    });
    let gateway = start(settings, parts(""));
    for _ in 0..3 {
        let answer = get(&gateway, "/.env");
        assert_eq!(status(&answer), "200");
        assert!(!answer.to_lowercase().contains("ratelimit"), "{answer}");
    }
    assert_eq!(gateway.door.pattern_hits()[0].hits, 3);
    assert_eq!(gateway.door.guard_counts(), GuardCounts { limited: 0, log_only_matches: 4 });
}

#[test]
fn a_changed_file_of_patterns_counts_after_a_reload() {
    let server = Origin::start(|_, _, _| ok("x"));
    let parts = parts("");
    let file = parts.base.join("attacks.txt");
    std::fs::write(&file, "/one\n").unwrap();
    let settings = guarded(server.address, |route| {
        let patterns = PatternSource::File("attacks.txt".into());
        route.block = Some(BlockSettings { patterns, ..Default::default() });
    });
    let gateway = start(settings.clone(), parts);
    assert_eq!((status(&get(&gateway, "/one")), status(&get(&gateway, "/two"))), ("403", "200"));
    std::fs::write(&file, "~(\n").unwrap();
    let complaints = gateway.door.reload(settings.clone()).unwrap_err();
    let named = complaints[0].message.starts_with("attacks.txt, line 1: this expression ");
    assert!(named, "{}", complaints[0]);
    assert_eq!(status(&get(&gateway, "/one")), "403", "a bad file changes nothing");
    std::fs::write(&file, "/two\n").unwrap();
    gateway.door.reload(settings).unwrap();
    assert_eq!((status(&get(&gateway, "/one")), status(&get(&gateway, "/two"))), ("200", "403"));
}

fn limit(rate: &str, key: &str, log_only: bool) -> LimitSettings {
    LimitSettings { rate: rate.into(), burst: Some(2), key: key.into(), log_only, shared: None }
}

#[test]
fn a_limit_refuses_with_429_and_a_reload_forgives_nothing() {
    let server = Origin::start(|_, _, _| ok("x"));
    let settings =
        guarded(server.address, |route| route.limit = Some(limit("2/h", "header:x-key", false)));
    let gateway = start(settings.clone(), parts(""));
    let ask = |key: &str| ask_with(&gateway, "/", &format!("X-Key: {key}\r\n")).to_lowercase();
    let first = ask("a");
    assert!(first.contains("ratelimit-policy: \"header\";q=2;w=3600\r\n"), "{first}");
    assert!(first.contains("ratelimit: \"header\";r=1;t=1800\r\n"), "{first}");
    assert_eq!(status(&ask("a")), "200");
    let third = ask("a");
    assert_eq!(status(&third), "429");
    assert!(third.contains("retry-after: ") && third.contains("r=0;t="), "{third}");
    assert_eq!(status(&ask("b")), "200", "another key has a bucket of its own");
    gateway.door.reload(settings).unwrap();
    assert_eq!(status(&ask("a")), "429");
    assert_eq!(server.seen().len(), 3);
}

#[test]
fn requests_at_once_are_limited_until_the_last_byte_of_an_answer() {
    let (go, gone) = mpsc::channel::<()>();
    let gone = Mutex::new(gone);
    let server = Origin::start(move |_, _, request| {
        if request.starts_with("GET /slow") {
            gone.lock().unwrap().recv_timeout(DEADLINE).unwrap();
        }
        ok("x")
    });
    let settings = guarded(server.address, |route| {
        route.requests = Some(RequestsSettings { max: 1, key: "route".into() });
    });
    let gateway = Arc::new(start(settings, parts("")));
    let slow = Arc::clone(&gateway);
    let slow = std::thread::spawn(move || get(&slow, "/slow"));
    let deadline = std::time::Instant::now() + DEADLINE;
    while server.seen().is_empty() {
        assert!(std::time::Instant::now() < deadline, "the slow request never came");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(status(&get(&gateway, "/")), "503");
    go.send(()).unwrap();
    assert_eq!(status(&slow.join().unwrap()), "200");
    // The place is given back when the answer is over here, a moment after it is there.
    while status(&get(&gateway, "/")) == "503" {
        assert!(std::time::Instant::now() < deadline, "the place was never given back");
    }
}

#[test]
fn a_password_is_asked_for_and_checked() {
    let server = Origin::start(|_, _, _| ok("x"));
    let parts = parts("");
    // bcrypt of "secret", cost 4.
    let hash = "$2y$04$iwNqjtuDwvlXg9Jz2OcW0e6W9k/hIy9YvmVpGa0zqhj/GHIFPPLsq";
    std::fs::write(parts.base.join("users"), format!("ann:{hash}\n")).unwrap();
    let settings = guarded(server.address, |route| {
        route.auth = Some(AuthSettings {
            file: Some("users".into()),
            realm: "Inside".into(),
            ..Default::default()
        });
    });
    let gateway = start(settings, parts);
    let asked = get(&gateway, "/");
    assert_eq!(status(&asked), "401");
    assert!(asked.to_lowercase().contains("www-authenticate: basic realm=\"inside\""), "{asked}");
    let wrong = ask_with(&gateway, "/", "Authorization: Basic YW5uOndyb25n\r\n");
    assert_eq!(status(&wrong), "401");
    assert_eq!(server.connections(), 0);
    let right = ask_with(&gateway, "/", "Authorization: Basic YW5uOnNlY3JldA==\r\n");
    assert_eq!(status(&right), "200", "{right}");
}

fn authority(address: SocketAddr) -> ForwardAuthSettings {
    let text =
        format!(r#"{{ "url": "http://{address}/verify?x=1", "copy_headers": ["Remote-User"] }}"#);
    serde_json::from_str(&text).unwrap()
}

#[test]
fn an_authority_lets_in_and_says_who_it_is() {
    let judge = Origin::start(|_, _, request| {
        let head = if request.contains("sid=good") {
            "200 OK\r\nRemote-User: ann"
        } else if request.contains("sid=broken") {
            "500 Oh"
        } else if request.contains("sid=banned") {
            return Reply::Keep("HTTP/1.1 403 No\r\nContent-Length: 6\r\n\r\nbanned".into());
        } else {
            "302 Found\r\nLocation: https://login.example/"
        };
        Reply::Keep(format!("HTTP/1.1 {head}\r\nContent-Length: 0\r\n\r\n"))
    });
    let server = Origin::start(|_, _, _| ok("x"));
    let settings = guarded(server.address, |route| {
        route.forward_auth = Some(authority(judge.address));
    });
    let gateway = start(settings, parts(""));
    let stranger = get(&gateway, "/a?b");
    assert_eq!(status(&stranger), "302");
    assert!(stranger.to_lowercase().contains("location: https://login.example/"), "{stranger}");
    assert_eq!(status(&ask_with(&gateway, "/", "Cookie: sid=broken\r\n")), "503");
    let banned = ask_with(&gateway, "/", "Cookie: sid=banned\r\nAccept: text/html\r\n");
    assert_eq!(status(&banned), "403");
    assert!(banned.ends_with("\r\n\r\nbanned"), "its words are not ours to dress: {banned}");
    assert_eq!(server.connections(), 0);

    let forged = "Cookie: sid=good\r\nRemote-User: root\r\n";
    assert_eq!(status(&ask_with(&gateway, "/", forged)), "200");
    let seen = server.seen()[0].to_lowercase();
    assert!(seen.contains("remote-user: ann\r\n") && !seen.contains("root"), "{seen}");
    let hidden = "Cookie: sid=good\r\nConnection: close, Remote-User\r\n";
    assert_eq!(status(&ask_with(&gateway, "/", hidden)), "400");

    let asked = judge.seen()[0].to_lowercase();
    assert!(asked.starts_with("get /verify?x=1 http/1.1\r\n"), "{asked}");
    for field in [
        "x-forwarded-method: get\r\n",
        "x-forwarded-uri: /a?b\r\n",
        "x-forwarded-host: app.example\r\n",
        "x-forwarded-for: 127.0.0.1\r\n",
        &format!("host: {}\r\n", judge.address),
    ] {
        assert!(asked.contains(field), "{field} {asked}");
    }
}

#[test]
fn an_authority_that_is_away_lets_nobody_in() {
    let server = Origin::start(|_, _, _| ok("x"));
    let settings = guarded(server.address, |route| {
        route.forward_auth = Some(authority(closed_port()));
    });
    let gateway = start(settings, parts(""));
    let answer = get(&gateway, "/");
    assert_eq!(status(&answer), "503");
    assert_eq!(server.connections(), 0);
    let mut post = TcpStream::connect(gateway.address).unwrap();
    post.write_all(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi").unwrap();
    assert_eq!(status(&read_message(&mut post).unwrap()), "503");
}

#[test]
fn wrong_guards_are_complained_about_at_once() {
    let text = r#"{ "pool": "app", "cache": true,
        "block": { "answer": 200 },
        "limit": { "rate": "10", "key": "ip" },
        "requests": { "max": 0 },
        "auth": {},
        "forward_auth": { "url": "ftp://x", "copy_headers": ["Host"], "timeout": "1h" } }"#;
    let mut settings = simple(&[closed_port()]);
    settings.routes[0] = serde_json::from_str(text).unwrap();
    let paths: Vec<_> = settings.check().into_iter().map(|it| it.path).collect();
    let expected = [
        "block",
        "block.answer",
        "limit.rate",
        "limit.key",
        "requests.max",
        "auth",
        "forward_auth.url",
        "forward_auth.copy_headers.0",
        "forward_auth.timeout",
        "forward_auth",
        "forward_auth",
    ];
    assert_eq!(paths, expected.map(|path| format!("routes.0.{path}")));
}

/// Every byte that comes over a connection until it ends, by a close or a reset.
fn bytes_until_end(to: SocketAddr, request: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream.write_all(request).unwrap();
    let mut got = Vec::new();
    match stream.read_to_end(&mut got) {
        Ok(_) => {}
        Err(why) => assert_eq!(why.kind(), ErrorKind::ConnectionReset, "{why}"),
    }
    got
}

fn closing(server: SocketAddr) -> Settings {
    let close = AnswerSettings::Silence(SilentClose::Close);
    let block = BlockSettings { answer: close, ..block(&["/.env"]) };
    Settings { block: Some(block), h2c: true, ..simple(&[server]) }
}

#[test]
fn a_request_that_is_closed_gets_not_a_byte_over_http1() {
    let server = Origin::start(|_, _, _| ok("x"));
    let gateway = start(closing(server.address), parts(""));
    let heads = [
        "GET /.env HTTP/1.1\r\nHost: a\r\n\r\n",
        "HEAD /.env HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /.env HTTP/1.0\r\n\r\n",
        "GET /.env HTTP/1.1\r\nHost: a\r\nAccept: text/html\r\n\r\n",
        "POST /.env HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab",
        "PUT /.env HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n",
        "GET /.env HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    ];
    for head in heads {
        let got = bytes_until_end(gateway.address, head.as_bytes());
        assert_eq!(String::from_utf8_lossy(&got), "", "{head}");
    }
    assert_eq!(server.connections(), 0, "nothing reaches a server");
}

#[test]
fn what_stands_before_a_request_that_is_closed_is_answered() {
    let server = Origin::start(|_, _, _| ok("x"));
    let gateway = start(closing(server.address), parts(""));
    let both = "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /.env HTTP/1.1\r\nHost: a\r\n\r\n";
    let got = String::from_utf8(bytes_until_end(gateway.address, both.as_bytes())).unwrap();
    assert!(got.starts_with("HTTP/1.1 200") && got.ends_with("\r\n\r\nx"), "{got}");
    assert_eq!(got.matches("HTTP/1.1").count(), 1, "{got}");
}

/// A frame of HTTP/2 (RFC 9113 §4.1).
fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap();
    [&[0, 0, length, kind, flags, 0, 0, 0, stream], payload].concat()
}

/// A request for `path` on a stream, its fields written out without a table (RFC 7541 §6.2.2).
fn request_frame(stream: u8, path: &str) -> Vec<u8> {
    let literal = |name: u8, value: &str| {
        [&[name, u8::try_from(value.len()).unwrap()], value.as_bytes()].concat()
    };
    let fields = [vec![0x82, 0x86], literal(4, path), literal(1, "app.example")].concat();
    frame(1, 5, stream, &fields)
}

#[test]
fn a_request_that_is_closed_over_http2_has_its_stream_reset_and_others_go_on() {
    let server = Origin::start(|_, _, _| ok("x"));
    let gateway = start(closing(server.address), parts(""));
    let mut stream = TcpStream::connect(gateway.address).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let begin = [
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        frame(4, 0, 0, &[]),
        request_frame(1, "/.env"),
        request_frame(3, "/"),
    ];
    stream.write_all(&begin.concat()).unwrap();
    let (mut reset, mut is_answered) = (None, false);
    while reset.is_none() || !is_answered {
        let mut head = [0; 9];
        stream.read_exact(&mut head).unwrap();
        let mut payload = vec![0; usize::from(head[1]) << 8 | usize::from(head[2])];
        stream.read_exact(&mut payload).unwrap();
        match (head[3], head[8]) {
            // RST_STREAM (RFC 9113 §6.4).
            (3, 1) => reset = Some(payload),
            (_, 1) => panic!("a frame of type {} on the stream that is closed", head[3]),
            (1, 3) => is_answered = true,
            _ => {}
        }
    }
    assert_eq!(reset, Some(vec![0, 0, 0, 2]), "INTERNAL_ERROR");
    assert_eq!(server.connections(), 1);
}
