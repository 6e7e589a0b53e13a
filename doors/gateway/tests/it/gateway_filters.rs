//! Filters in WebAssembly at routes: what they change on the way to a server and back, and what a
//! faulty one costs.

use crate::support;

use door_gateway::{LuauChoice, OnScriptError};
use support::{Gateway, Origin, ask, ok, parts, simple, start};
use test_support::OriginReply;
use wasm_filters::WasmFilterSettings;

/// Passes `x-user` on as `x-team`, answers requests with `x-no`, traps at `x-trap`, loops at
/// `x-loop`, and takes `server` out of answers.
const FILTER: &str = r#"(module
  (import "env" "proxy_get_header_map_value" (func $get (param i32 i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_replace_header_map_value" (func $set (param i32 i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_remove_header_map_value" (func $remove (param i32 i32 i32) (result i32)))
  (import "env" "proxy_send_local_response"
    (func $respond (param i32 i32 i32 i32 i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "x-userx-teamx-nox-trapx-loopserverNot here.\n")
  (func (export "proxy_abi_version_0_2_1"))
  (func (export "proxy_on_memory_allocate") (param i32) (result i32) (i32.const 4096))
  (func $has (param $name i32) (param $size i32) (result i32)
    (i32.eqz (call $get (i32.const 0) (local.get $name) (local.get $size) (i32.const 100) (i32.const 104))))
  (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
    (if (call $has (i32.const 12) (i32.const 4)) (then
      (drop (call $respond (i32.const 403) (i32.const 0) (i32.const 0) (i32.const 34) (i32.const 10)
        (i32.const 0) (i32.const 0) (i32.const -1)))
      (return (i32.const 1))))
    (if (call $has (i32.const 16) (i32.const 6)) (then unreachable))
    (if (call $has (i32.const 22) (i32.const 6)) (then (loop $on (br $on))))
    (if (call $has (i32.const 0) (i32.const 6)) (then
      (drop (call $set (i32.const 0) (i32.const 6) (i32.const 6)
        (i32.load (i32.const 100)) (i32.load (i32.const 104))))))
    (i32.const 0))
  (func (export "proxy_on_response_headers") (param i32 i32 i32) (result i32)
    (drop (call $remove (i32.const 2) (i32.const 28) (i32.const 6)))
    (i32.const 0)))"#;

/// A gateway with one pool behind one route with this filter, after a script.
fn filtered(server: &Origin, on_error: OnScriptError) -> Gateway {
    let parts = parts("");
    std::fs::write(parts.base.join("a.wasm"), wat::parse_str(FILTER).unwrap()).unwrap();
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
