//! The admin's own door from outside: who can lock whom out, what outlives a restart, and the
//! metrics page as a strict reader takes it.

use std::collections::HashSet;
use std::io::Write;
use std::net::TcpStream;
use tidegate_tests::Scratch;
use tidegate_tests::clients::{curl, curl_with_head};
use tidegate_tests::tidegate::Tidegate;

const YAML: &str = r#"
policy: { lists: [{ name: mine, rules: ["||shop.example^", "||ads.example/t$redirect=2x2.png"] }] }
pixel: { listen: ["http://127.0.0.1:0"], addresses: [127.0.0.1] }
proxy: { listen: ["http://127.0.0.1:0"] }
dns: { listen: ["udp://127.0.0.1:0"], upstreams: ["udp://127.0.0.1:9"], timeout: 100ms }
admin: { listen: "127.0.0.1:0" }
"#;

fn token(edge: &Tidegate) -> String {
    std::fs::read_to_string(edge.state().join("admin.token")).unwrap().trim().to_owned()
}

#[test]
fn a_page_full_of_pictures_locks_nobody_out() {
    let edge = Tidegate::start(YAML);
    let admin = edge.address("admin", "http");
    for number in 0..30 {
        let picture = format!("http://{admin}/?token=x{number}");
        let fields = ["-H", "Sec-Fetch-Site: cross-site", "-H", "Sec-Fetch-Dest: image"];
        assert_eq!(curl(&[&fields[..], &[&picture]].concat()).0, 403);
    }
    // The same from a browser that says nothing of itself counts, and locks nobody out either.
    for number in 0..30 {
        let status = curl(&[&format!("http://{admin}/?token=x{number}")]).0;
        assert_eq!(status, if number < 10 { 401 } else { 429 });
    }
    edge.told(&["ctl", "status"]);
    let link = format!("http://{admin}/?token={}", token(&edge));
    assert!(curl_with_head(&[&link]).1.contains("location: /\r\n"));
}

#[test]
fn heads_without_an_end_of_one_client_leave_room_for_others() {
    let edge = Tidegate::start(YAML);
    let admin = edge.address("admin", "http");
    let greedy: Vec<TcpStream> = (0..300)
        .map(|_| {
            let mut stream = TcpStream::connect(admin).unwrap();
            // The server may have closed it at once.
            let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ");
            stream
        })
        .collect();
    let bearer = format!("Authorization: Bearer {}", token(&edge));
    let url = format!("http://{admin}/api/status");
    let other = ["--interface", "127.0.0.2", "--max-time", "5", "-H", &bearer, &url];
    assert_eq!(curl(&other).0, 200, "another address is answered at once");
    drop(greedy);
}

#[test]
fn a_browser_stays_signed_in_over_a_restart_and_not_under_another_token() {
    let edge = Tidegate::start(YAML);
    let jar = edge.scratch.path().join("cookies");
    let jar = jar.to_str().unwrap().to_owned();
    let login = format!("http://{}/?token={}", edge.address("admin", "http"), token(&edge));
    curl(&["-c", &jar, &login]);
    let status = |edge: &Tidegate| {
        let url = format!("http://{}/api/status", edge.address("admin", "http"));
        curl(&["-b", &jar, &url]).0
    };
    assert_eq!(status(&edge), 200);
    let (_, scratch) = edge.stop_by("KILL");
    let edge = Tidegate::start_in(scratch, YAML);
    assert_eq!(status(&edge), 200, "over a restart");
    let page = ["-H", "Accept: text/html", "-H", "Sec-Fetch-Site: none"];
    let stale = format!("http://{}/?token=0123456789", edge.address("admin", "http"));
    let (code, head) = curl_with_head(&[&page[..], &[&stale]].concat());
    assert!(code == 303 && head.contains("location: /#stale-link"), "{head}");

    std::fs::remove_file(edge.state().join("admin.token")).unwrap();
    let (_, scratch) = edge.stop_by("TERM");
    let edge = Tidegate::start_in(scratch, YAML);
    assert_eq!(status(&edge), 401, "another token ends every session");
}

#[test]
fn the_number_of_a_block_page_finds_the_request() {
    let edge = Tidegate::start(YAML);
    let to = format!("::{}", edge.address("pixel", "http"));
    let url = "http://shop.example/a?b=c";
    let (_, page) = curl(&["-H", "Accept: text/html", "--connect-to", &to, url]);
    let digits = |text: &str| text.len() == 14 && text.split('-').all(|it| it.len() == 4);
    let number = page
        .split(|c: char| !c.is_ascii_hexdigit() && c != '-')
        .find(|word| digits(word))
        .unwrap_or_else(|| panic!("no number in {page}"));
    let lower = number.to_lowercase();
    let bare = lower.replace('-', "");
    for written in [number, &lower, &bare] {
        let rows = edge.api(&format!("/api/requests?filter={written}"));
        assert_eq!(rows["rows"][0]["subject"], url, "{written}: {rows}");
        assert_eq!(rows["rows"].as_array().unwrap().len(), 1, "{rows}");
        let row = edge.api(&format!("/api/requests/{written}"));
        assert_eq!((&row["subject"], &row["number"]), (&url.into(), &number.into()));
    }
    let none = edge.api("/api/requests?filter=0000-0000-0001");
    assert_eq!(none["rows"].as_array().unwrap().len(), 0);
}

