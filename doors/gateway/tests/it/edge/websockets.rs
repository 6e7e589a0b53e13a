//! A WebSocket is passed on over HTTP/1.1 and HTTP/2, and kept through every reload.

use super::http2::prior_knowledge;
use crate::support::{DEADLINE, Gateway, Origin, Reply, ask, get, ok, parts, simple, start};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::Request;
use http_engine::Body;
use http_engine::upgrade::{self, Protocol};
use sha1::{Digest, Sha1};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// What a server does with a handshake.
#[derive(Clone, Copy)]
enum Manner {
    /// Takes it, and echoes what comes.
    Echo,
    /// The same, and fails other requests while this is set.
    Ill(&'static AtomicBool),
    /// Takes it without having read it.
    Wrong,
    /// Says that all is well, and no more.
    Ok,
}

/// A server that answers each connection so; a request that wants no upgrade gets "x".
fn server(manner: Manner) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            std::thread::spawn(move || serve(stream.unwrap(), manner));
        }
    });
    address
}

fn serve(mut stream: TcpStream, manner: Manner) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte).unwrap_or(0) == 0 {
            return;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let Some(key) = head.split("sec-websocket-key: ").nth(1).and_then(|it| it.lines().next())
    else {
        let status = match manner {
            Manner::Ill(ill) if ill.load(SeqCst) => "500 Ill",
            Manner::Ill(_) | Manner::Echo | Manner::Wrong | Manner::Ok => "200 OK",
        };
        let answer = format!("HTTP/1.1 {status}\r\nConnection: close\r\n\r\nx");
        stream.write_all(answer.as_bytes()).unwrap();
        return;
    };
    assert!(head.starts_with("GET ") && head.contains("upgrade: websocket\r\n"), "{head}");
    assert!(head.contains("sec-websocket-version: 13\r\n"), "{head}");
    let mut hash = Sha1::new();
    hash.update(key.as_bytes());
    hash.update(b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    let accept = match manner {
        Manner::Echo | Manner::Ill(_) => BASE64.encode(hash.finalize()),
        Manner::Wrong => "wrong".to_owned(),
        Manner::Ok => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nx").unwrap();
            return;
        }
    };
    let switch =
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n";
    stream.write_all(format!("{switch}Sec-WebSocket-Accept: {accept}\r\n\r\n").as_bytes()).unwrap();
    let mut piece = [0; 1024];
    while let Ok(count @ 1..) = stream.read(&mut piece) {
        stream.write_all(&piece[..count]).unwrap();
    }
}

/// Opens a WebSocket over HTTP/1.1; what comes after the server's head is its own.
fn open(gateway: &Gateway) -> TcpStream {
    let mut stream = TcpStream::connect(gateway.address).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let request = "GET /chat HTTP/1.1\r\nHost: app.example\r\nConnection: Upgrade\r\n\
        Upgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
        Sec-WebSocket-Version: 13\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    assert!(head.starts_with(b"HTTP/1.1 101 "), "{}", head.escape_ascii());
    stream
}

fn echo(stream: &mut TcpStream, text: &[u8]) {
    stream.write_all(text).unwrap();
    let mut said = vec![0; text.len()];
    stream.read_exact(&mut said).unwrap();
    assert_eq!(said, text);
}

/// Waits until so many connections have left HTTP.
fn until_open(gateway: &Gateway, count: u32) {
    let begun = Instant::now();
    while gateway.door.upgrades_open() != count {
        assert!(begun.elapsed() < DEADLINE, "{} are open", gateway.door.upgrades_open());
        std::thread::yield_now();
    }
}

