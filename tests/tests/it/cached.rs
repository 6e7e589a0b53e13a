//! The caches of the proxy and the gateway, from outside: what is kept, what is shared, what is
//! said.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use tidegate_tests::origin::{Origin, Page};
use tidegate_tests::tidegate::Tidegate;
use tidegate_tests::wait::until;

const YAML: &str = r#"
proxy: { listen: ["http://127.0.0.1:0"], destinations: any, cache: { memory: 64MiB } }
gateway:
  listen: ["http://127.0.0.1:0"]
  pools: { app: { servers: ["http://ORIGIN"] } }
  routes: [{ path: "/*", pool: app, cache: true }]
admin: { listen: "127.0.0.1:0" }
"#;

fn start(origin: SocketAddr) -> Tidegate {
    Tidegate::start(&YAML.replace("ORIGIN", &origin.to_string()))
}

fn curl(proxy: SocketAddr, args: &[&str], url: &str) -> Output {
    let via = format!("http://{proxy}");
    let mut command = Command::new("curl");
    command.args(["-sS", "-i", "--max-time", "30", "--proxy", &via, "--noproxy", ""]);
    command.args(args).arg(url).output().unwrap()
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn field(answer: &str, name: &str) -> Option<String> {
    let mut lines = answer.lines().take_while(|line| !line.is_empty());
    lines.find_map(|line| {
        let (field, value) = line.split_once(':')?;
        field.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
    })
}

#[test]
fn an_answer_is_fetched_once_and_says_why_it_was_not_fetched_again() {
    let page = Page::new("text/plain", "hello, ".repeat(50) + "world");
    let page = page.header("Cache-Control", "max-age=600").header("ETag", "\"one\"");
    let origin = Origin::start(&[("/kept", page), ("/other", Page::new("text/plain", "x"))]);
    let edge = start(origin.address);
    let proxy = edge.address("proxy", "http");
    let url = format!("http://{}/kept", origin.address);
    let first = text(&curl(proxy, &[], &url));
    let said = field(&first, "cache-status").unwrap();
    assert!(said.starts_with("tidegate;fwd=uri-miss;stored;ttl="), "{said}");
    let again = text(&curl(proxy, &[], &url));
    assert!(field(&again, "cache-status").unwrap().starts_with("tidegate;hit;ttl="), "{again}");
    assert!(field(&again, "age").is_some() && again.ends_with("hello, world"));
    let unchanged = text(&curl(proxy, &["-H", "If-None-Match: \"one\""], &url));
    assert!(unchanged.starts_with("HTTP/1.1 304"), "{unchanged}");
    let parts = text(&curl(proxy, &["-r", "-5"], &url));
    assert!(parts.starts_with("HTTP/1.1 206") && parts.ends_with("world"), "{parts}");
    let two = text(&curl(proxy, &["-r", "0-1,300-301"], &url));
    assert!(field(&two, "content-type").unwrap().starts_with("multipart/byteranges"), "{two}");
    let only =
        text(&curl(proxy, &["-H", "Cache-Control: only-if-cached"], &url.replace("kept", "no")));
    assert!(only.starts_with("HTTP/1.1 504"), "{only}");
    assert_eq!(origin.requests().len(), 1);
    let why = edge.told(&["why", &url]);
    assert!(why.contains("stored   200 OK, 355 bytes in memory: fresh for 10 min"), "{why}");
    // What a POST may have changed is asked for anew.
    text(&curl(proxy, &["-d", "a=b"], &url));
    let after = text(&curl(proxy, &[], &url));
    assert!(field(&after, "cache-status").unwrap().contains("fwd=uri-miss"), "{after}");
}

#[test]
fn what_is_not_stored_says_why_in_the_log_and_in_why() {
    let page = |control: &str| Page::new("text/plain", "x").header("Cache-Control", control);
    let origin = Origin::start(&[("/never", page("no-store")), ("/kept", page("max-age=600"))]);
    let edge = start(origin.address);
    let (proxy, gateway) = (edge.address("proxy", "http"), edge.address("gateway", "http"));
    let url = |path: &str| format!("http://{}{path}", origin.address);
    for (fields, path) in [
        (vec![], "/never"),
        (vec![], "/kept"),
        (vec![], "/kept"),
        (vec!["-H", "Cache-Control: no-cache"], "/kept"),
    ] {
        text(&curl(proxy, &fields, &url(path)));
    }
    let behind = format!("http://{gateway}/never");
    text(&Command::new("curl").args(["-sS", "-i", &behind]).output().unwrap());
    for (filter, expected) in [
        ("door=proxy&filter=/never", vec!["uri-miss no-store"]),
        ("door=proxy&filter=/kept", vec!["client-no-cache -", "hit -", "uri-miss -"]),
        ("door=gateway&filter=/never", vec!["uri-miss no-store"]),
    ] {
        // A row is there when its answer's last byte is gone, which a client may see sooner.
        until("rows that tell it", || (logged(&edge, filter) == expected).then_some(()));
    }
    let row = edge.api("/api/requests?door=proxy&filter=/never")["rows"][0].clone();
    let said = row["cache_text"].as_str().unwrap();
    assert!(said.ends_with("not stored: the origin says no-store"), "{row}");
    for (door, url) in [("proxy", url("/never")), ("gateway", behind)] {
        let why = edge.told(&["why", "--door", door, &url]);
        assert!(why.contains("was not stored: the origin says no-store"), "{why}");
    }
    let why = edge.told(&["why", &url("/kept")]);
    assert!(why.contains("fresh for 10 min") && !why.contains("was not stored"), "{why}");
}

/// What the rows that a filter finds say of the cache, in the order of the alphabet.
fn logged(edge: &Tidegate, filter: &str) -> Vec<String> {
    let page = edge.api(&format!("/api/requests?{filter}"));
    let word = |value: &serde_json::Value| value.as_str().unwrap_or("-").to_owned();
    let rows = page["rows"].as_array().unwrap();
    let mut words: Vec<_> = rows
        .iter()
        .map(|row| format!("{} {}", word(&row["cache"]), word(&row["not_stored"])))
        .collect();
    words.sort();
    words
}

#[test]
fn the_gateway_keeps_what_its_routes_let_it_keep() {
    let page = Page::new("text/plain", "same").header("Cache-Control", "max-age=600");
    let origin = Origin::start(&[("/kept", page)]);
    let edge = start(origin.address);
    let url = format!("http://{}/kept", edge.address("gateway", "http"));
    for expected in ["fwd=uri-miss", "hit"] {
        let output = Command::new("curl").args(["-sS", "-i", &url]).output().unwrap();
        assert!(field(&text(&output), "cache-status").unwrap().contains(expected));
    }
    assert_eq!(origin.requests().len(), 1);
}

#[test]
fn what_the_gateway_has_stored_is_taken_back_at_its_door_alone() {
    let page = Page::new("text/plain", "same").header("Cache-Control", "max-age=600");
    let origin = Origin::start(&[("/kept", page.header("ETag", "\"one\""))]);
    let edge = start(origin.address);
    let url = format!("http://{}/kept", edge.address("gateway", "http"));
    let status = || {
        let output = Command::new("curl").args(["-sS", "-i", &url]).output().unwrap();
        field(&text(&output), "cache-status").unwrap()
    };
    let purge = |door: &str, more: &[&str]| {
        let command = ["ctl", "purge", "--url", url.as_str(), "--door", door];
        edge.told(&[&command[..], more].concat())
    };
    assert!(status().contains("fwd=uri-miss") && status().contains(";hit"));
    let told = purge("proxy", &[]);
    assert!(told.starts_with("0 stored") && status().contains(";hit"), "{told}");
    let told = purge("gateway", &[]);
    assert!(told.starts_with("1 stored") && status().contains("fwd=uri-miss"), "{told}");
    let told = purge("gateway", &["--soft"]);
    assert!(told.starts_with("1 stored") && status().contains("fwd=stale"), "{told}");
    assert_eq!(origin.requests().len(), 3);
}

/// An origin that counts, answers slowly, and says how long its answer is.
fn slow_origin(bytes: usize) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, count) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&count);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let counted = Arc::clone(&counted);
            thread::spawn(move || answer_slowly(stream, bytes, &counted));
        }
    });
    (address, count)
}

