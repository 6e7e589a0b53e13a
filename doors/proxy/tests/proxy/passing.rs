//! Requests and tunnels: what reaches an origin, what does not, and what comes back.

use crate::support::{DEADLINE, Origin, Reply, ask, get, ok, proxy, read_message, until};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Command;

#[test]
fn a_request_goes_on_in_origin_form_signed_and_without_what_was_ours() {
    let origin = Origin::start(|_, _, _| ok("hello"));
    let proxy = proxy("", |_| {});
    let url = format!("http://{}/a?b=c", origin.address);
    let answer = ask(
        proxy,
        &format!(
            "GET {url} HTTP/1.1\r\nHost: liar.example\r\nProxy-Authorization: Basic eA==\r\n\
             Proxy-Connection: keep-alive\r\nConnection: X-Secret\r\nX-Secret: 1\r\nX-Kept: 2\r\n\r\n"
        ),
    );
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("hello"), "{answer}");
    assert!(answer.contains("via: 1.1 tidegate"), "{answer}");
    let seen = origin.seen().concat().to_ascii_lowercase();
    assert!(seen.starts_with("get /a?b=c http/1.1\r\n"), "{seen}");
    assert!(seen.contains(&format!("host: {}\r\n", origin.address)), "{seen}");
    assert!(seen.contains("via: 1.1 tidegate\r\n") && seen.contains("x-kept: 2"), "{seen}");
    for ours in ["proxy-", "x-secret", "x-forwarded", "liar"] {
        assert!(!seen.contains(ours), "{ours} in {seen}");
    }
}

#[test]
fn a_connection_to_an_origin_is_used_again() {
    let origin = Origin::start(|_, _, _| ok("x"));
    let proxy = proxy("", |_| {});
    let url = format!("http://{}/", origin.address);
    for _ in 0..5 {
        assert!(get(proxy, &url).ends_with('x'));
    }
    assert_eq!((origin.connections(), origin.seen().len()), (1, 5));
}

/// An origin whose first connection dies at its second request, unanswered.
fn forgetful_origin() -> Origin {
    Origin::start(|connection, request, _| match (connection, request) {
        (0, 1) => Reply::Close(String::new()),
        _ => ok("x"),
    })
}

#[test]
fn a_get_that_meets_a_dead_connection_is_sent_once_more() {
    let origin = forgetful_origin();
    let proxy = proxy("", |_| {});
    let url = format!("http://{}/", origin.address);
    assert!(get(proxy, &url).starts_with("HTTP/1.1 200"));
    assert!(get(proxy, &url).starts_with("HTTP/1.1 200"));
    assert_eq!((origin.connections(), origin.seen().len()), (2, 3));
}

