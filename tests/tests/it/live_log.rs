//! The request log from outside: found by every word of its address, followed live, with the names
//! of devices; and how much lists have in common.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use tidegate_tests::Scratch;
use tidegate_tests::clients::{curl, dig, said};
use tidegate_tests::tidegate::Tidegate;
use tidegate_tests::wait;

const YAML: &str = r#"
policy:
  lists:
    - { name: ads, rules: ["||ads.example^", "||both.example^"] }
    - { name: more, rules: ["both.example", "||other.example^", "||third.example^"] }
dns: { listen: ["udp://127.0.0.1:0"], local: ["tv.lan A 127.0.0.2"], upstreams: ["udp://127.0.0.1:9"], timeout: 100ms }
web:
  - { listen: ["http://127.0.0.1:0"], root: www }
devices: { leases: [leases], mdns: false }
admin: { listen: "127.0.0.1:0" }
"#;

fn start() -> Tidegate {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path().join("www")).unwrap();
    scratch.write("www/index.html", "hello");
    scratch.write("leases", "0 00:11:22:33:44:55 127.0.0.3 annas-<b>phone *\n");
    Tidegate::start_in(scratch, YAML)
}

fn ask(edge: &Tidegate, client: &str, name: &str) {
    dig(edge.address("dns", "udp"), &["-b", client, name]);
}

/// A reader of live rows.
struct Reader {
    stream: TcpStream,
    text: String,
}

impl Reader {
    fn open(edge: &Tidegate, query: &str, fields: &str) -> Self {
        let token = std::fs::read_to_string(edge.state().join("admin.token")).unwrap();
        Self::open_with(edge, query, &format!("Authorization: Bearer {}\r\n{fields}", token.trim()))
    }

    fn open_with(edge: &Tidegate, query: &str, fields: &str) -> Self {
        let address = edge.address("admin", "http");
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(wait::DEADLINE)).unwrap();
        let head = format!(
            "GET /api/requests/live{query} HTTP/1.1\r\nHost: {address}\r\nAccept-Encoding: gzip, \
             br, zstd\r\n{fields}\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        Self { stream, text: String::new() }
    }

    /// Reads a piece; false at the end.
    fn read(&mut self) -> bool {
        let mut piece = [0; 8192];
        let count = self.stream.read(&mut piece).unwrap_or_else(|why| {
            panic!("nothing comes ({why}): {}", self.text);
        });
        self.text.push_str(&String::from_utf8_lossy(&piece[..count]));
        count > 0
    }

    fn read_to(&mut self, text: &str) {
        while !self.text.contains(text) {
            assert!(self.read(), "it ended before {text:?}: {}", self.text);
        }
    }

    fn read_to_end(&mut self) {
        // A chunk of nothing is the end of a body.
        while !self.text.ends_with("\r\n0\r\n\r\n") && self.read() {}
    }
}

