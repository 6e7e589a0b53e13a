//! The HTTP hook and downloads against a web server that answers, redirects, hangs and lies.

use crate::support::{
    Asked, DEADLINE, Scratch, Told, Web, emit, ips, respond, start, wait_until, with_event,
};
use dns_effects::{
    DownloadItem, DownloadSpec, EffectId, EffectSpec, Effects, HttpSpec, ReloadWhat,
};
use settings::Text;
use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use vocab::{ByteSize, TimeSpan};

fn hook(method: &str, url: String) -> HttpSpec {
    HttpSpec { method: method.into(), url, ..HttpSpec::default() }
}

fn span(ms: u64) -> Text<TimeSpan> {
    Text(TimeSpan(Duration::from_millis(ms)))
}

/// Waits for an effect as the door does.
fn call(effects: &Effects, effect: u16, name: &str) -> Result<(), String> {
    let called = with_event(name, &[], |event| effects.call(EffectId(effect), event));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let outcome = runtime.block_on(async { tokio::time::timeout(DEADLINE, called).await.unwrap() });
    outcome.map_err(|why| why.to_string())
}

/// A gate that holds whoever comes until it is opened.
#[derive(Clone, Default)]
struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    fn pass(&self) {
        let opened = self.0.0.lock().unwrap();
        drop(self.0.1.wait_timeout_while(opened, DEADLINE, |opened| !*opened).unwrap());
    }
    fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }
}