#[test]
fn a_websocket_outlives_reloads_and_its_own_route() {
    let mut settings = simple(&[server(Manner::Echo)]);
    let gateway = start(settings.clone(), parts(""));
    let mut socket = open(&gateway);
    echo(&mut socket, b"before");
    for turn in 0..3 {
        settings.routes[0].path = format!("/{turn}/*");
        gateway.door.reload(settings.clone()).unwrap();
        echo(&mut socket, format!("after {turn}").as_bytes());
    }
    settings.pools.clear();
    settings.routes[0].pool = None;
    gateway.door.reload(settings).unwrap();
    assert!(get(&gateway, "/chat").starts_with("HTTP/1.1 404 "));
    echo(&mut socket, b"without a pool");
    until_open(&gateway, 1);
    drop(socket);
    until_open(&gateway, 0);
}

#[test]
fn a_websocket_keeps_nobody_from_trying_a_server_that_rests() {
    static ILL: AtomicBool = AtomicBool::new(true);
    let mut settings = simple(&[server(Manner::Ill(&ILL))]);
    let pool = settings.pools.get_mut("app").unwrap();
    (pool.passive.failures, pool.passive.share) = (1, 100);
    let gateway = start(settings, parts(""));
    let mut socket = open(&gateway);
    echo(&mut socket, b"before");
    assert!(get(&gateway, "/").starts_with("HTTP/1.1 500 "));
    assert_eq!(gateway.door.pools()[0].servers[0].state, "resting");
    ILL.store(false, SeqCst);
    let begun = Instant::now();
    while !get(&gateway, "/").starts_with("HTTP/1.1 200 ") {
        assert!(begun.elapsed() < DEADLINE, "it is not tried");
        std::thread::yield_now();
    }
    assert_eq!(gateway.door.pools()[0].servers[0].state, "up");
    echo(&mut socket, b"after");
}

#[test]
fn no_more_leave_http_than_may() {
    let mut settings = simple(&[server(Manner::Echo)]);
    settings.upgrades = 1;
    let gateway = start(settings, parts(""));
    let mut first = open(&gateway);
    echo(&mut first, b"first");
    let request = "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    let second = crate::support::ask(gateway.address, request);
    assert!(second.starts_with("HTTP/1.1 503 "), "{second}");
    assert!(second.contains("retry-after: 10\r\n"), "{second}");
    drop(first);
    until_open(&gateway, 0);
    echo(&mut open(&gateway), b"third");
}

/// Asks for a WebSocket over HTTP/2, and says what it carries if it opens.
async fn over_http2(manner: Manner) -> Result<Vec<u8>, u16> {
    let mut settings = simple(&[server(manner)]);
    settings.h2c = true;
    let gateway = start(settings, parts(""));
    let local = tokio::task::LocalSet::new();
    local
        .run_until(async {
            let mut sender = prior_knowledge(gateway.address).await;
            // By its answer the client has heard that it may leave HTTP.
            let request = Request::get("http://app.example/").body(Body::empty()).unwrap();
            assert_eq!(sender.send(request).await.unwrap().status(), 200);
            let mut request = Request::connect("http://app.example/chat")
                .header("sec-websocket-version", "13")
                .body(Body::empty())
                .unwrap();
            request.extensions_mut().insert(Protocol::from_static("websocket"));
            let mut answer = sender.send(request).await.unwrap();
            if answer.status() != 200 {
                return Err(answer.status().as_u16());
            }
            assert!(!answer.headers().contains_key("sec-websocket-accept"));
            let mut stream = upgrade::stream(upgrade::on(&mut answer)).await.unwrap();
            stream.write_all(b"over two").await.unwrap();
            let mut said = vec![0; 8];
            stream.read_exact(&mut said).await.unwrap();
            Ok(said)
        })
        .await
}

#[tokio::test]
async fn a_websocket_over_http2_is_one_over_http1_to_the_server() {
    assert_eq!(over_http2(Manner::Echo).await, Ok(b"over two".to_vec()));
}

#[tokio::test]
async fn a_server_that_does_not_know_websockets_opens_none() {
    assert_eq!(over_http2(Manner::Wrong).await, Err(502));
    assert_eq!(over_http2(Manner::Ok).await, Err(502));
}

/// A server that leaves HTTP for `protocol`, whatever it was asked, and what it was asked.
fn switching(protocol: &str) -> Origin {
    let head = format!(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: {protocol}\r\n\r\n"
    );
    Origin::start(move |_, _, _| Reply::Keep(head.clone()))
}

