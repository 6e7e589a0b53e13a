//! A filter in WebAssembly that doors are tried with.

/// Passes `x-user` on as `x-team`, answers requests with `x-no`, traps at `x-trap`, loops at
/// `x-loop`, and takes `server` out of answers.
pub const PROBE_FILTER: &str = r#"(module
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
