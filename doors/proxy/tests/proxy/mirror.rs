//! The mirror form: `/http/HOST/PATH` at the proxy's own address.

use crate::support::{Origin, Reply, ask, ok, proxy, settings_with};
use std::net::SocketAddr;

fn names(names: &[&str]) -> Vec<settings::Text<vocab::DomainName>> {
    names.iter().map(|name| settings::Text(vocab::DomainName::parse(name).unwrap())).collect()
}

fn mirroring() -> SocketAddr {
    proxy("/blocked.tgz\n", |proxy| {
        proxy.mirror = names(&["localhost"]);
        proxy.cache = Some(http_cache::Settings::default());
    })
}

fn send(proxy: SocketAddr, method: &str, path: &str, fields: &str) -> String {
    ask(proxy, &format!("{method} {path} HTTP/1.1\r\nHost: {proxy}\r\n{fields}\r\n"))
}

#[test]
fn a_path_of_the_mirror_is_fetched_and_cached_without_cookies() {
    let origin = Origin::start(|_, _, request| {
        let request = request.to_ascii_lowercase().replace("\r\n", "|");
        let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nSet-Cookie: a=b\r\n";
        let more = "Strict-Transport-Security: max-age=9\r\n";
        Reply::Keep(format!("{head}{more}Content-Length: {}\r\n\r\n{request}", request.len()))
    });
    let (proxy, port) = (mirroring(), origin.address.port());
    for _ in 0..2 {
        let path = format!("/http/localhost:{port}/a/b.tgz?x=1");
        let answer = send(proxy, "GET", &path, "Cookie: secret=1\r\nX-Own: 2\r\n");
        let answer = answer.to_ascii_lowercase();
        assert!(answer.starts_with("http/1.1 200"), "{answer}");
        assert!(answer.contains("get /a/b.tgz?x=1 http/1.1|"), "{answer}");
        assert!(answer.contains(&format!("|host: localhost:{port}|")), "{answer}");
        assert!(answer.contains("|x-own: 2|"), "{answer}");
        for gone in ["secret", "set-cookie", "strict-transport"] {
            assert!(!answer.contains(gone), "{gone}: {answer}");
        }
    }
    let encoded = send(proxy, "GET", &format!("/http/localhost%3A{port}/a/b.tgz?x=1"), "");
    assert!(encoded.starts_with("HTTP/1.1 200"), "{encoded}");
    assert_eq!(origin.seen().len(), 1, "the others are hits");
    let blocked = send(proxy, "GET", &format!("/http/localhost:{port}/blocked.tgz"), "");
    assert!(blocked.starts_with("HTTP/1.1 403"), "{blocked}");
}

#[test]
fn redirects_within_the_mirror_stay_in_it() {
    let origin = Origin::start(|_, _, request| {
        let to = match request.split(' ').nth(1) {
            Some("/path") => "/other?y".to_owned(),
            Some("/same") => "http://sub.localhost:99/z".to_owned(),
            Some("/out") => "http://elsewhere.example/z".to_owned(),
            _ => "next".to_owned(),
        };
        Reply::Keep(format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n"))
    });
    let (proxy, port) = (mirroring(), origin.address.port());
    for (path, to) in [
        ("/path", format!("/http/localhost:{port}/other?y")),
        ("/same", "/http/sub.localhost:99/z".to_owned()),
        ("/out", "http://elsewhere.example/z".to_owned()),
        ("/relative", "next".to_owned()),
    ] {
        let answer = send(proxy, "GET", &format!("/http/localhost:{port}{path}"), "");
        assert!(answer.contains(&format!("location: {to}\r\n")), "{path}: {answer}");
    }
}

#[test]
fn nothing_else_is_mirrored() {
    let origin = Origin::start(|_, _, _| ok("fetched"));
    let port = origin.address.port();
    let proxy = mirroring();
    for path in [
        format!("/http/127.0.0.1:{port}/"),
        format!("/http/notlocalhost:{port}/"),
        format!("/ftp/localhost:{port}/"),
        format!("/http/user@localhost:{port}/"),
        format!("//http/localhost:{port}/"),
        "/http/".to_owned(),
        "/http".to_owned(),
    ] {
        let answer = send(proxy, "GET", &path, "");
        assert!(
            answer.starts_with("HTTP/1.1 4") && !answer.contains("fetched"),
            "{path}: {answer}"
        );
    }
    let posted = send(proxy, "POST", &format!("/http/localhost:{port}/"), "Content-Length: 0\r\n");
    assert!(posted.starts_with("HTTP/1.1 4"), "{posted}");
    assert!(origin.seen().is_empty());
    let mut settings = settings_with(|proxy| proxy.mirror = names(&["a.example"]));
    settings.auth = Some(door_proxy::AuthSettings::default());
    assert!(settings.check().iter().any(|it| it.path == "mirror"));
}
