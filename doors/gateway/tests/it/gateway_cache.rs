//! Routes of the gateway that have a cache: a herd is one request, and what is stored stands in.

use crate::support;

use door_gateway::Settings;
use http_cache::StalePolicy;
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Instant;
use support::{DEADLINE, Origin, Reply, get, parts, read_message, simple, start};

/// One route to this server, with a cache.
fn cached(server: SocketAddr) -> Settings {
    let mut settings = simple(&[server]);
    settings.routes[0].cache = true;
    settings
}

fn answer(control: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nCache-Control: {control}\r\nETag: \"one\"\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

#[test]
fn fifty_who_ask_for_what_is_not_there_yet_are_one_request() {
    const CLIENTS: usize = 50;
    let (tell, told) = channel();
    let told = Mutex::new(told);
    let server = Origin::start(move |_, _, _| {
        told.lock().unwrap().recv_timeout(DEADLINE).unwrap();
        Reply::Keep(answer("max-age=600", "for all"))
    });
    let gateway = start(cached(server.address), parts(""));
    let ask = |_| {
        let mut stream = TcpStream::connect(gateway.address).unwrap();
        stream.write_all(b"GET /cold HTTP/1.1\r\nHost: app.example\r\n\r\n").unwrap();
        stream
    };
    let clients: Vec<TcpStream> = (0..CLIENTS).map(ask).collect();
    let begun = Instant::now();
    while server.seen().is_empty() {
        assert!(begun.elapsed() < DEADLINE, "nobody asks the server");
        std::thread::yield_now();
    }
    tell.send(()).unwrap();
    for mut client in clients {
        let said = read_message(&mut client).unwrap();
        assert!(said.starts_with("HTTP/1.1 200 ") && said.ends_with("for all"), "{said}");
    }
    assert_eq!(server.seen().len(), 1);
    assert_eq!(gateway.door.pools()[0].requests, 1);
}

/// A server that gives one answer and is gone: where it stood, nobody takes connections.
fn once(answer: String) -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        drop(listener);
        read_message(&mut stream).unwrap();
        stream.write_all(answer.as_bytes()).unwrap();
    });
    (address, serving)
}

#[test]
fn what_is_stored_stands_in_for_a_pool_that_is_down_where_the_server_allows_it() {
    for (control, expected) in
        [("max-age=0, stale-if-error=600", "http/1.1 200 "), ("max-age=0", "http/1.1 50")]
    {
        let (server, gone) = once(answer(control, "old"));
        let mut settings = cached(server);
        settings.cache.stale = StalePolicy::Never;
        let gateway = start(settings, parts(""));
        assert!(get(&gateway, "/").ends_with("old"));
        gone.join().unwrap();
        // The second finds out, the third finds nobody up.
        for _ in 0..2 {
            let said = get(&gateway, "/").to_ascii_lowercase();
            assert!(said.starts_with(expected), "{control}: {said}");
            if said.ends_with("old") {
                assert!(said.contains("fwd=stale"), "{said}");
            }
        }
    }
}

/// A server that gives every visitor a session, and says that its pages may be kept.
fn sessions(control: &'static str) -> Origin {
    let count = AtomicUsize::new(0);
    Origin::start(move |_, _, _| {
        let number = count.fetch_add(1, SeqCst);
        let cookie = format!("Set-Cookie: session={number}\r\n");
        Reply::Keep(answer(control, "page").replacen("\r\n", &format!("\r\n{cookie}"), 1))
    })
}

#[test]
fn no_visitor_gets_the_cookie_of_another() {
    for control in ["max-age=600", "public, s-maxage=600", "max-age=600, stale-if-error=600"] {
        let server = sessions(control);
        let gateway = start(cached(server.address), parts(""));
        for number in 0..3 {
            let said = get(&gateway, "/").to_ascii_lowercase();
            assert!(said.contains(&format!("set-cookie: session={number}\r\n")), "{said}");
            let status = "cache-status: tidegate;fwd=uri-miss;detail=set-cookie\r\n";
            assert!(said.contains(status), "{said}");
        }
    }
}

#[test]
fn a_route_may_share_cookies_and_take_that_back() {
    let server = sessions("max-age=600");
    let mut settings = cached(server.address);
    settings.routes[0].store_set_cookie = true;
    let gateway = start(settings.clone(), parts(""));
    for _ in 0..2 {
        let said = get(&gateway, "/").to_ascii_lowercase();
        assert!(said.contains("set-cookie: session=0\r\n"), "{said}");
    }
    settings.routes[0].store_set_cookie = false;
    gateway.door.reload(settings).unwrap();
    for number in 1..3 {
        let said = get(&gateway, "/").to_ascii_lowercase();
        assert!(said.contains(&format!("set-cookie: session={number}\r\n")), "{said}");
    }
}

#[test]
fn a_cookie_that_the_server_keeps_from_reuse_keeps_nothing_else() {
    let server = sessions("max-age=600, no-cache=\"Set-Cookie\"");
    let gateway = start(cached(server.address), parts(""));
    assert!(get(&gateway, "/").contains("session=0"));
    let said = get(&gateway, "/").to_ascii_lowercase();
    assert!(said.contains("tidegate;hit") && !said.contains("\nset-cookie:"), "{said}");
}