#[test]
fn rows_are_found_by_every_word_of_an_address() {
    let edge = start();
    ask(&edge, "127.0.0.2", "www.ads.example");
    ask(&edge, "127.0.0.3", "tv.lan");
    let web = edge.address("web", "http");
    said(
        "127.0.0.4".parse().unwrap(),
        web,
        "GET /none HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    );
    let all = edge.api("/api/requests");
    let all = all["rows"].as_array().unwrap();
    assert_eq!(all.len(), 3, "{all:?}");
    let found = |query: &str| -> Vec<String> {
        let page = edge.api(&format!("/api/requests?{query}"));
        let rows = page["rows"].as_array().unwrap().iter();
        rows.map(|row| row["subject"].as_str().unwrap().to_owned()).collect()
    };
    let (blocked, local) = (vec!["www.ads.example".to_owned()], vec!["tv.lan".to_owned()]);
    let page = found("status=404");
    assert!(page.len() == 1 && page[0].ends_with("/none"), "{page:?}");
    let of_kind = format!("door=web&kind={}", all[0]["kind"].as_str().unwrap());
    for (query, wanted) in [
        (of_kind.as_str(), &page),
        ("client=127.0.0.2", &blocked),
        ("name=ads.example", &blocked),
        ("list=ads", &blocked),
        ("source=local", &local),
        ("client=127.0.0.3&kind=A&status=NOERROR", &local),
        ("status=4xx,5xx", &page),
        ("action=block&slower_than_us=0", &blocked),
    ] {
        assert_eq!(&found(query), wanted, "{query}");
    }
    let id = |place: usize| all[place]["id"].as_u64().unwrap();
    assert_eq!(found(&format!("after={}", id(1))).len(), 1);
    assert_eq!(found("faster_than_us=1").len() + found("from=1&to=2").len(), 0);
    let token = std::fs::read_to_string(edge.state().join("admin.token")).unwrap();
    let bearer = format!("Authorization: Bearer {}", token.trim());
    let base = format!("http://{}/api/requests", edge.address("admin", "http"));
    let (status, file) = curl(&["-H", &bearer, &format!("{base}?format=csv&client=127.0.0.2")]);
    assert!(status == 200 && file.lines().count() == 2 && file.contains("ads.example"), "{file}");
    let (status, told) = curl(&["-H", &bearer, &format!("{base}?kind=soup")]);
    assert!(status == 400 && told.contains("AAAA"), "{told}");
}

#[test]
fn rows_are_followed_live_and_resumed_and_hold_nobody_up() {
    let edge = start();
    ask(&edge, "127.0.0.2", "before.ads.example");
    // Every question has what was recorded before it written.
    edge.api("/api/requests");
    let mut all = Reader::open(&edge, "", "");
    all.read_to(": open");
    assert!(all.text.contains("text/event-stream") && !all.text.contains("ontent-encoding"));
    let mut some = Reader::open(&edge, "?client=127.0.0.3", "");
    some.read_to(": open");
    ask(&edge, "127.0.0.2", "one.ads.example");
    ask(&edge, "127.0.0.3", "two.ads.example");
    all.read_to("two.ads.example");
    some.read_to("two.ads.example");
    assert!(all.text.contains("one.ads.example") && !all.text.contains("before.ads.example"));
    assert!(!some.text.contains("one.ads.example"), "{}", some.text);
    let last = all.text.split("id: ").nth(1).unwrap().split('\n').next().unwrap().to_owned();
    let mut again = Reader::open(&edge, "", &format!("Last-Event-ID: {last}\r\n"));
    again.read_to("two.ads.example");
    assert!(!again.text.contains("one.ads.example"), "{}", again.text);
    // The fourth is the last of one client.
    let mut fourth = Reader::open(&edge, "", "");
    fourth.read_to(": open");
    let mut fifth = Reader::open(&edge, "", "");
    fifth.read_to("remedy");
    assert!(fifth.text.starts_with("HTTP/1.1 503"), "{}", fifth.text);
    drop(fourth);
    let mut next = wait::until("a place", || {
        let mut next = Reader::open(&edge, "", "");
        next.read();
        next.text.starts_with("HTTP/1.1 200").then_some(next)
    });
    next.read_to(": open");
    let begun = Instant::now();
    let (status, _) = edge.stop_by("TERM");
    assert!(status.success());
    all.read_to_end();
    assert!(begun.elapsed() < Duration::from_secs(5), "streams hold up the end");
}

#[test]
fn a_burst_is_sent_in_part_and_the_rest_is_counted() {
    let edge = start();
    let mut all = Reader::open(&edge, "", "");
    all.read_to(": open");
    let web = edge.address("web", "http");
    let client = "127.0.0.4".parse().unwrap();
    // Kept in one connection: they come within a second or two.
    let one = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(599);
    let last = "GET /last HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    said(client, web, &format!("{one}{last}"));
    all.read_to("/last");
    let rows = all.text.matches("event: row").count();
    let missed = all.text.split("{\"count\":").skip(1);
    let missed = missed.map(|it| it.split('}').next().unwrap().parse::<usize>().unwrap());
    let missed: usize = missed.sum();
    assert!(missed > 0 && rows + missed == 600, "{rows} rows, {missed} missed");
}

#[test]
fn a_stream_ends_with_the_session_that_opened_it() {
    let edge = start();
    let base = format!("http://{}", edge.address("admin", "http"));
    let token = std::fs::read_to_string(edge.state().join("admin.token")).unwrap();
    let jar = edge.scratch.path().join("cookies").display().to_string();
    let login = format!("{{\"token\": \"{}\"}}", token.trim());
    let json = "Content-Type: application/json";
    assert_eq!(curl(&["-c", &jar, "-H", json, "-d", &login, &format!("{base}/login")]).0, 204);
    let cookies = std::fs::read_to_string(&jar).unwrap();
    let line = cookies.lines().find(|line| line.contains("tidegate_session")).unwrap();
    let words: Vec<_> = line.split('\t').collect();
    let cookie = format!("Cookie: {}={}\r\n", words[5], words[6]);
    let mut reader = Reader::open_with(&edge, "", &cookie);
    reader.read_to(": open\n\n");
    let own = format!("Origin: {base}");
    let logout = ["-b", &jar, "-H", &own, "-X", "POST", &format!("{base}/logout")];
    assert_eq!(curl(&logout).0, 204);
    reader.read_to_end();
    assert!(!reader.text.contains("event: row"), "{}", reader.text);
}

#[test]
fn devices_have_the_names_of_lease_files_as_they_change() {
    let edge = start();
    ask(&edge, "127.0.0.2", "ads.example");
    ask(&edge, "127.0.0.3", "ads.example");
    let device = |client: &str| {
        let told = edge.api("/api/clients");
        let clients = told["clients"].as_array().unwrap().clone();
        clients.into_iter().find(|it| it["client"] == client).unwrap()
    };
    let tv = device("127.0.0.2");
    assert_eq!((tv["name"].as_str(), tv["name_source"].as_str()), (Some("tv.lan"), Some("local")));
    let phone = device("127.0.0.3");
    let named = (phone["name"].as_str(), phone["name_source"].as_str());
    assert_eq!(named, (Some("annas-bphone"), Some("dhcp")), "made fit to be shown");
    edge.scratch.write("leases", "0 00:11:22:33:44:55 127.0.0.3 annas-phone *\n");
    wait::until("the new name", || (device("127.0.0.3")["name"] == "annas-phone").then_some(()));
    std::fs::remove_file(edge.scratch.path().join("leases")).unwrap();
    wait::until("a warning", || {
        let warnings = edge.api("/api/status")["warnings"].to_string();
        device("127.0.0.3");
        warnings.contains("devices.leases").then_some(())
    });
}

#[test]
fn overlaps_and_what_was_blocked_are_told_of_each_list() {
    let edge = start();
    ask(&edge, "127.0.0.2", "x.ads.example");
    let told = edge.api("/api/lists/overlaps");
    let list = |place: usize| &told["lists"][place];
    assert_eq!((&list(0)["name"], &list(0)["names"]), (&"ads".into(), &2.into()));
    assert_eq!(
        (&list(0)["held_by"][0]["name"], &list(0)["held_by"][0]["share"]),
        (&"more".into(), &0.5.into())
    );
    assert_eq!((&list(1)["names"], &list(1)["held_by"][0]["names"]), (&3.into(), &1.into()));
    assert_eq!(edge.api("/api/lists/overlaps")["counted_at"], told["counted_at"], "kept");
    let lists = edge.api("/api/lists");
    assert_eq!(
        (&lists["lists"][0]["blocked_7d"], &lists["lists"][1]["blocked_7d"]),
        (&1.into(), &0.into())
    );
}
