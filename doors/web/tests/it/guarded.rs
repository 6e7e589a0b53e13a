//! Compression, passwords, access logs and the way to HTTPS, through the door.

use crate::support::{DEADLINE, Edge, Folder, site};
use door_web::{AccessLogChoice, AuthSettings, CompressChoice, SiteSettings};
use std::collections::BTreeMap;
use std::process::Command;
use std::time::Instant;

const TEXT: &str = "function answer() { return 42; }\n";

fn base() -> Folder {
    let base = Folder::new();
    base.write("www/a.js", TEXT.repeat(200));
    base.write("www/in/secret.txt", "secret page");
    base
}

#[test]
fn a_coded_file_has_its_own_tag_and_is_revalidated_by_it() {
    let base = base();
    let on = SiteSettings { compress: CompressChoice::Switch(true), ..site("www", &[]) };
    let edge = Edge::start_with(&base, &[on], "");
    let gzip = ("Accept-Encoding", "gzip");
    let plain = edge.ask("GET /a.js", &[]);
    let coded = edge.ask("GET /a.js", &[gzip]);
    assert_eq!(plain.field("content-encoding"), "");
    assert_eq!(coded.field("content-encoding"), "gzip");
    assert!(coded.body.len() < plain.body.len() / 4);
    for answer in [&plain, &coded] {
        assert_eq!(answer.field("vary"), "Accept-Encoding");
    }
    let tag = coded.field("etag");
    assert_ne!(tag, plain.field("etag"));
    let again = edge.ask("GET /a.js", &[gzip, ("If-None-Match", tag)]);
    assert_eq!((again.status, again.field("vary")), (304, "Accept-Encoding"));
    let other = edge.ask("GET /a.js", &[("If-None-Match", tag)]);
    assert_eq!(other.status, 200, "the tag is of another form");
    // A range is of the file, unless the client holds the coded form.
    let range = ("Range", "bytes=0-9");
    let part = edge.ask("GET /a.js", &[gzip, range]);
    assert_eq!((part.status, part.text().as_str()), (206, &TEXT[..10]));
    let part = edge.ask("GET /a.js", &[gzip, range, ("If-Range", tag)]);
    assert_eq!((part.status, &part.body[..]), (206, &coded.body[..10]));
    let head = edge.ask("HEAD /a.js", &[gzip]);
    assert_eq!(head.field("content-length"), coded.field("content-length"));
    assert_eq!(edge.ask("GET /in/secret.txt", &[gzip]).field("content-encoding"), "", "too small");
}

#[test]
fn a_precompressed_file_is_sent_as_it_is() {
    let base = base();
    base.write("www/a.js.br", "made by hand");
    let on = SiteSettings { compress: CompressChoice::Switch(true), ..site("www", &[]) };
    let edge = Edge::start_with(&base, &[on], "");
    let answer = edge.ask("GET /a.js", &[("Accept-Encoding", "br, gzip")]);
    assert_eq!((answer.field("content-encoding"), answer.text().as_str()), ("br", "made by hand"));
    assert_eq!(answer.field("content-type"), "text/javascript; charset=utf-8");
}

