//! The gateway door on real sockets: who gets a request, who never sees it, and what comes back.

use crate::support;

use door_gateway::{
    BalanceMethod, BlockSettings, PatternHits, PatternSource, PoolSettings, RouteSettings,
};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use support::{
    Origin, Reply, ask, closed_port, get, ok, parts, read_message, scratch, simple, start,
};

fn block(patterns: &[&str]) -> BlockSettings {
    let patterns = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
    BlockSettings { patterns: PatternSource::Inline(patterns), ..Default::default() }
}

#[test]
fn requests_are_spread_in_turn_over_kept_connections() {
    let servers = [(); 3].map(|()| Origin::start(|_, _, _| ok("x")));
    let mut settings = simple(&servers.each_ref().map(|it| it.address));
    settings.pools.get_mut("app").unwrap().balance = BalanceMethod::RoundRobin;
    let gateway = start(settings, parts(""));
    for _ in 0..9 {
        assert!(get(&gateway, "/").starts_with("HTTP/1.1 200"));
    }
    for server in &servers {
        assert_eq!((server.seen().len(), server.connections()), (3, 1));
    }
}

#[test]
fn a_server_that_takes_no_connection_is_set_aside() {
    let alive = Origin::start(|_, _, _| ok("alive"));
    let gateway = start(simple(&[closed_port(), alive.address]), parts(""));
    for _ in 0..6 {
        assert!(get(&gateway, "/").ends_with("alive"));
    }
    // A post goes on too, since not a byte of it had been sent.
    let post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi";
    for _ in 0..2 {
        assert!(ask(gateway.address, post).ends_with("alive"));
    }
    assert_eq!(alive.seen().len(), 8);
    let nobody = start(simple(&[closed_port(), closed_port()]), parts(""));
    let answer = get(&nobody, "/");
    assert!(answer.starts_with("HTTP/1.1 502") && !answer.contains("127.0.0.1"), "{answer}");
}

#[test]
fn a_post_that_reached_a_dying_server_is_not_repeated() {
    let dying = Origin::start(|_, _, _| Reply::Close(String::new()));
    let other = Origin::start(|_, _, _| ok("x"));
    let mut settings = simple(&[dying.address, other.address]);
    settings.pools.get_mut("app").unwrap().balance = BalanceMethod::RoundRobin;
    let gateway = start(settings, parts(""));
    let post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi";
    assert!(ask(gateway.address, post).starts_with("HTTP/1.1 502"));
    assert_eq!((dying.seen().len(), other.seen().len()), (1, 0));
}

#[test]
fn a_blocked_url_never_reaches_a_server_and_is_counted() {
    let server = Origin::start(|_, _, _| ok("x"));
    let mut settings = simple(&[server.address]);
    settings.routes[0].block = Some(block(&["/wp-login.php", "/.env"]));
    let gateway = start(settings, parts(""));
    for path in ["/.env", "/app/.ENV", "/%2eenv", "/wp-login.php?x"] {
        let answer = get(&gateway, path);
        assert!(answer.starts_with("HTTP/1.1 403"), "{path}: {answer}");
        assert!(answer.contains(" of route 1 of the gateway: /"), "{answer}");
    }
    assert!(get(&gateway, "/fine").starts_with("HTTP/1.1 200"));
    assert_eq!(server.seen().len(), 1);
    let hits = gateway.door.pattern_hits();
    let list = "route 1 of the gateway".into();
    let expected = PatternHits { list, line: 2, text: "/.env".into(), hits: 3 };
    assert_eq!((hits.len(), &hits[1]), (2, &expected));
}

#[test]
fn patterns_come_from_a_file_and_a_missing_one_is_named() {
    let server = Origin::start(|_, _, _| ok("x"));
    let parts = parts("");
    std::fs::write(parts.base.join("attacks.txt"), "# known\n/cgi-bin/*.sh\n").unwrap();
    let mut settings = simple(&[server.address]);
    let file = |name: &str| BlockSettings {
        patterns: PatternSource::File(name.into()),
        ..Default::default()
    };
    settings.routes[0].block = Some(file("attacks.txt"));
    let gateway = start(settings.clone(), parts);
    let answer = get(&gateway, "/cgi-bin/x.sh");
    assert!(answer.contains("line 2 of attacks.txt: /cgi-bin/*.sh"), "{answer}");
    settings.routes[0].block = Some(file("gone.txt"));
    let complaints = gateway.door.reload(settings).unwrap_err();
    assert_eq!(complaints[0].path, "routes.0.block.patterns");
    assert!(complaints[0].message.starts_with("gone.txt: "), "{}", complaints[0]);
    // What was there before still stands.
    assert!(get(&gateway, "/cgi-bin/x.sh").starts_with("HTTP/1.1 403"));
}