#[test]
fn a_hook_tells_what_happened() {
    let web = Web::start(|_, stream| respond(stream, "204 No Content", "", b""));
    let mut spec = hook("POST", web.url("/seen/${qname}"));
    spec.headers.insert("X-Client".into(), "${client_ip}".into());
    spec.query_params.insert("type".into(), "${qtype_name}".into());
    spec.json = Some(serde_json::json!({ "name": "${qname}", "ips": "${resp_ip}" }));
    let (effects, told) = start(vec![EffectSpec::HttpRequest(spec)], vec![]);
    emit(&effects, 0, "a.example", &ips(&["192.0.2.1", "2001:db8::1"]));
    wait_until("the hook is done", || effects.stats()[0].done == 1);
    let asked = web.asked().remove(0);
    assert_eq!(asked.line, "POST /seen/a.example?type=A HTTP/1.1");
    assert_eq!(asked.header("x-client"), Some("192.0.2.53"));
    assert_eq!(asked.header("host"), Some(web.address.to_string().as_str()));
    assert_eq!(asked.body, r#"{"ips":"192.0.2.1,2001:db8::1","name":"a.example"}"#);
    assert_eq!(told.lines(), [""; 0]);
}

#[test]
fn redirects_are_followed_as_far_as_allowed() {
    let web = Web::start(|asked, stream| match asked.line.split(' ').nth(1) {
        Some("/0") => respond(stream, "302 Found", "Location: /1\r\n", b""),
        Some("/1") => respond(stream, "307 Temporary Redirect", "Location: 2\r\n", b""),
        Some("/2") => respond(stream, "200 OK", "", b"ok"),
        _ => respond(stream, "301 Moved", "Location: /loop\r\n", b""),
    });
    let far = hook("POST", web.url("/0"));
    let near = HttpSpec { max_redirects: 1, ..far.clone() };
    let round = hook("GET", web.url("/loop"));
    let specs = [far, near, round].map(EffectSpec::HttpRequest).to_vec();
    let (effects, _told) = start(specs, vec![]);
    assert_eq!(call(&effects, 0, "a.example"), Ok(()));
    let lines: Vec<_> = web.asked().into_iter().map(|it| it.line).collect();
    assert_eq!(lines, ["POST /0 HTTP/1.1", "GET /1 HTTP/1.1", "GET /2 HTTP/1.1"]);
    assert!(call(&effects, 1, "a.example").unwrap_err().contains("redirects"));
    assert!(call(&effects, 2, "a.example").unwrap_err().contains("redirects"));
    assert_eq!(web.count(), 3 + 2 + 6);
}

#[test]
fn whoever_waits_hears_of_failures() {
    let gate = Gate::default();
    let held = gate.clone();
    let web = Web::start(move |asked, stream| {
        if asked.line.contains("/slow") {
            held.pass();
        }
        respond(stream, "500 Internal Server Error", "", b"no")
    });
    let slow = HttpSpec { timeout: span(100), ..hook("GET", web.url("/slow")) };
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let specs = vec![
        EffectSpec::HttpRequest(hook("GET", web.url("/"))),
        EffectSpec::HttpRequest(slow),
        EffectSpec::HttpRequest(hook("GET", format!("http://{nobody}/"))),
    ];
    let (effects, told) = start(specs, vec![]);
    assert!(call(&effects, 0, "a.example").unwrap_err().contains("500"));
    assert!(call(&effects, 1, "a.example").unwrap_err().contains("timeout"));
    assert!(call(&effects, 2, "a.example").unwrap_err().contains("refused"));
    assert!(call(&effects, 0, "a.example").is_err());
    assert_eq!(told.lines().len(), 3, "one line an effect: {:?}", told.lines());
    gate.open();
}

#[test]
fn a_full_queue_drops_the_newest_and_never_waits() {
    let gate = Gate::default();
    let held = gate.clone();
    let web = Web::start(move |_, stream| {
        held.pass();
        respond(stream, "200 OK", "", b"")
    });
    let spec = HttpSpec { queue_size: 4, ..hook("GET", web.url("/${qname}")) };
    let (effects, _told) = start(vec![EffectSpec::HttpRequest(spec)], vec![]);
    for _ in 0..8 {
        emit(&effects, 0, "first.example", &[]);
        // Taken up one after the other, until as many run as may.
        let sent = effects.stats()[0].triggered as usize;
        wait_until("the request is under way", || web.count() == sent);
    }
    for _ in 0..100 {
        emit(&effects, 0, "then.example", &[]);
    }
    let stats = effects.stats().remove(0);
    assert_eq!((stats.triggered, stats.dropped), (8 + 4, 96), "{stats:?}");
    gate.open();
    assert_eq!(effects.close(DEADLINE), Ok(()), "what waits is sent before the end");
    assert_eq!((web.count(), effects.stats()[0].done), (12, 12));
}

fn download(web: &Web, folder: &Scratch, files: &[&str]) -> DownloadSpec {
    let item = |file: &&str| DownloadItem {
        url: web.url(&format!("/{file}")),
        dir: folder.path().join("lists"),
        filename: None,
    };
    DownloadSpec {
        retry_after: span(1),
        jitter: span(0),
        downloads: files.iter().map(item).collect(),
        ..DownloadSpec::default()
    }
}

fn one_download(spec: DownloadSpec) -> (Effects, Told) {
    start(vec![EffectSpec::Download(spec)], vec![])
}

#[test]
fn a_file_is_fetched_once_and_then_only_when_it_is_another() {
    let version = Arc::new(AtomicUsize::new(1));
    let current = Arc::clone(&version);
    let web = Web::start(move |asked, stream| {
        let version = current.load(Ordering::SeqCst);
        let etag = format!("\"v{version}\"");
        if asked.header("if-none-match") == Some(etag.as_str()) {
            return respond(stream, "304 Not Modified", "", b"");
        }
        let headers = format!("ETag: {etag}\r\nLast-Modified: Sat, 21 Nov 2026 10:00:00 GMT\r\n");
        respond(stream, "200 OK", &headers, format!("||ads{version}.example^\n").as_bytes())
    });
    let folder = Scratch::new();
    let (effects, told) = one_download(download(&web, &folder, &["ads.txt"]));
    let path = folder.path().join("lists/ads.txt");
    let read = || std::fs::read_to_string(&path).unwrap();
    assert_eq!(call(&effects, 0, "a.example"), Ok(()));
    assert_eq!(read(), "||ads1.example^\n");
    assert_eq!(*told.reloads.lock().unwrap(), [ReloadWhat::Files(vec![path.clone()])]);
    assert_eq!(call(&effects, 0, "a.example"), Ok(()));
    assert_eq!(told.reload_count(), 1, "nothing changed, nothing is read anew");
    let asked: Asked = web.asked().remove(1);
    assert_eq!(asked.header("if-none-match"), Some("\"v1\""));
    assert_eq!(asked.header("if-modified-since"), Some("Sat, 21 Nov 2026 10:00:00 GMT"));
    version.store(2, Ordering::SeqCst);
    assert_eq!(call(&effects, 0, "a.example"), Ok(()));
    assert_eq!((read().as_str(), told.reload_count()), ("||ads2.example^\n", 2));
    // Someone edits the file: it is not what was fetched any more.
    std::fs::write(&path, "mine").unwrap();
    assert_eq!(call(&effects, 0, "a.example"), Ok(()));
    assert_eq!(web.asked().remove(3).header("if-none-match"), None);
    assert_eq!(read(), "||ads2.example^\n");
}

#[test]
fn the_last_good_file_stays_whatever_comes() {
    let bad = Arc::new(Mutex::new("good".to_owned()));
    let what = Arc::clone(&bad);
    let web = Web::start(move |_, stream| match what.lock().unwrap().as_str() {
        "good" => respond(stream, "200 OK", "", b"||good.example^\n"),
        "missing" => respond(stream, "404 Not Found", "", b"gone"),
        "page" => respond(stream, "200 OK", "", b"\n<!DOCTYPE html><html>sign in"),
        "poison" => respond(stream, "200 OK", "", b"||a.example^\npoison\n"),
        "empty" => respond(stream, "200 OK", "", b""),
        "large" => respond(stream, "200 OK", "", &[b'x'; 5000]),
        "packed" => respond(stream, "200 OK", "Content-Encoding: br\r\n", b"\x8b"),
        "spoilt" => respond(stream, "200 OK", "Content-Encoding: gzip\r\n", b"\x1f\x8b"),
        _ => stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n||short"),
    });
    let folder = Scratch::new();
    let mut spec = download(&web, &folder, &["ads.txt"]);
    (spec.max_size, spec.retries) = (Text(ByteSize(4096)), 1);
    let (effects, told) = one_download(spec);
    assert_eq!(call(&effects, 0, "a.example"), Ok(()));
    for (kind, why, tries) in [
        ("missing", "404", 1),
        ("page", "web page", 1),
        ("poison", "poisoned", 1),
        ("empty", "empty", 1),
        ("large", "max_size", 1),
        ("packed", "not asked for", 1),
        ("spoilt", "coding is spoilt", 2),
        ("short", "broke off", 2),
    ] {
        let before = web.count();
        kind.clone_into(&mut bad.lock().unwrap());
        let failure = call(&effects, 0, "a.example").unwrap_err();
        assert!(failure.contains(why), "{kind}: {failure}");
        assert_eq!(web.count() - before, tries, "{kind}: tried as often as it can help");
        let lists = folder.path().join("lists");
        assert_eq!(std::fs::read(lists.join("ads.txt")).unwrap(), b"||good.example^\n", "{kind}");
        assert!(!lists.join(".ads.txt.part").exists(), "{kind}: nothing half is left");
    }
    assert_eq!(told.reload_count(), 1);
}

#[test]
fn a_server_in_trouble_is_asked_again_and_one_file_does_not_hold_up_the_next() {
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&tries);
    let web = Web::start(move |asked: &Asked, stream: &mut TcpStream| {
        if asked.line.contains("/gone") {
            return respond(stream, "410 Gone", "", b"");
        }
        match counted.fetch_add(1, Ordering::SeqCst) {
            0 => respond(stream, "503 Service Unavailable", "", b""),
            // Hangs up without a word.
            1 => Ok(()),
            _ => respond(stream, "200 OK", "", b"list"),
        }
    });
    let folder = Scratch::new();
    let (effects, told) = one_download(download(&web, &folder, &["gone.txt", "late.txt"]));
    let failure = call(&effects, 0, "a.example").unwrap_err();
    assert!(failure.contains("gone.txt") && !failure.contains("late.txt"), "{failure}");
    assert_eq!(tries.load(Ordering::SeqCst), 3);
    let late = folder.path().join("lists/late.txt");
    assert_eq!(std::fs::read(&late).unwrap(), b"list");
    assert_eq!(*told.reloads.lock().unwrap(), [ReloadWhat::Files(vec![late])]);
}