#[test]
fn curl_needs_the_right_password() {
    let base = base();
    let made = Command::new("htpasswd").args(["-nbB", "-C", "5", "ann", "pass word"]).output();
    let made = made.expect("htpasswd is installed: make test-packages");
    base.write("users", made.stdout);
    let inline = BTreeMap::from([(
        "bob".to_owned(),
        "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1"
            .to_owned(),
    )]);
    let auth = AuthSettings {
        path: "/in/*".into(),
        realm: "Inside".into(),
        file: Some("users".into()),
        users: inline,
    };
    let edge =
        Edge::start_with(&base, &[SiteSettings { auth: vec![auth], ..site("www", &[]) }], "");
    let curl = |user: &str| {
        let url = format!("http://{}/in/secret.txt", edge.at[0]);
        let mut command = Command::new("curl");
        command.args(["-s", "-w", "%{http_code}", &url]);
        if !user.is_empty() {
            command.args(["-u", user]);
        }
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    for _ in 0..3 {
        assert_eq!(curl("ann:pass word"), "secret page200");
        assert_eq!(curl("bob:Hello world!"), "secret page200");
    }
    for wrong in ["", "ann:other", "bob:", "eve:pass word"] {
        assert!(curl(wrong).ends_with("401"), "{wrong}");
    }
    let challenge = edge.ask("GET /in/secret.txt", &[]);
    assert_eq!(challenge.field("www-authenticate"), "Basic realm=\"Inside\", charset=\"UTF-8\"");
    assert_eq!(edge.ask("GET //in//secret.txt", &[]).status, 401, "no way around");
    assert_eq!(edge.ask("GET /%69n/secret.txt", &[]).status, 401, "no way around");
    assert_eq!(edge.ask("GET /a.js", &[]).status, 200);
}

#[test]
fn every_request_has_its_line() {
    let base = base();
    base.write("www/large.bin", vec![7; 3 << 20]);
    let log = Some(AccessLogChoice::File("access.log".into()));
    let edge = Edge::start_with(&base, &[SiteSettings { access_log: log, ..site("www", &[]) }], "");
    edge.ask("GET /a.js?x=1", &[("User-Agent", "a \"quoted\" agent"), ("Referer", "http://r/")]);
    edge.ask("GET /none", &[]);
    edge.ask("GET /large.bin", &[]);
    let begun = Instant::now();
    let lines = loop {
        let text = std::fs::read_to_string(base.path().join("access.log")).unwrap_or_default();
        if text.lines().count() >= 3 {
            break text;
        }
        assert!(begun.elapsed() < DEADLINE, "{text}");
        std::thread::yield_now();
    };
    let has = |what: &str| assert!(lines.contains(what), "{what} in {lines}");
    has("\"GET /a.js?x=1 HTTP/1.1\" 200 6600 \"http://r/\" \"a \\\"quoted\\\" agent\"\n");
    has("\"GET /none HTTP/1.1\" 404 ");
    has("\"GET /large.bin HTTP/1.1\" 200 3145728 ");
}

#[test]
fn a_site_may_send_everyone_to_https() {
    let base = base();
    let edge =
        Edge::start_with(&base, &[SiteSettings { redirect_https: true, ..site("www", &[]) }], "");
    let answer = edge.ask("GET /a%20b?c=d", &[]);
    assert_eq!(answer.status, 308);
    assert_eq!(answer.field("location"), "https://www.example/a%20b?c=d");
}

#[test]
fn who_came_by_https_to_a_trusted_proxy_is_not_sent_on() {
    let base = base();
    let trusting = |network: &str| SiteSettings {
        redirect_https: true,
        trusted_proxies: vec![settings::Text(network.parse().unwrap())],
        ..site("www", &[])
    };
    let edge = Edge::start_with(&base, &[trusting("127.0.0.0/8")], "");
    let by = |said: &str| edge.ask("GET /a.js", &[("X-Forwarded-Proto", said)]).status;
    assert_eq!((by("https"), by("http"), by("http, https")), (200, 308, 308));
    assert_eq!(edge.ask("GET /a.js", &[]).status, 308);
    // The same by the long way.
    let long = [("X-Forwarded-Proto", "https"), ("Range", "bytes=0-3")];
    assert_eq!(edge.ask("GET /a.js", &long).status, 206);
    let twice = [("X-Forwarded-Proto", "https"), ("X-Forwarded-Proto", "https")];
    assert_eq!(edge.ask("GET /a.js", &twice).status, 308);
    let elsewhere = Edge::start_with(&base, &[trusting("192.0.2.0/24")], "");
    let answer = elsewhere.ask("GET /a.js", &[("X-Forwarded-Proto", "https")]);
    assert_eq!(answer.status, 308, "a stranger is not believed");
}