fn asking_for(protocol: &str) -> String {
    format!(
        "GET /pub HTTP/1.1\r\nHost: app.example\r\nConnection: Upgrade, HTTP2-Settings\r\n\
         Upgrade: {protocol}\r\nHTTP2-Settings: AAMAAABk\r\n\r\n"
    )
}

#[test]
fn no_server_is_asked_for_http_inside_http() {
    for (asked, switched) in [
        ("h2c", "h2c"),
        ("H2C", "h2c"),
        ("h2c/1", "h2c/1"),
        ("h2c, x", "h2c"),
        ("x", "x"),
        ("websocket, h2c", "h2c"),
        ("h2c\r\nUpgrade: websocket", "h2c"),
        ("websocket", "h2c"),
        ("websocket", "websocket, h2c"),
        ("websocket", "websocket\r\nUpgrade: h2c"),
    ] {
        let server = switching(switched);
        let gateway = start(simple(&[server.address]), parts(""));
        let answer = ask(gateway.address, &asking_for(asked));
        assert!(answer.starts_with("HTTP/1.1 502 "), "{asked} {switched}: {answer}");
        let seen = server.seen().concat();
        assert!(!seen.contains("h2c") && !seen.contains("http2-settings"), "{asked}: {seen}");
        assert_eq!(seen.contains("upgrade: websocket\r\n"), asked.contains("websocket"), "{seen}");
    }
}

#[test]
fn a_request_without_the_protocol_is_answered_all_the_same() {
    let server = Origin::start(|_, _, _| ok("plain"));
    let gateway = start(simple(&[server.address]), parts(""));
    assert!(ask(gateway.address, &asking_for("h2c")).ends_with("plain"));
    let old = asking_for("websocket").replace("HTTP/1.1", "HTTP/1.0");
    assert!(ask(gateway.address, &old).ends_with("plain"));
    assert!(!server.seen().concat().contains("upgrade"), "{:?}", server.seen());
}

#[test]
fn a_route_may_allow_another_protocol() {
    let server = switching("Echo");
    let mut settings = simple(&[server.address]);
    settings.routes[0].upgrade = vec!["echo".into()];
    let gateway = start(settings, parts(""));
    let answer = ask(gateway.address, &asking_for("h2c, echo"));
    assert!(answer.starts_with("HTTP/1.1 101 "), "{answer}");
    let answer = ask(gateway.address, &asking_for("websocket"));
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    assert!(server.seen()[0].contains("upgrade: echo\r\n"), "{:?}", server.seen());
}

#[test]
fn http_inside_http_cannot_be_allowed() {
    let mut settings = simple(&["127.0.0.1:1".parse().unwrap()]);
    settings.routes[0].upgrade = ["websocket", "H2C", "TLS/1.2", "a b"].map(Into::into).into();
    let paths: Vec<_> = settings.check().into_iter().map(|it| it.path).collect();
    assert_eq!(paths, ["routes.0.upgrade.1", "routes.0.upgrade.2", "routes.0.upgrade.3"]);
}

#[tokio::test]
async fn a_stream_of_http2_becomes_a_websocket_only_where_that_is_allowed() {
    let mut settings = simple(&[server(Manner::Echo)]);
    settings.h2c = true;
    settings.routes[0].upgrade = Vec::new();
    let gateway = start(settings, parts(""));
    let status = async {
        let mut sender = prior_knowledge(gateway.address).await;
        let request = Request::get("http://app.example/").body(Body::empty()).unwrap();
        assert_eq!(sender.send(request).await.unwrap().status(), 200);
        let mut request = Request::connect("http://app.example/chat").body(Body::empty()).unwrap();
        request.extensions_mut().insert(Protocol::from_static("websocket"));
        sender.send(request).await.unwrap().status()
    };
    assert_eq!(tokio::task::LocalSet::new().run_until(status).await, 405);
}