/// Every door, with all that has figures of its own.
const ALL_DOORS: &str = r#"
policy: { lists: [{ name: mine, rules: ["||shop.example^", "||ads.example/t$redirect=2x2.png"] }] }
dns:
  listen: ["udp://127.0.0.1:0"]
  upstreams: ["udp://127.0.0.1:9", "udp://127.0.0.2:9"]
  timeout: 100ms
pixel: { listen: ["http://127.0.0.1:0"], addresses: [127.0.0.1] }
proxy: { listen: ["http://127.0.0.1:0"], cache: {} }
web:
  - { listen: ["http://127.0.0.1:0"], root: www }
  - { listen: ["http://127.0.0.1:0"], hosts: [b.example], root: www }
gateway:
  listen: ["http://127.0.0.1:0"]
  pools:
    app: { servers: ["http://127.0.0.1:9", "http://127.0.0.1:10"] }
    other: { servers: ["http://127.0.0.1:9"] }
  routes:
    - { path: "/a/*", pool: app, limit: { rate: 5/s } }
    - { path: "/*", pool: other, block: { patterns: ["/.env"] } }
admin: { listen: "127.0.0.1:0" }
"#;

/// One series of a page in `OpenMetrics`: its name and its labels, in order.
fn series(line: &str) -> (String, Vec<(String, String)>) {
    let (name, rest) = line.split_at(line.find(['{', ' ']).unwrap());
    let is_name = |it: &str| {
        !it.is_empty() && it.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_' || c == b':')
    };
    assert!(is_name(name) && !name.as_bytes()[0].is_ascii_digit(), "{line}");
    let Some(mut rest) = rest.strip_prefix('{') else {
        return (name.to_owned(), Vec::new());
    };
    let mut labels = Vec::new();
    while !rest.starts_with('}') {
        let (label, behind) = rest.split_once("=\"").unwrap_or_else(|| panic!("{line}"));
        assert!(is_name(label), "{line}");
        let mut value = String::new();
        let mut letters = behind.char_indices();
        let end = loop {
            match letters.next().unwrap_or_else(|| panic!("no end: {line}")) {
                (_, '\\') => match letters.next() {
                    Some((_, c @ ('\\' | '"' | 'n'))) => value.push(c),
                    other => panic!("{other:?} is no escape: {line}"),
                },
                (at, '"') => break at,
                (_, c) => value.push(c),
            }
        };
        assert!(labels.iter().all(|(known, _)| known != label), "{label} twice: {line}");
        labels.push((label.to_owned(), value));
        rest = behind[end + 1..].strip_prefix(',').unwrap_or(&behind[end + 1..]);
    }
    let value = rest[1..].trim().split(' ').next().unwrap();
    assert!(value == "+Inf" || value.parse::<f64>().is_ok(), "{value:?} is no number: {line}");
    labels.sort();
    (name.to_owned(), labels)
}

#[test]
fn the_metrics_page_is_strictly_right_and_has_no_series_twice() {
    let scratch = Scratch::new();
    scratch.write("www/index.html", "hello");
    let edge = Tidegate::start_in(scratch, ALL_DOORS);
    let pixel = edge.address("pixel", "http");
    for path in ["/x.png", "/x.js", "/t"] {
        curl(&["-H", "Host: ads.example", &format!("http://{pixel}{path}")]);
        curl(&["-H", "Host: shop.example", &format!("http://{pixel}{path}")]);
    }
    curl(&["-x", &format!("http://{}", edge.address("proxy", "http")), "http://shop.example/"]);
    for path in ["/.env", "/a/x", "/x"] {
        curl(&[&format!("http://{}{path}", edge.address("gateway", "http"))]);
    }
    curl(&[&format!("http://{}/", edge.address("web", "http"))]);
    let page = edge.figures();
    let (mut families, mut seen) = (HashSet::new(), HashSet::new());
    let mut lines = page.lines().peekable();
    let mut family = String::new();
    while let Some(line) = lines.next() {
        if line == "# EOF" {
            assert!(lines.peek().is_none(), "nothing stands behind the end");
            break;
        }
        if let Some(comment) = line.strip_prefix("# ") {
            let (word, rest) = comment.split_once(' ').unwrap();
            assert!(["HELP", "TYPE", "UNIT"].contains(&word), "{line}");
            let name = rest.split(' ').next().unwrap();
            if name != family {
                assert!(families.insert(name.to_owned()), "the family {name} stands there twice");
                family = name.to_owned();
            }
            continue;
        }
        let (name, labels) = series(line);
        assert!(name.starts_with(&family), "{name} stands among {family}");
        assert!(seen.insert((name, labels)), "this series stands there twice: {line}");
    }
    assert!(page.ends_with("# EOF\n"), "{page}");
    let has = |name: &str| seen.iter().any(|(known, _)| known == name);
    assert!(has("tidegate_pixel_answers_total") && has("tidegate_requests_total"));
}
