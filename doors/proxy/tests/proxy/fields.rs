//! Header fields, protocols that are switched to, and trailers.

use crate::support::{DEADLINE, Origin, Reply, ask, ok, proxy, read_message, serve_one, until};
use door_proxy::{FieldDisclosure, RefererPolicy};
use std::io::{Read, Write};
use std::net::TcpStream;

#[test]
fn the_owner_says_what_origins_and_clients_learn() {
    let origin = Origin::start(|_, _, _| {
        Reply::Keep("HTTP/1.1 200 OK\r\nX-Spy: 1\r\nContent-Length: 0\r\n\r\n".into())
    });
    let proxy = proxy("", |settings| {
        settings.censor = vec!["X-Spy".into(), "User-Agent".into()];
        settings.via = FieldDisclosure::Off;
        settings.x_forwarded_for = FieldDisclosure::On;
        settings.no_transform = FieldDisclosure::On;
        settings.referer = RefererPolicy::SameSite;
    });
    let request = |referer: &str| {
        format!(
            "GET http://{}/ HTTP/1.1\r\nHost: a\r\nUser-Agent: me\r\nX-Spy: 2\r\n\
             Referer: {referer}\r\n\r\n",
            origin.address
        )
    };
    let answer = ask(proxy, &request("http://elsewhere.example/page"));
    assert!(!answer.contains("x-spy") && !answer.contains("via:"), "{answer}");
    ask(proxy, &request("http://127.0.0.1/page"));
    let seen: Vec<_> = origin.seen().iter().map(|it| it.to_ascii_lowercase()).collect();
    assert!(!seen[0].contains("referer") && seen[1].contains("referer: http://127.0.0.1/page"));
    for seen in seen {
        assert!(seen.contains("x-forwarded-for: 127.0.0.1\r\n"), "{seen}");
        assert!(seen.contains("cache-control: no-transform\r\n"), "{seen}");
        for taken in ["x-spy", "user-agent", "via:"] {
            assert!(!seen.contains(taken), "{taken} in {seen}");
        }
    }
}

#[test]
fn a_websocket_is_carried_both_ways() {
    let address = serve_one(|mut stream| {
        let request = read_message(&mut stream).unwrap().to_ascii_lowercase();
        assert!(request.contains("upgrade: websocket") && request.contains("connection: upgrade"));
        let head = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\
                    Upgrade: websocket\r\n\r\nfirst";
        stream.write_all(head.as_bytes()).unwrap();
        let mut said = [0; 4];
        stream.read_exact(&mut said).unwrap();
        stream.write_all(&said).unwrap();
    });
    let mut client = TcpStream::connect(proxy("", |_| {})).unwrap();
    client.set_read_timeout(Some(DEADLINE)).unwrap();
    let request = format!(
        "GET http://{address}/chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n\
         Upgrade: websocket\r\n\r\n"
    );
    client.write_all(request.as_bytes()).unwrap();
    client.write_all(b"ping").unwrap();
    let mut all = String::new();
    client.read_to_string(&mut all).unwrap();
    assert!(all.starts_with("HTTP/1.1 101"), "{all}");
    assert!(all.to_ascii_lowercase().contains("upgrade: websocket"), "{all}");
    assert!(all.ends_with("firstping"), "{all}");
}

/// An origin that leaves HTTP for `protocol`, whatever it was asked.
fn switching(protocol: &str) -> Origin {
    let head = format!("HTTP/1.1 101 Switching Protocols\r\nUpgrade: {protocol}\r\n\r\n");
    Origin::start(move |_, _, _| Reply::Keep(head.clone()))
}

#[test]
fn a_switch_to_what_was_not_asked_for_is_refused() {
    for (asked, switched) in [
        ("", "h2c"),
        ("h2c", "h2c"),
        ("h2c/1", "h2c/1"),
        ("H2C, x", "x"),
        ("echo", "echo"),
        ("websocket", "h2c"),
        ("websocket, h2c", "h2c"),
        ("websocket", "websocket, h2c"),
    ] {
        let origin = switching(switched);
        let fields = match asked {
            "" => String::new(),
            asked => format!(
                "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: {asked}\r\nHTTP2-Settings: AAM\r\n"
            ),
        };
        let request = format!("GET http://{}/ HTTP/1.1\r\nHost: a\r\n{fields}\r\n", origin.address);
        let answer = ask(proxy("", |_| {}), &request);
        assert!(answer.starts_with("HTTP/1.1 502"), "{asked} {switched}: {answer}");
        let seen = origin.seen().concat().to_ascii_lowercase();
        assert!(!seen.contains("h2c") && !seen.contains("echo"), "{asked}: {seen}");
        assert_eq!(seen.contains("upgrade: websocket\r\n"), asked.contains("websocket"), "{seen}");
    }
}

#[test]
fn a_protocol_that_is_allowed_passes() {
    let origin = switching("echo");
    let proxy = proxy("", |settings| settings.upgrade = vec!["echo".into()]);
    let request = format!(
        "GET http://{}/ HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x, Echo\r\n\r\n",
        origin.address
    );
    let answer = ask(proxy, &request).to_ascii_lowercase();
    assert!(answer.starts_with("http/1.1 101") && answer.contains("upgrade: echo"), "{answer}");
}

#[test]
fn an_origin_that_wants_a_proxys_password_learns_none() {
    let origin = Origin::start(|_, _, _| {
        let head = "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n";
        Reply::Keep(head.into())
    });
    let request = format!("GET http://{}/ HTTP/1.1\r\nHost: a\r\n\r\n", origin.address);
    assert!(ask(proxy("", |_| {}), &request).starts_with("HTTP/1.1 502"));
}

#[test]
fn trailers_pass_both_ways() {
    let origin = Origin::start(|_, _, _| {
        let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n\
                      3\r\nabc\r\n0\r\nX-Sum: 7\r\n\r\n";
        Reply::Close(answer.into())
    });
    let mut client = TcpStream::connect(proxy("", |_| {})).unwrap();
    client.set_read_timeout(Some(DEADLINE)).unwrap();
    let request = format!(
        "PUT http://{}/ HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: TE, close\r\n\
         Transfer-Encoding: chunked\r\nTrailer: Digest, X-Up\r\n\r\n2\r\nhi\r\n0\r\n\
         Digest: 9\r\nX-Up: 8\r\n\r\n",
        origin.address
    );
    client.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    let lower = answer.to_ascii_lowercase();
    assert!(lower.contains("abc") && lower.contains("x-sum: 7"), "{answer}");
    let seen = origin.seen()[0].to_ascii_lowercase();
    assert!(seen.contains("digest: 9") && !seen.contains("x-up"), "{seen}");
}

#[test]
fn ports_of_mail_and_shells_are_not_fetched_from() {
    let proxy = proxy("", |_| {});
    for port in [22, 25, 53] {
        let answer =
            ask(proxy, &format!("GET http://127.0.0.1:{port}/ HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("fetch_ports"), "{answer}");
    }
    let origin = Origin::start(|_, _, _| ok("x"));
    let request = format!("GET http://{}/ HTTP/1.1\r\nHost: a\r\n\r\n", origin.address);
    assert!(ask(proxy, &request).ends_with('x'));
    until("it is seen", || origin.seen().len() == 1);
}
