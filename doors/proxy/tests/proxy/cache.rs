//! What the settings of the cache make of requests: URLs that it leaves alone.

use crate::support::{Origin, Reply, ask, get, proxy};
use std::net::SocketAddr;

fn kept_for_long(fields: &str, body: &str) -> Reply {
    let length = body.len();
    Reply::Keep(format!(
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=3600\r\n{fields}Content-Length: {length}\r\n\r\n{body}"
    ))
}

fn caching(cache: http_cache::Settings) -> SocketAddr {
    proxy("", |settings| settings.cache = Some(cache))
}

#[test]
fn urls_that_are_never_kept_are_fetched_each_time_and_say_so() {
    let origin = Origin::start(|_, _, request| {
        let path = request.split(' ').nth(1).unwrap();
        kept_for_long(&format!("Content-Location: {path}\r\n"), "now")
    });
    let never = vec!["/live/*".to_owned()];
    let proxy = caching(http_cache::Settings { never, ..Default::default() });
    let url = |path: &str| format!("http://{}{path}", origin.address);
    let live = url("/live/1");
    // What a POST was answered with is not kept either.
    let head = format!("POST {live} HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx");
    assert!(ask(proxy, &head).ends_with("now"));
    // A field that stands twice has the request take the long way.
    for fields in ["", "", "X-Twice: 1\r\nX-Twice: 2\r\n"] {
        let answer = ask(proxy, &format!("GET {live} HTTP/1.1\r\nHost: a\r\n{fields}\r\n"));
        assert!(answer.ends_with("now"), "{answer}");
        assert!(answer.contains("cache-status: tidegate;fwd=bypass;detail=never\r\n"), "{answer}");
    }
    assert_eq!(origin.seen().len(), 4);
    for handled in ["tidegate;fwd=uri-miss;stored", "tidegate;hit"] {
        let answer = get(proxy, &url("/kept/1"));
        assert!(answer.contains(handled), "{answer}");
    }
    assert_eq!(origin.seen().len(), 5);
    // Whoever wants only what is stored gets nothing of it.
    let only = format!("GET {live} HTTP/1.1\r\nHost: a\r\nCache-Control: only-if-cached\r\n\r\n");
    let nothing = ask(proxy, &only);
    assert!(nothing.starts_with("HTTP/1.1 504"), "{nothing}");
    assert_eq!(origin.seen().len(), 5);
}
