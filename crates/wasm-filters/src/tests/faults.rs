//! Filters that do as they should not: each fails its own request, and the next finds a new
//! instance.

use super::*;
use scripting::OnScriptError;
use std::time::Duration;

/// A filter that does well unless the request has `x-bad`, and these lines then.
fn sometimes(lines: &str) -> String {
    format!(
        r#"(data (i32.const 0) "x-bad")
           (global $seen (mut i32) (i32.const 0))
           {}"#,
        on_request(&format!(
            "(if (i32.eqz (call $get (i32.const 0) (i32.const 0) (i32.const 5) (i32.const 100) (i32.const 104)))
               (then {lines}))"
        ))
    )
}

fn bad_request() -> ScriptedRequest {
    let mut bad = request();
    bad.headers.insert("x-bad", HeaderValue::from_static("1"));
    bad
}

#[test]
fn a_fault_fails_its_own_request_and_is_named() {
    for (lines, words) in [
        ("unreachable", "wasm trap: wasm `unreachable` instruction executed"),
        ("(loop $on (br $on))", "it ran for more than 5ms"),
        (
            "(loop $on (drop (memory.grow (i32.const 16))) (br $on))",
            "it wanted more than 33554432 bytes of memory",
        ),
        ("(drop (i32.load (i32.const -4)))", "wasm trap: out of bounds memory access"),
        (
            "(drop (call $log (i32.const 2) (i32.const -1) (i32.const 9)))",
            "it gave proxy_log a place outside its memory",
        ),
        (
            "(drop (call $get (i32.const 0) (i32.const 0) (i32.const 5) (i32.const -2) (i32.const 104)))",
            "it gave proxy_get_header_map_value a place outside its memory",
        ),
        (
            "(drop (call $set (i32.const 0) (i32.const 0) (i32.const 5) (i32.const 0) (i32.const -1)))",
            "it gave proxy_replace_header_map_value a place outside its memory",
        ),
        ("(call $deep)", "wasm trap: call stack exhausted"),
        ("(return (i32.const 1))", "it paused the request, and nothing would go on with it"),
    ] {
        let filter = TestFilter::of(&format!("(func $deep (call $deep)) {}", sometimes(lines)));
        let other = filter.visit();
        assert!(matches!(other.on_request(&mut request()), FilterCourse::Same));
        let course = filter.visit().on_request(&mut bad_request());
        assert!(matches!(course, FilterCourse::Failed), "{lines}: {course:?}");
        let line = format!("filter test.wasm: proxy_on_request_headers: {words}");
        assert_eq!(filter.log(), [line], "{lines}");
        // A request that was on its way goes on in a new instance, as does the next.
        assert!(other.on_response(&mut request(), &mut response()));
        assert!(matches!(filter.request().0, FilterCourse::Same));
        let counts = filter.chain().counts().next().expect("there is one").1;
        assert_eq!(counts.errors, 1);
        assert_eq!(counts.ended, u64::from(words.contains("ran for")));
    }
}

#[test]
fn a_failing_filter_that_may_passes() {
    let settings =
        WasmFilterSettings { on_error: OnScriptError::Pass, ..WasmFilterSettings::default() };
    let filter = TestFilter::with(&sometimes("unreachable"), settings);
    for _ in 0..3 {
        let course = filter.visit().on_request(&mut bad_request());
        assert!(matches!(course, FilterCourse::Same), "{course:?}");
    }
    assert_eq!(filter.chain().counts().next().expect("there is one").1.errors, 3);
}

#[test]
fn a_filter_that_loops_as_it_starts_is_refused() {
    let body = r#"(func (export "proxy_on_vm_start") (param i32 i32) (result i32)
        (loop $on (br $on)) (i32.const 1))"#;
    let mut filter = TestFilter::closed(&module(body), WasmFilterSettings::default());
    let why = filter.open().expect_err("it never ends").to_string();
    assert!(why.starts_with("wasm.0: test.wasm: proxy_on_vm_start: it ran for more than"), "{why}");
}