#[test]
fn the_policy_is_asked_too() {
    let server = Origin::start(|_, _, _| ok("x"));
    let gateway = start(simple(&[server.address]), parts("||bad.example^\n"));
    let answer = ask(gateway.address, "GET / HTTP/1.1\r\nHost: bad.example\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 403") && answer.contains(" of mine: "), "{answer}");
    assert_eq!(server.connections(), 0);
}

#[test]
fn a_browser_is_shown_a_page_where_a_program_gets_plain_words() {
    let mut settings = simple(&[closed_port()]);
    settings.routes[0].host = Some("app.example".into());
    settings.routes[0].block = Some(block(&["/a&b"]));
    let gateway = start(settings, parts("||bad.example^\n"));
    let person = "text/html,application/xhtml+xml,*/*;q=0.8";
    let fetch = |host: &str, path: &str, accept: &str| {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept: {accept}\r\n\r\n");
        ask(gateway.address, &request)
    };
    for (host, path, status, says) in [
        ("app.example", "/a&b", "403 Forbidden", "line 1 of route 1 of the gateway: /a&amp;b"),
        ("else.example", "/", "404 Not Found", "Nothing is served here."),
        ("bad.example", "/", "403 Forbidden", "Blocked by line 1 of mine: "),
    ] {
        let page = fetch(host, path, person);
        assert!(page.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{page}");
        for part in ["content-type: text/html", "cache-control: no-store", says, "</html>"] {
            assert!(page.contains(part), "{part} is missing: {page}");
        }
        let words = fetch(host, path, "*/*");
        assert!(words.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{words}");
        assert!(words.contains("content-type: text/plain") && !words.contains('<'), "{words}");
    }
    let page = fetch("app.example", "/", person);
    assert!(page.starts_with("HTTP/1.1 502") && page.contains("does not answer.</p>"), "{page}");
}

#[test]
fn routes_are_taken_in_order_by_host_and_path() {
    let (one, two) = (Origin::start(|_, _, _| ok("one")), Origin::start(|_, _, _| ok("two")));
    let mut settings = simple(&[one.address]);
    let servers = vec![format!("http://{}", two.address).into()];
    settings.pools.insert("two".into(), PoolSettings { servers, ..Default::default() });
    let route = |host: Option<&str>, path: &str, pool: Option<&str>| RouteSettings {
        host: host.map(Into::into),
        path: path.into(),
        pool: pool.map(Into::into),
        ..Default::default()
    };
    settings.routes = vec![
        RouteSettings { block: Some(block(&["/secret"])), ..Default::default() },
        route(Some("*.two.example"), "/*", Some("two")),
        route(None, "/two/*", Some("two")),
        route(Some("one.example"), "/*", Some("app")),
    ];
    let gateway = start(settings, parts(""));
    let fetch = |host: &str, path: &str| {
        ask(gateway.address, &format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"))
    };
    assert!(fetch("a.two.example", "/").ends_with("two"));
    assert!(fetch("one.example", "/two/x").ends_with("two"));
    assert!(fetch("ONE.example:80", "/").ends_with("one"));
    assert!(fetch("one.example", "/secret").starts_with("HTTP/1.1 403"));
    assert!(fetch("else.example", "/").starts_with("HTTP/1.1 404"));
    assert!(fetch("one.example", "/two/../admin").ends_with("one"));
    assert!(fetch("one.example", "/%2e%2e/admin").starts_with("HTTP/1.1 400"));
}

#[test]
fn servers_are_told_who_asks_and_not_what_the_client_claims() {
    let server = Origin::start(|_, _, _| ok("x"));
    let gateway = start(simple(&[server.address]), parts(""));
    ask(
        gateway.address,
        "GET /p?q HTTP/1.1\r\nHost: app.example\r\nX-Forwarded-For: 1.2.3.4\r\n\
         X-Forwarded-Proto: https\r\nX-Real-IP: 1.2.3.4\r\nForwarded: for=1.2.3.4\r\n\
         X_Forwarded_For: 1.2.3.4\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\n\r\n",
    );
    let seen = server.seen().concat().to_ascii_lowercase();
    assert!(seen.starts_with("get /p?q http/1.1\r\n"), "{seen}");
    for field in [
        "host: app.example",
        "x-forwarded-for: 127.0.0.1",
        "x-forwarded-proto: http",
        "x-forwarded-host: app.example",
        "via: 1.1 tidegate",
    ] {
        assert!(seen.contains(&format!("{field}\r\n")), "{field} not in {seen}");
    }
    assert!(!seen.contains("1.2.3.4") && !seen.contains("x-hop"), "{seen}");
}

#[test]
fn a_body_over_the_cap_is_refused_whether_announced_or_not() {
    let server = Origin::start(|_, _, _| ok("x"));
    let mut settings = simple(&[server.address]);
    settings.body_max = settings::Text("1KiB".parse().unwrap());
    let gateway = start(settings, parts(""));
    let announced = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1025\r\n\r\n";
    assert!(ask(gateway.address, announced).starts_with("HTTP/1.1 413"));
    assert_eq!(server.connections(), 0);
    let chunk = format!("400\r\n{}\r\n", "x".repeat(1024));
    let chunked = format!(
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}{chunk}0\r\n\r\n"
    );
    let answer = ask(gateway.address, &chunked);
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    assert!(server.seen().is_empty());
}

#[test]
fn a_websocket_passes_through_both_ways() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let request = read_message(&mut stream).unwrap();
        let switch = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\n\
                      Upgrade: websocket\r\nSec-WebSocket-Accept: abc\r\n\r\n";
        stream.write_all(switch.as_bytes()).unwrap();
        let mut ping = [0; 4];
        stream.read_exact(&mut ping).unwrap();
        stream.write_all(b"pong").unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        (request.to_ascii_lowercase(), ping, rest)
    });
    let gateway = start(simple(&[address]), parts(""));
    let mut client = TcpStream::connect(gateway.address).unwrap();
    let request = "GET /chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n\
                   Upgrade: websocket\r\nSec-WebSocket-Key: k\r\n\r\n";
    client.write_all(request.as_bytes()).unwrap();
    let head = read_message(&mut client).unwrap().to_ascii_lowercase();
    assert!(head.starts_with("http/1.1 101") && head.contains("upgrade: websocket"), "{head}");
    client.write_all(b"ping").unwrap();
    let mut reply = [0; 4];
    client.read_exact(&mut reply).unwrap();
    client.shutdown(std::net::Shutdown::Write).unwrap();
    let (request, ping, rest) = server.join().unwrap();
    assert!(request.contains("connection: upgrade") && request.contains("sec-websocket-key: k"));
    assert_eq!((&reply, &ping, rest), (b"pong", b"ping", Vec::new()));
}

