//! Hits that are answered without a request of their own: the same words, the same refusals.

use crate::support::{Origin, Reply, ask, proxy, read_message};
use std::io::Write;
use std::net::{SocketAddr, TcpStream};

/// A field that stands twice: such a request takes the long way.
const LONG_WAY: &str = "X-Twice: 1\r\nX-Twice: 2\r\n";

fn dated(fields: &str, body: &str) -> Reply {
    let length = body.len();
    Reply::Keep(format!(
        "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nCache-Control: max-age=99999999999\r\n\
         {fields}Content-Length: {length}\r\n\r\n{body}"
    ))
}

fn caching(rules: &str) -> SocketAddr {
    proxy(rules, |settings| settings.cache = Some(http_cache::Settings::default()))
}

fn request(method: &str, url: &str, host: &str, fields: &str) -> String {
    format!("{method} {url} HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n")
}

/// The lines of a head in some order, without those that tell the seconds.
fn told(answer: &str) -> Vec<String> {
    let (head, _) = answer.split_once("\r\n\r\n").unwrap();
    let timeless = |line: &&str| !line.starts_with("age:") && !line.starts_with("cache-status:");
    let mut lines: Vec<_> = head.lines().filter(timeless).map(str::to_lowercase).collect();
    lines.sort();
    lines
}

#[test]
fn a_hit_says_the_same_on_both_ways() {
    let origin = Origin::start(|_, _, _| dated("X-Own: a\r\nETag: \"x\"\r\n", "hello"));
    let proxy = caching("");
    let (url, host) = (format!("http://{}/a?b", origin.address), origin.address.to_string());
    let first = ask(proxy, &request("GET", &url, &host, ""));
    assert!(first.contains("fwd=uri-miss"), "{first}");
    for method in ["GET", "HEAD"] {
        let mut stream = TcpStream::connect(proxy).unwrap();
        // A head ends what is read of `HEAD`, so both ask for the connection's end.
        let fields = "Connection: close\r\n";
        stream.write_all(request(method, &url, &host, fields).as_bytes()).unwrap();
        let quick = read_whole(stream);
        let mut stream = TcpStream::connect(proxy).unwrap();
        let fields = format!("Connection: close\r\n{LONG_WAY}");
        stream.write_all(request(method, &url, &host, &fields).as_bytes()).unwrap();
        let long = read_whole(stream);
        assert_eq!(told(&quick), told(&long));
        assert_eq!(quick.split_once("\r\n\r\n").unwrap().1, long.split_once("\r\n\r\n").unwrap().1);
        assert!(quick.contains("cache-status: tidegate;hit;ttl="), "{quick}");
        assert!(quick.contains("\r\nage: ") && quick.contains("via: 1.1 tidegate"), "{quick}");
    }
    assert_eq!(origin.seen().len(), 1);
}

fn read_whole(mut stream: TcpStream) -> String {
    let mut text = String::new();
    std::io::Read::read_to_string(&mut stream, &mut text).unwrap();
    text
}

#[test]
fn what_asks_for_more_than_the_whole_takes_the_long_way() {
    let origin = Origin::start(|_, _, _| dated("ETag: \"x\"\r\n", "hello"));
    let proxy = caching("");
    let (url, host) = (format!("http://{}/", origin.address), origin.address.to_string());
    let fetch = |fields: &str| ask(proxy, &request("GET", &url, &host, fields));
    fetch("");
    assert!(fetch("Range: bytes=1-2\r\n").ends_with("\r\n\r\nel"));
    assert!(fetch("If-None-Match: \"x\"\r\n").starts_with("HTTP/1.1 304"));
    assert_eq!(origin.seen().len(), 1);
    fetch("Cache-Control: no-cache\r\n");
    assert_eq!(origin.seen().len(), 2);
}