#[test]
fn a_file_that_is_no_filter_is_refused_with_the_reason() {
    let parse = |text: &str| wat::parse_str(text).expect("the test wrote it well");
    let importing = |import: &str| parse(&format!("(module (import {import}) {FRAME})"));
    for (bytes, words) in [
        (b"(module)".to_vec(), "is no module that runs here"),
        (parse("(module)"), "is no filter of proxy-wasm 0.2"),
        (parse(r#"(module (func (export "proxy_abi_version_0_2_1")))"#), "exports no memory"),
        (
            importing(r#""env" "proxy_fly" (func (result i32))"#),
            "imports proxy_fly of env, which is not served here",
        ),
        (
            importing(r#""wasi_snapshot_preview1" "path_open" (func (result i32))"#),
            "imports path_open of wasi_snapshot_preview1, which is not served here",
        ),
        (
            importing(r#""env" "proxy_done" (func (param i32))"#),
            "incompatible import type for `env::proxy_done`",
        ),
        (
            importing(r#""env" "proxy_http_call" (func)"#),
            "imports proxy_http_call with arguments that it has not",
        ),
        (module("(memory 1)"), "is no module that runs here"),
        (
            parse(
                r#"(module (func (export "proxy_abi_version_0_2_1"))
                    (memory (export "memory") 1000))"#,
            ),
            "its instance: it wanted more than 33554432 bytes of memory",
        ),
        (module(r#"(func (export "proxy_on_log") (result i32) (i32.const 0))"#), "proxy_on_log: "),
    ] {
        let mut filter = TestFilter::closed(&bytes, WasmFilterSettings::default());
        let why = filter.open().expect_err("it is no filter").to_string();
        assert!(why.contains(words), "{words}: {why}");
    }
    let mut gone = TestFilter::closed(b"", WasmFilterSettings::default());
    gone.settings.file = "gone.wasm".to_owned();
    let why = gone.open().expect_err("it is not there").to_string();
    assert!(why.contains("gone.wasm cannot be read"), "{why}");
}

#[test]
fn what_is_not_served_says_so_and_is_told_once() {
    let filter = TestFilter::of(&on_request(
        "(if (i32.ne (i32.const 12) (call $tick (i32.const 100))) (then unreachable))
         (if (i32.ne (i32.const 12) (call $buffer (i32.const 0) (i32.const 0) (i32.const 9)
           (i32.const 100) (i32.const 104))) (then unreachable))",
    ));
    for _ in 0..3 {
        assert!(matches!(filter.request().0, FilterCourse::Same));
    }
    assert_eq!(
        filter.log(),
        [
            "filter test.wasm: proxy_set_tick_period_milliseconds is not served here, and says so",
            "filter test.wasm: proxy_get_buffer_bytes of a body is not served here, and says so",
        ]
    );
}

#[test]
fn a_filter_that_speaks_for_another_request_sees_nothing() {
    let filter = TestFilter::of(&format!(
        r#"(data (i32.const 0) "user-agent") {}"#,
        on_request(
            "(if (i32.ne (i32.const 2) (call $speak_for (i32.const 77))) (then unreachable))
             (if (call $speak_for (i32.const 1)) (then unreachable))
             (if (i32.ne (i32.const 1) (call $get (i32.const 0) (i32.const 0) (i32.const 10)
               (i32.const 100) (i32.const 104))) (then unreachable))
             (if (call $speak_for (local.get $context)) (then unreachable))
             (if (call $get (i32.const 0) (i32.const 0) (i32.const 10)
               (i32.const 100) (i32.const 104)) (then unreachable))"
        )
    ));
    assert!(matches!(filter.request().0, FilterCourse::Same), "{:?}", filter.log());
}

#[test]
fn a_thousand_random_places_end_in_a_status_or_a_named_fault() {
    let texts = "(i32.load (i32.const 8)) (i32.load (i32.const 12))";
    let calls = [
        format!("(call $log (i32.load (i32.const 4)) {texts})"),
        format!("(call $set (i32.const 0) {texts} {texts})"),
        format!("(call $set_pairs (i32.const 0) {texts})"),
        format!("(call $get (i32.const 0) {texts} {texts})"),
        format!("(call $pairs (i32.const 0) {texts})"),
        format!("(call $property {texts} {texts})"),
        format!("(call $respond (i32.const 200) {texts} {texts} {texts} (i32.const 0))"),
        format!("(call $share {texts} {texts} (i32.const 0))"),
        format!("(call $metric (i32.const 0) {texts} (i32.load (i32.const 4)))"),
    ];
    for call in calls {
        // The numbers come in fields of the request, four bytes of letters each; so that many of
        // them are within the memory, two of the bytes are cut off at every other.
        let filter = TestFilter::with(
            &format!(
                r#"(data (i32.const 16) "x-place") {}"#,
                on_request(&format!(
                    "(drop (call $get (i32.const 0) (i32.const 16) (i32.const 7) (i32.const 100) (i32.const 104)))
                     (memory.copy (i32.const 4) (i32.load (i32.const 100)) (i32.const 12))
                     (if (i32.and (i32.load (i32.const 4)) (i32.const 1)) (then
                       (i32.store (i32.const 8) (i32.and (i32.load (i32.const 8)) (i32.const 0x1ffff)))
                       (i32.store (i32.const 12) (i32.and (i32.load (i32.const 12)) (i32.const 0xffff)))))
                     (drop {call})"
                ))
            ),
            WasmFilterSettings::default(),
        );
        let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..120 {
            let place: [u8; 12] = std::array::from_fn(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (seed >> 40) as u8 | 0x80
            });
            let mut asked = request();
            let value = HeaderValue::from_bytes(&place).expect("these bytes may stand in a field");
            asked.headers.insert("x-place", value);
            filter.visit().on_request(&mut asked);
        }
        for line in filter.log() {
            let known = ["outside its memory", "left out", "was refused"];
            assert!(
                known.iter().any(|words| line.contains(words)) || call.starts_with("(call $log"),
                "{line}"
            );
        }
    }
}

#[test]
fn a_time_limit_ends_a_loop_within_a_few_of_its_lengths() {
    let filter = TestFilter::of(&sometimes("(loop $on (br $on))"));
    // Nobody called it for a while: the clock is woken for the call.
    let begun = std::time::Instant::now();
    filter.visit().on_request(&mut bad_request());
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}