#[test]
fn at_start_only_what_is_missing_is_fetched() {
    let web = Web::start(|asked, stream| {
        let status = if asked.line.contains("gone") { "404 Not Found" } else { "200 OK" };
        respond(stream, status, "", b"new")
    });
    let folder = Scratch::new();
    std::fs::create_dir_all(folder.path().join("lists")).unwrap();
    std::fs::write(folder.path().join("lists/here.txt"), "old").unwrap();
    let never =
        DownloadSpec { startup_if_missing: false, ..download(&web, &folder, &["never.txt"]) };
    let wanted = download(&web, &folder, &["here.txt", "missing.txt", "gone.txt"]);
    let specs = vec![EffectSpec::Download(wanted), EffectSpec::Download(never)];
    let (effects, _told) = start(specs, vec![]);
    let failures = effects.fetch_missing(DEADLINE);
    assert_eq!(failures.len(), 1, "{failures:?}");
    assert!(failures[0].to_string().contains("gone.txt"));
    let read = |name: &str| std::fs::read_to_string(folder.path().join("lists").join(name)).ok();
    assert_eq!(read("here.txt").as_deref(), Some("old"));
    assert_eq!(read("missing.txt").as_deref(), Some("new"));
    assert_eq!(read("never.txt"), None);
    assert_eq!(web.count(), 2);
}