fn answer_slowly(mut stream: TcpStream, bytes: usize, counted: &AtomicUsize) {
    let mut head = [0; 4096];
    if stream.read(&mut head).is_ok_and(|read| read > 0) {
        counted.fetch_add(1, SeqCst);
        let text = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\nCache-Control: max-age=600\r\n\r\n"
        );
        let _ = stream.write_all(text.as_bytes());
        // In pieces, so that the herd gathers while it comes.
        for piece in vec![b'a'; bytes].chunks(64 << 10) {
            if stream.write_all(piece).is_err() {
                return;
            }
        }
    }
}

#[test]
fn a_herd_on_a_cold_url_is_one_request_to_the_origin() {
    const BYTES: usize = 4 << 20;
    const CLIENTS: usize = 200;
    let (origin, count) = slow_origin(BYTES);
    let edge = start(origin);
    let proxy = edge.address("proxy", "http");
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            thread::spawn(move || {
                let mut stream = TcpStream::connect(proxy).unwrap();
                let request = format!(
                    "GET http://{origin}/big HTTP/1.1\r\nHost: {origin}\r\nConnection: close\r\n\r\n"
                );
                stream.write_all(request.as_bytes()).unwrap();
                let mut answer = Vec::new();
                stream.read_to_end(&mut answer).unwrap();
                let body = answer.windows(4).position(|it| it == b"\r\n\r\n").unwrap() + 4;
                assert_eq!(answer.len() - body, BYTES);
                assert!(answer[body..].iter().all(|byte| *byte == b'a'));
            })
        })
        .collect();
    for client in clients {
        client.join().unwrap();
    }
    assert_eq!(count.load(SeqCst), 1);
}

