//! Filters in WebAssembly at routes: what they change on the way to a server and back, and what a
//! faulty one costs.

use crate::support;

use door_gateway::{LuauChoice, OnScriptError};
use support::{Gateway, Origin, ask, ok, parts, simple, start};
use test_support::{OriginReply, PROBE_FILTER};
use wasm_filters::WasmFilterSettings;

/// A gateway with one pool behind one route with this filter, after a script.
fn filtered(server: &Origin, on_error: OnScriptError) -> Gateway {
    let parts = parts("");
    std::fs::write(parts.base.join("a.wasm"), wat::parse_str(PROBE_FILTER).unwrap()).unwrap();
    let script = "function on_request(request)
            if request:header('x-team') then request:respond(400) end
        end
        function on_response(response)
            response:set_header('x-server', response:header('server') or 'none')
        end";
    std::fs::write(parts.base.join("a.luau"), script).unwrap();
    let mut settings = simple(&[server.address]);
    settings.routes[0].script = Some(LuauChoice::File("a.luau".into()));
    settings.routes[0].wasm = vec![WasmFilterSettings {
        file: "a.wasm".to_owned(),
        on_error,
        ..WasmFilterSettings::default()
    }];
    start(settings, parts)
}

fn request(gateway: &Gateway, fields: &str) -> String {
    let head = format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}Connection: close\r\n\r\n");
    ask(gateway.address, &head)
}

#[test]
fn a_filter_changes_what_a_server_reads_and_what_the_client_gets() {
    let server = Origin::start(|_, _, _| {
        let answer = "HTTP/1.1 200 OK\r\ncontent-length: 1\r\nserver: nginx\r\n\r\nx";
        OriginReply::Keep(answer.to_owned())
    });
    let gateway = filtered(&server, OnScriptError::Fail);
    let answer = request(&gateway, "X-User: ann\r\n");
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with('x'), "{answer}");
    // The filter stands next to the server, the script next to the client.
    assert!(answer.contains("x-server: none\r\n") && !answer.contains("nginx"), "{answer}");
    let seen = &server.seen()[0];
    assert!(seen.contains("x-team: ann\r\n"), "{seen}");
    let answer = request(&gateway, "X-No: 1\r\n");
    assert!(answer.starts_with("HTTP/1.1 403 ") && answer.ends_with("Not here.\n"), "{answer}");
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn a_faulty_filter_fails_its_request_and_no_other() {
    let server = Origin::start(|_, _, _| ok("x"));
    let gateway = filtered(&server, OnScriptError::Fail);
    for fault in ["X-Trap: 1\r\n", "X-Loop: 1\r\n"] {
        assert!(request(&gateway, fault).starts_with("HTTP/1.1 500 "));
        assert!(request(&gateway, "").starts_with("HTTP/1.1 200 "));
    }
    let gateway = filtered(&server, OnScriptError::Pass);
    assert!(request(&gateway, "X-Trap: 1\r\n").starts_with("HTTP/1.1 200 "));
}