#[test]
fn a_post_that_meets_a_dead_connection_is_not_repeated() {
    let origin = forgetful_origin();
    let proxy = proxy("", |_| {});
    let url = format!("http://{}/", origin.address);
    assert!(get(proxy, &url).starts_with("HTTP/1.1 200"));
    let post = format!("POST {url} HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
    let answer = ask(proxy, &post);
    assert!(answer.starts_with("HTTP/1.1 502"), "{answer}");
    assert!(answer.contains("connection_terminated"), "{answer}");
    assert_eq!((origin.connections(), origin.seen().len()), (1, 2));
}

#[test]
fn a_blocked_url_never_reaches_its_origin_and_says_why() {
    let origin = Origin::start(|_, _, _| ok("ad"));
    let proxy = proxy("||127.0.0.1^*/ads/\n/banner*.exe\n", |_| {});
    for path in ["/ads/x.zip", "/ads/", "/img/banner-7.exe?x"] {
        let answer = get(proxy, &format!("http://{}{path}", origin.address));
        assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
        assert!(answer.contains("List mine, line "), "{answer}");
        assert!(answer.contains("tidegate why 'http://"), "{answer}");
    }
    assert!(get(proxy, &format!("http://{}/fine", origin.address)).ends_with("ad"));
    assert_eq!((origin.connections(), origin.seen().len()), (1, 1));
}

#[test]
fn a_blocked_host_gets_no_tunnel() {
    let proxy = proxy("||ads.example^\n", |_| {});
    let answer = ask(proxy, "CONNECT cdn.ads.example:443 HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    assert!(answer.contains("||ads.example^"), "{answer}");
}

#[test]
fn a_tunnel_carries_bytes_both_ways_and_lets_one_half_end_first() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let mut question = Vec::new();
        stream.read_to_end(&mut question).unwrap();
        stream.write_all(&vec![b'a'; 1 << 20]).unwrap();
        question
    });
    let proxy = proxy("", |_| {});
    let mut client = TcpStream::connect(proxy).unwrap();
    // What follows the head at once is the tunnel's first bytes.
    let hello = b"\x00hello\xff";
    client
        .write_all(format!("CONNECT {address} HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes())
        .unwrap();
    client.write_all(hello).unwrap();
    let head = read_message(&mut client).unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    client.shutdown(Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).unwrap();
    assert_eq!(server.join().unwrap(), hello);
    assert_eq!(answer.len(), 1 << 20);
}

#[test]
fn a_server_may_end_its_half_first_too() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.write_all(b"banner").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        rest
    });
    let proxy = proxy("", |_| {});
    let mut client = TcpStream::connect(proxy).unwrap();
    client.set_read_timeout(Some(DEADLINE)).unwrap();
    client
        .write_all(format!("CONNECT {address} HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes())
        .unwrap();
    let mut all = Vec::new();
    client.read_to_end(&mut all).unwrap();
    assert!(all.ends_with(b"banner"));
    client.write_all(b"still here").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(server.join().unwrap(), b"still here");
}

#[test]
fn a_request_that_comes_round_is_refused() {
    let origin = Origin::start(|_, _, _| ok("x"));
    let proxy = proxy("", |_| {});
    let via = ["1.1 tidegate"; origins::HOPS_MAX].join(", ");
    let request =
        format!("GET http://{}/ HTTP/1.1\r\nHost: a\r\nVia: {via}\r\n\r\n", origin.address);
    assert!(ask(proxy, &request).starts_with("HTTP/1.1 508"));
    assert_eq!(origin.connections(), 0);
}

#[test]
fn what_smuggles_is_refused_and_reaches_nobody() {
    let origin = Origin::start(|_, _, _| ok("x"));
    let proxy = proxy("", |_| {});
    let url = format!("http://{}/", origin.address);
    for fields in [
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
        "Content-Length: 4\r\nContent-Length: 5\r\n",
        "Content-Length: +4\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding : chunked\r\n",
        "X: a\r\n b\r\n",
        "Host: second.example\r\n",
    ] {
        let request = format!(
            "POST {url} HTTP/1.1\r\nHost: a\r\n{fields}\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n"
        );
        let answer = ask(proxy, &request);
        let refused = answer.starts_with("HTTP/1.1 400") || answer.starts_with("HTTP/1.1 501");
        assert!(refused, "{fields:?}: {answer}");
    }
    assert_eq!(origin.connections(), 0);
}

#[test]
fn bodies_of_both_kinds_arrive_whole() {
    let origin = Origin::start(|_, _, request| match request.split_once("\r\n\r\n") {
        Some((head, _)) if head.contains("chunked") => Reply::Keep(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n".into(),
        ),
        _ => ok("plain"),
    });
    let proxy = proxy("", |_| {});
    let url = format!("http://{}/", origin.address);
    let head = format!("PUT {url} HTTP/1.1\r\nHost: a\r\n");
    let chunked =
        ask(proxy, &format!("{head}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"));
    assert!(chunked.contains("\r\n3\r\nabc\r\n0\r\n\r\n"), "{chunked}");
    let plain = ask(proxy, &format!("{head}Content-Length: 5\r\n\r\nhello"));
    assert!(plain.ends_with("plain"), "{plain}");
    assert!(origin.seen().iter().all(|seen| seen.contains("hello")));
}

#[test]
fn an_expectation_is_met_and_the_body_passed_on() {
    let origin = Origin::start(|_, _, _| ok("thanks"));
    let proxy = proxy("", |_| {});
    let mut client = TcpStream::connect(proxy).unwrap();
    let head = format!(
        "POST http://{}/ HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n",
        origin.address
    );
    client.write_all(head.as_bytes()).unwrap();
    assert!(read_message(&mut client).unwrap().starts_with("HTTP/1.1 100"));
    client.write_all(b"body").unwrap();
    assert!(read_message(&mut client).unwrap().ends_with("thanks"));
    assert!(origin.seen()[0].ends_with("body"));
}

#[test]
fn a_client_of_http_1_0_is_served() {
    let origin = Origin::start(|_, _, _| ok("old"));
    let proxy = proxy("", |_| {});
    let answer = ask(proxy, &format!("GET http://{}/ HTTP/1.0\r\n\r\n", origin.address));
    assert!(answer.starts_with("HTTP/1.0 200") && answer.ends_with("old"), "{answer}");
    assert!(origin.seen()[0].contains("via: 1.0 tidegate"));
}

#[test]
fn a_browser_is_shown_a_page_where_a_program_gets_plain_words() {
    let proxy = proxy("", |_| {});
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let fetch = |fields: &str| {
        ask(proxy, &format!("GET http://{closed}/a&b HTTP/1.1\r\nHost: a\r\n{fields}\r\n"))
    };
    let page = fetch("Accept: text/html,*/*;q=0.8\r\n");
    assert!(page.starts_with("HTTP/1.1 502"), "{page}");
    for part in [
        "content-type: text/html",
        "proxy-status: tidegate; error=",
        &format!("could not fetch http://{closed}/a&amp;b: "),
    ] {
        assert!(page.contains(part), "{part} is missing: {page}");
    }
    let words = fetch("");
    assert!(words.contains("content-type: text/plain") && words.contains("/a&b: "), "{words}");
}

#[test]
fn who_takes_the_proxy_for_a_site_gets_help() {
    let proxy = proxy("", |_| {});
    let answer = ask(proxy, "GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("--proxy"), "{answer}");
    let page = ask(proxy, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("/proxy.pac"), "{page}");
}

#[test]
fn ports_and_destinations_and_clients_have_bounds() {
    let origin = Origin::start(|_, _, _| ok("x"));
    let port = origin.address.port();
    let narrow = proxy("", |settings| {
        settings.connect_ports = vec!["443".parse().map(settings::Text).unwrap()];
        settings.destinations = origins::DestinationScope::Public;
    });
    let answer = ask(narrow, &format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: a\r\n\r\n"));
    assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("connect_ports"), "{answer}");
    for host in [format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("[::1]:{port}")]
    {
        let answer = get(narrow, &format!("http://{host}/"));
        assert!(answer.contains("destination_ip_prohibited"), "{host}: {answer}");
    }
    let metadata = get(proxy("", |_| {}), "http://169.254.169.254/latest/");
    assert!(metadata.contains("destination_ip_prohibited"), "{metadata}");
    let strict = proxy("", |settings| {
        settings.clients = vec![settings::Text("10.0.0.0/8".parse().unwrap())];
    });
    let answer = get(strict, &format!("http://{}/", origin.address));
    assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("proxy.clients"), "{answer}");
    assert_eq!(origin.connections(), 0);
}

#[test]
fn an_origin_that_fails_becomes_a_status_with_its_reason() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let proxy = proxy("", |settings| {
        settings.response_timeout = settings::Text("1s".parse().unwrap());
    });
    let refused = get(proxy, &format!("http://{closed}/"));
    assert!(refused.starts_with("HTTP/1.1 502") && refused.contains("connection_refused"));
    let tunnel = ask(proxy, &format!("CONNECT {closed} HTTP/1.1\r\nHost: a\r\n\r\n"));
    assert!(tunnel.starts_with("HTTP/1.1 502"), "{tunnel}");
    let garbage = Origin::start(|_, _, _| Reply::Close("SSH-2.0-what\r\n\r\n".into()));
    let bad = get(proxy, &format!("http://{}/", garbage.address));
    assert!(bad.starts_with("HTTP/1.1 502") && bad.contains("http_protocol_error"), "{bad}");
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let slow = get(proxy, &format!("http://{}/", silent.local_addr().unwrap()));
    assert!(slow.starts_with("HTTP/1.1 504"), "{slow}");
}

#[test]
fn curl_fetches_through_it_and_through_a_tunnel() {
    let origin = Origin::start(|_, _, _| ok("curled"));
    let proxy = proxy("", |_| {});
    let url = format!("http://{}/", origin.address);
    for flags in [["--proxy"].as_slice(), ["--proxytunnel", "--proxy"].as_slice()] {
        let mut curl = Command::new("curl");
        curl.args(["-sS", "--noproxy", "", "--max-time", "10"]).args(flags);
        let output = curl.arg(format!("http://{proxy}")).arg(&url).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "curled", "{output:?}");
    }
    until("both arrive", || origin.seen().len() == 2);
}
