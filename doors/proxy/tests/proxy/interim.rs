//! What origins send ahead of their answers (1xx, RFC 8297): it reaches the client that waits.

use crate::support::{DEADLINE, Origin, Reply, curl, proxy};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

const KEPT: &str = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 2\r\n\r\nok";

/// An origin that sends this ahead of every answer.
fn hinting(ahead: &str) -> Origin {
    let all = ahead.to_owned() + KEPT;
    Origin::start(move |_, _, _| Reply::Keep(all.clone()))
}

/// All that the proxy says to one request, the last of its connection.
fn said(proxy: SocketAddr, method: &str, origin: &Origin) -> String {
    let mut stream = TcpStream::connect(proxy).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let (address, body) = (origin.address, if method == "POST" { "ab" } else { "" });
    let length = if body.is_empty() { "" } else { "Content-Length: 2\r\n" };
    let close = "Connection: close\r\n";
    let request = format!(
        "{method} http://{address}/ HTTP/1.1\r\nHost: {address}\r\n{length}{close}\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    said
}

#[test]
fn hints_go_ahead_of_the_answer_with_our_signature() {
    let hints = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nX-Tracked: 1\r\nConnection: X-Hop\r\n\
                 X-Hop: 1\r\n\r\n";
    for cache in [None, Some(http_cache::Settings::default())] {
        for method in ["GET", "POST"] {
            let origin = hinting(hints);
            let proxy = proxy("", |settings| {
                settings.cache.clone_from(&cache);
                settings.censor.push("X-Tracked".into());
            });
            let said = said(proxy, method, &origin);
            let expected = "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\nvia: 1.1 tidegate\r\n\r\nHTTP/1.1 200 OK";
            assert!(said.starts_with(expected), "{method}: {said}");
        }
    }
}

#[test]
fn curl_sees_the_hints_and_then_the_answer() {
    let origin = hinting("HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n");
    let cache = Some(http_cache::Settings::default());
    let proxy = proxy("", |settings| settings.cache = cache);
    let url = format!("http://{}/", origin.address);
    let said = curl(&["-v", "-x", &format!("http://{proxy}"), &url]);
    let at = |text: &str| said.find(text).unwrap_or_else(|| panic!("no {text} in {said}"));
    assert!(at("< HTTP/1.1 103 Early Hints") < at("< link: </a.css>; rel=preload"), "{said}");
    assert!(at("< link: </a.css>") < at("< HTTP/1.1 200 OK"), "{said}");
    // A stored answer brings none.
    let again = curl(&["-v", "-x", &format!("http://{proxy}"), &url]);
    assert!(again.contains(";hit;") && !again.contains("HTTP/1.1 103"), "{again}");
}

#[test]
fn an_origin_that_never_comes_to_its_answer_is_a_bad_gateway() {
    let hints = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".repeat(17);
    for method in ["GET", "POST"] {
        let said = said(proxy("", |_| {}), method, &hinting(&hints));
        let answer = said.rsplit("HTTP/1.1 ").next().unwrap();
        assert!(answer.starts_with("502 "), "{method}: {said}");
        assert!(said.matches("HTTP/1.1 103 ").count() <= 16, "{method}: {said}");
    }
}
