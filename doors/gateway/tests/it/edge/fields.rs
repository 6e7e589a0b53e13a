//! Header fields on their way, addresses of servers in answers, and compression.

use crate::support::{Origin, Reply, ask, get, parts, simple, start};
use door_gateway::{CompressChoice, FieldRule, FieldSettings, Settings, StickySettings};

fn rule(what: &str, name: &str, value: Option<&str>) -> FieldRule {
    let name = Some(name.to_owned());
    let rule = FieldRule { value: value.map(str::to_owned), ..FieldRule::default() };
    match what {
        "set" => FieldRule { set: name, ..rule },
        "add" => FieldRule { add: name, ..rule },
        "default" => FieldRule { default: name, ..rule },
        "remove" => FieldRule { remove: name, ..rule },
        _ => unreachable!("a rule of these tests"),
    }
}

fn answer(fields: &str, body: &str) -> Reply {
    let length = body.len();
    Reply::Keep(format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n{fields}\r\n{body}"))
}

#[test]
fn rules_change_requests_and_answers() {
    let origin =
        Origin::start(|_, _, _| answer("Server: secret/1\r\nX-Frame-Options: DENY\r\n", "x"));
    let mut settings = simple(&[origin.address]);
    settings.headers = FieldSettings {
        request: vec![
            rule("set", "X-Asked", Some("{scheme}://{host}{path}?{query}")),
            rule("remove", "Cookie", None),
        ],
        response: vec![
            rule("remove", "Server", None),
            rule("default", "X-Frame-Options", Some("SAMEORIGIN")),
            rule("default", "X-Content-Type-Options", Some("nosniff")),
        ],
    };
    settings.routes[0].headers = FieldSettings {
        request: vec![rule("set", "Host", Some("inner.example"))],
        response: vec![rule("add", "X-For", Some("{client}"))],
    };
    let gateway = start(settings, parts(""));
    let request = "GET /a?b=c HTTP/1.1\r\nHost: app.example\r\nCookie: a=b\r\n\r\n";
    let said = ask(gateway.address, request);
    let seen = &origin.seen()[0];
    assert!(seen.contains("x-asked: http://app.example/a?b=c\r\n"), "{seen}");
    assert!(seen.contains("host: inner.example\r\n"), "{seen}");
    assert!(seen.contains("x-forwarded-host: app.example\r\n"), "{seen}");
    assert!(!seen.contains("cookie"), "{seen}");
    assert!(!said.contains("secret"), "{said}");
    assert!(said.contains("x-frame-options: DENY\r\n"), "{said}");
    assert!(said.contains("x-content-type-options: nosniff\r\n"), "{said}");
    assert!(said.contains("x-for: 127.0.0.1\r\n"), "{said}");
}

#[test]
fn what_leads_to_a_server_leads_here() {
    let origin = Origin::start(|_, _, request| {
        let host = request.split("x-inner: ").nth(1).and_then(|it| it.lines().next()).unwrap();
        let fields = format!(
            "Location: http://{host}/next?a=b\r\nRefresh: 3; url=http://inner.example/\r\n\
             Content-Location: http://other.example/\r\nSet-Cookie: a=b; Domain=inner.example\r\n"
        );
        answer(&fields, "x")
    });
    let address = origin.address.to_string();
    let mut settings = simple(&[origin.address]);
    let inner = rule("set", "X-Inner", Some(&address));
    let host = rule("set", "Host", Some("inner.example"));
    settings.routes[0].headers = FieldSettings { request: vec![inner, host], response: vec![] };
    let gateway = start(settings.clone(), parts(""));
    let said = get(&gateway, "/");
    assert!(said.contains("location: /next?a=b\r\n"), "{said}");
    assert!(said.contains("refresh: 3; url=/\r\n"), "{said}");
    assert!(said.contains("content-location: http://other.example/\r\n"), "{said}");
    settings.routes[0].rewrite_location = false;
    gateway.door.reload(settings).unwrap();
    let said = get(&gateway, "/");
    assert!(said.contains(&format!("location: http://{address}/next?a=b\r\n")), "{said}");
}

#[test]
fn a_servers_cookie_is_for_the_path_that_clients_ask_for() {
    let origin = Origin::start(|_, _, _| {
        answer("Set-Cookie: a=b; Path=/; HttpOnly\r\nSet-Cookie: c=d; Path=/app/x\r\n", "x")
    });
    let mut settings = simple(&[origin.address]);
    let sticky = Some(StickySettings { cookie: "to".into() });
    settings.pools.get_mut("app").unwrap().sticky = sticky;
    settings.routes[0].strip_prefix = Some("/app".into());
    let cookies = |settings: &Settings| {
        let said = get(&start(settings.clone(), parts("")), "/app/");
        let lines = said.lines().filter_map(|line| line.strip_prefix("set-cookie: "));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(cookies(&settings)[..2], ["a=b; Path=/; HttpOnly", "c=d; Path=/app/x"]);
    settings.routes[0].rewrite_cookies = true;
    let changed = cookies(&settings);
    assert_eq!(changed[..2], ["a=b; Path=/app; HttpOnly", "c=d; Path=/app/x"]);
    assert!(changed[2].starts_with("to=") && changed[2].contains("; Path=/; "), "{changed:?}");
}

fn compressing(fields: &'static str, body: &str) -> (Origin, Settings) {
    let body = body.to_owned();
    let origin = Origin::start(move |_, _, _| answer(fields, &body));
    let mut settings = simple(&[origin.address]);
    settings.routes[0].compress = CompressChoice::Switch(true);
    (origin, settings)
}

fn fetch(settings: &Settings, accepts: &str) -> (String, Vec<u8>) {
    use std::io::{Read, Write};
    let gateway = start(settings.clone(), parts(""));
    let mut stream = std::net::TcpStream::connect(gateway.address).unwrap();
    let request = format!(
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAccept-Encoding: {accepts}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut said = Vec::new();
    stream.read_to_end(&mut said).unwrap();
    let end = said.windows(4).position(|it| it == b"\r\n\r\n").unwrap() + 4;
    (String::from_utf8_lossy(&said[..end]).into_owned(), said[end..].to_vec())
}

#[test]
fn a_long_text_is_compressed_once() {
    let long = "all the world's a stage ".repeat(100);
    let (_origin, settings) =
        compressing("Content-Type: text/html\r\nETag: \"a\"\r\nAccept-Ranges: bytes\r\n", &long);
    let (head, body) = fetch(&settings, "gzip");
    assert!(head.contains("content-encoding: gzip\r\n"), "{head}");
    assert!(head.contains("vary: Accept-Encoding\r\n"), "{head}");
    assert!(head.contains("etag: W/\"a\"\r\n"), "{head}");
    assert!(head.contains("transfer-encoding: chunked\r\n"), "{head}");
    assert!(!head.contains("content-length") && !head.contains("accept-ranges"), "{head}");
    assert!(body.len() < 300, "{}", body.len());
    let (head, body) = fetch(&settings, "identity");
    assert!(head.contains("vary: Accept-Encoding\r\n") && !head.contains("content-encoding"));
    assert_eq!(body, long.as_bytes());
}

#[test]
fn what_is_coded_short_or_fixed_stays_as_it_is() {
    let long = "x".repeat(1000);
    for (fields, body) in [
        ("Content-Type: text/html\r\nContent-Encoding: br\r\n", long.as_str()),
        ("Content-Type: text/html\r\nCache-Control: no-transform\r\n", &long),
        ("Content-Type: image/png\r\n", &long),
        ("Content-Type: text/html\r\n", "short"),
    ] {
        let (_origin, settings) = compressing(fields, body);
        let (head, said) = fetch(&settings, "gzip, br, zstd");
        assert_eq!(said, body.as_bytes(), "{fields}{head}");
    }
}