#[test]
fn variants_are_told_apart() {
    let origin = Origin::start(|_, _, request| {
        let french = request.to_lowercase().contains("accept-language: fr");
        dated("Vary: Accept-Language\r\n", if french { "bonjour" } else { "hello" })
    });
    let proxy = caching("");
    let (url, host) = (format!("http://{}/", origin.address), origin.address.to_string());
    for _ in 0..3 {
        for (language, greeting) in [("en", "hello"), ("fr", "bonjour")] {
            let fields = format!("Accept-Language: {language}\r\n");
            let answer = ask(proxy, &request("GET", &url, &host, &fields));
            assert!(answer.ends_with(greeting), "{answer}");
        }
    }
    assert_eq!(origin.seen().len(), 2);
}

#[test]
fn a_connection_goes_on_after_a_miss_and_many_hits_come_at_once() {
    let origin = Origin::start(|_, _, request| {
        dated("", if request.starts_with("GET /a") { "a" } else { "b" })
    });
    let proxy = caching("");
    let host = origin.address.to_string();
    let get = |path: &str| request("GET", &format!("http://{host}{path}"), &host, "");
    ask(proxy, &get("/a"));
    let mut stream = TcpStream::connect(proxy).unwrap();
    for (path, body) in [("/a", "a"), ("/b", "b"), ("/a", "a"), ("/b", "b")] {
        stream.write_all(get(path).as_bytes()).unwrap();
        let answer = read_message(&mut stream).unwrap();
        assert!(answer.ends_with(&format!("\r\n\r\n{body}")), "{answer}");
    }
    let mut stream = TcpStream::connect(proxy).unwrap();
    let last = request("GET", &format!("http://{host}/b"), &host, "Connection: close\r\n");
    stream.write_all([get("/a"), get("/b"), last].concat().as_bytes()).unwrap();
    assert_eq!(read_whole(stream).matches("tidegate;hit").count(), 3);
    assert_eq!(origin.seen().len(), 2);
}

#[test]
fn what_is_blocked_stays_blocked_though_it_is_stored() {
    let origin = Origin::start(|_, _, _| dated("", "hello"));
    let proxy = caching("/ads/*$image\n");
    let (url, host) = (format!("http://{}/ads/x", origin.address), origin.address.to_string());
    let page = ask(proxy, &request("GET", &url, &host, "Sec-Fetch-Dest: document\r\n"));
    assert!(page.ends_with("hello"), "{page}");
    let image = ask(proxy, &request("GET", &url, &host, "Sec-Fetch-Dest: image\r\n"));
    assert!(!image.contains("hello") && !image.contains("tidegate;hit"), "{image}");
}

#[test]
fn the_answer_to_a_post_is_kept_where_it_says_that_a_get_gives_the_same() {
    let origin = Origin::start(|_, _, request| {
        let is_post = request.starts_with("POST");
        match request.split(' ').nth(1).unwrap() {
            "/own" => dated("Content-Location: /own\r\n", if is_post { "made" } else { "got" }),
            "/other" => dated("Content-Location: /new\r\n", if is_post { "made" } else { "got" }),
            _ => dated("", if is_post { "made" } else { "got" }),
        }
    });
    let proxy = caching("");
    let host = origin.address.to_string();
    for (path, then) in [("/own", "made"), ("/other", "got"), ("/nowhere", "got")] {
        let url = format!("http://{host}{path}");
        // What was stored before is not used after a change.
        assert!(ask(proxy, &request("GET", &url, &host, "")).ends_with("got"), "{path}");
        let body = "Range: bytes=0-0\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n";
        let posted = ask(proxy, &format!("{}12345", request("POST", &url, &host, body)));
        assert!(posted.starts_with("HTTP/1.1 200") && posted.ends_with("made"), "{posted}");
        let after = ask(proxy, &request("GET", &url, &host, ""));
        assert!(after.ends_with(then), "{path}: {after}");
        assert_eq!(after.contains("tidegate;hit"), then == "made", "{path}: {after}");
    }
}