#[test]
fn an_origin_that_is_gone_is_stood_in_for_by_what_is_stored() {
    let page = Page::new("text/plain", "old").header("Cache-Control", "max-age=0");
    let origin = Origin::start(&[("/kept", page.header("ETag", "\"a\""))]);
    // The proxy reaches the origin by a door that can be shut.
    let gate = Gate::before(origin.address);
    let edge = start(origin.address);
    let proxy = edge.address("proxy", "http");
    let url = format!("http://{}/kept", gate.address);
    assert!(text(&curl(proxy, &[], &url)).ends_with("old"));
    gate.shut();
    let stale = text(&curl(proxy, &[], &url));
    assert!(stale.ends_with("old"), "{stale}");
    assert!(field(&stale, "cache-status").unwrap().contains("fwd=stale"), "{stale}");
    let unknown = text(&curl(proxy, &[], &url.replace("kept", "never")));
    assert!(unknown.starts_with("HTTP/1.1 502"), "{unknown}");
}

/// Passes connections on until it is shut; then it refuses.
struct Gate {
    address: SocketAddr,
    shut: Arc<AtomicUsize>,
}

impl Gate {
    fn before(origin: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, shut) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
        let closing = Arc::clone(&shut);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if closing.load(SeqCst) > 0 {
                    return;
                }
                // One request a connection, so that none is left when it shuts.
                thread::spawn(move || pass_on(client, origin));
            }
        });
        Self { address, shut }
    }

    fn shut(&self) {
        self.shut.store(1, SeqCst);
        // Wakes it, so that it sees that it is shut.
        drop(TcpStream::connect(self.address));
    }
}

fn pass_on(mut client: TcpStream, origin: SocketAddr) {
    let mut server = TcpStream::connect(origin).unwrap();
    let mut head = [0; 8192];
    let read = client.read(&mut head).unwrap_or(0);
    if server.write_all(&head[..read]).is_ok() {
        let read = server.read(&mut head).unwrap_or(0);
        let _ = client.write_all(&head[..read]);
    }
}

#[test]
fn what_is_stored_is_taken_back_by_url_host_and_tag() {
    let page = |tag: &str| {
        let page = Page::new("text/plain", "x").header("Cache-Control", "max-age=600");
        page.header("ETag", "\"one\"").header("Surrogate-Key", tag)
    };
    let origin = Origin::start(&[("/a", page("news")), ("/b", page("sports"))]);
    let edge = start(origin.address);
    let proxy = edge.address("proxy", "http");
    let url = |path: &str| format!("http://{}{path}", origin.address);
    let status = |path: &str| field(&text(&curl(proxy, &[], &url(path))), "cache-status").unwrap();
    for (args, stays, gone) in [
        (vec!["--url".to_owned(), url("/a")], Some("/b"), "/a"),
        (vec!["--tag".into(), "sports".into()], Some("/a"), "/b"),
        (vec!["--prefix".into(), url("/b")], Some("/a"), "/b"),
        (vec!["--host".into(), "127.0.0.1".into()], None, "/a"),
        (vec!["--stored".into()], None, "/b"),
    ] {
        for path in ["/a", "/b"] {
            status(path);
        }
        let args: Vec<&str> =
            ["ctl", "purge"].into_iter().chain(args.iter().map(String::as_str)).collect();
        let told = edge.told(&args);
        assert!(told.contains("taken back"), "{told}");
        if let Some(stays) = stays {
            assert!(status(stays).contains(";hit"), "{args:?}");
        }
        assert!(status(gone).contains("fwd=uri-miss"), "{args:?}");
    }
    status("/a");
    let soft = edge.told(&["ctl", "purge", "--soft", "--url", &url("/a")]);
    assert!(soft.starts_with("1 stored"), "{soft}");
    assert!(status("/a").contains("fwd=stale"), "it is asked about before it is used again");
    let elsewhere = edge.told(&["ctl", "purge", "--stored", "--door", "gateway"]);
    assert!(elsewhere.starts_with("0 stored") && status("/a").contains(";hit"), "{elsewhere}");
    let stores = &edge.api("/api/stores")["stores"];
    assert_eq!(stores[0]["door"], "proxy");
    assert!(
        stores[0]["hits"].as_u64() > Some(0) && stores[0]["purged"].as_u64() > Some(0),
        "{stores}"
    );
    assert!(edge.figures().contains("tidegate_store_hits_total{door=\"proxy\"}"));
}
