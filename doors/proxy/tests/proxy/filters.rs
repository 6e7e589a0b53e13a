//! Filters in WebAssembly at the proxy: what they change on the way to an origin and back, and what
//! a faulty one costs.

use crate::support::{Origin, Reply, ask, get, ok, proxy, scratch};
use door_proxy::OnScriptError;
use std::net::SocketAddr;
use test_support::PROBE_FILTER;
use wasm_filters::WasmFilterSettings;

fn filter(on_error: OnScriptError) -> WasmFilterSettings {
    let file = scratch().join("a.wasm");
    std::fs::write(&file, wat::parse_str(PROBE_FILTER).unwrap()).unwrap();
    let file = file.display().to_string();
    WasmFilterSettings { file, on_error, ..WasmFilterSettings::default() }
}

fn filtered(on_error: OnScriptError) -> SocketAddr {
    proxy("||ads.example^\n", |proxy| proxy.wasm = vec![filter(on_error)])
}

/// A request with one more field.
fn with(proxy: SocketAddr, url: &str, field: &str) -> String {
    ask(proxy, &format!("GET {url} HTTP/1.1\r\nHost: a.example\r\n{field}\r\n\r\n"))
}

#[test]
fn a_filter_lets_pass_changes_and_refuses() {
    let origin = Origin::start(|_, _, request| ok(&request.replace("\r\n", "|")));
    let proxy = filtered(OnScriptError::Fail);
    let url = format!("http://{}/", origin.address);
    assert!(get(proxy, &url).starts_with("HTTP/1.1 200 "));
    let changed = with(proxy, &url, "X-User: ann").to_ascii_lowercase();
    assert!(changed.contains("|x-team: ann|"), "{changed}");
    let asked = origin.seen().len();
    let refused = with(proxy, &url, "X-No: 1");
    assert!(refused.starts_with("HTTP/1.1 403 ") && refused.ends_with("Not here.\n"), "{refused}");
    assert_eq!(origin.seen().len(), asked);
    // The policy comes first: its block is not the filter's to answer.
    let blocked = with(proxy, "http://ads.example/", "X-No: 1");
    assert!(blocked.starts_with("HTTP/1.1 403 ") && !blocked.contains("Not here."), "{blocked}");
}

#[test]
fn a_filter_changes_answers_of_cache_and_origin_alike() {
    let origin = Origin::start(|_, _, _| {
        let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nServer: old\r\n";
        Reply::Keep(format!("{head}Content-Length: 2\r\n\r\nhi"))
    });
    let proxy = proxy("", |proxy| {
        proxy.wasm = vec![filter(OnScriptError::Fail)];
        proxy.cache = Some(http_cache::Settings::default());
    });
    let url = format!("http://{}/", origin.address);
    for _ in 0..2 {
        let answer = get(proxy, &url).to_ascii_lowercase();
        assert!(answer.ends_with("hi") && !answer.contains("server: old"), "{answer}");
    }
    assert!(with(proxy, &url, "X-No: 1").starts_with("HTTP/1.1 403 "));
    assert_eq!(origin.seen().len(), 1);
}

#[test]
fn a_tunnel_may_be_refused_by_a_filter() {
    let origin = Origin::start(|_, _, _| ok("inside"));
    let proxy = filtered(OnScriptError::Fail);
    let to = origin.address;
    let connect =
        |field: &str| ask(proxy, &format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n{field}\r\n"));
    assert!(connect("X-No: 1\r\n").starts_with("HTTP/1.1 403 "));
    assert!(connect("X-Trap: 1\r\n").starts_with("HTTP/1.1 500 "));
    assert!(connect("").starts_with("HTTP/1.1 200 "));
}

#[test]
fn a_filter_that_traps_or_loops_fails_its_request_and_no_other() {
    let origin = Origin::start(|_, _, _| ok("fine"));
    let url = format!("http://{}/", origin.address);
    let (failing, passing) = (filtered(OnScriptError::Fail), filtered(OnScriptError::Pass));
    for fault in ["X-Trap: 1", "X-Loop: 1"] {
        assert!(with(failing, &url, fault).starts_with("HTTP/1.1 500 "), "{fault}");
        assert!(get(failing, &url).ends_with("fine"), "{fault}");
        assert!(with(passing, &url, fault).ends_with("fine"), "{fault}");
    }
}