#[test]
fn a_switch_that_nobody_asked_for_is_refused() {
    let server = Origin::start(|_, _, _| {
        Reply::Keep(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n".into(),
        )
    });
    let gateway = start(simple(&[server.address]), parts(""));
    assert!(get(&gateway, "/").starts_with("HTTP/1.1 502"));
}

#[test]
fn what_smuggles_is_refused_and_reaches_nobody() {
    let server = Origin::start(|_, _, _| ok("x"));
    let gateway = start(simple(&[server.address]), parts(""));
    for fields in [
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 4\r\nContent-Length: 5\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding : chunked\r\n",
        "Host: second.example\r\n",
    ] {
        let request =
            format!("POST / HTTP/1.1\r\nHost: a\r\n{fields}\r\n0\r\n\r\nGET /x HTTP/1.1\r\n\r\n");
        let answer = ask(gateway.address, &request);
        let refused = answer.starts_with("HTTP/1.1 400") || answer.starts_with("HTTP/1.1 501");
        assert!(refused, "{fields:?}: {answer}");
    }
    for method in ["CONNECT app.example:443", "TRACE /"] {
        let answer = ask(gateway.address, &format!("{method} HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert!(answer.starts_with("HTTP/1.1 405"), "{answer}");
    }
    assert_eq!(server.connections(), 0);
}

#[test]
fn a_request_that_comes_round_is_refused() {
    let server = Origin::start(|_, _, _| ok("x"));
    let gateway = start(simple(&[server.address]), parts(""));
    let via = ["1.1 tidegate"; origins::HOPS_MAX].join(", ");
    let request = format!("GET / HTTP/1.1\r\nHost: a\r\nVia: {via}\r\n\r\n");
    assert!(ask(gateway.address, &request).starts_with("HTTP/1.1 508"));
    assert_eq!(server.connections(), 0);
}

#[test]
fn a_silent_server_is_a_gateway_timeout() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut settings = simple(&[silent.local_addr().unwrap()]);
    settings.response_timeout = settings::Text("1s".parse().unwrap());
    let gateway = start(settings, parts(""));
    assert!(get(&gateway, "/").starts_with("HTTP/1.1 504"));
}

#[test]
fn curl_uploads_and_downloads_a_large_body() {
    let large = "y".repeat(3 << 20);
    let answer = large.clone();
    let server = Origin::start(move |_, _, _| ok(&answer));
    let gateway = start(simple(&[server.address]), parts(""));
    let file = scratch().join("large");
    std::fs::write(&file, &large).unwrap();
    let output = Command::new("curl")
        .args(["-sS", "--noproxy", "*", "--max-time", "20", "-T"])
        .arg(&file)
        .arg(format!("http://{}/upload", gateway.address))
        .output()
        .unwrap();
    assert!(output.stdout == large.as_bytes(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(server.seen()[0].ends_with(&large));
}
