//! The cost of a filter, in nanoseconds of processor time a request.
//!
//!     cargo run --release -p wasm-filters --example filter_cost [FILE CONFIGURATION]
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a measurement for people")]

use http::header::{HeaderMap, HeaderValue};
use http::{Method, Uri};
use rustix::time::{ClockId, clock_gettime};
use scripting::{ScriptLog, ScriptedRequest};
use std::sync::Arc;
use wasm_filters::{FilterChain, FilterCourse, WasmFilterSettings};

const CALLS: u32 = 500_000;
const ROUNDS: usize = 7;

const FRAME: &str = r#"
  (import "env" "proxy_get_header_map_value" (func $get (param i32 i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_replace_header_map_value" (func $set (param i32 i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "user-agentx-teamblue")
  (func (export "proxy_abi_version_0_2_1"))
  (func (export "proxy_on_memory_allocate") (param i32) (result i32) (i32.const 4096))
  (func (export "proxy_on_context_create") (param i32 i32))
  (func (export "proxy_on_delete") (param i32))
"#;
const GET: &str =
    "(drop (call $get (i32.const 0) (i32.const 0) (i32.const 10) (i32.const 100) (i32.const 104)))";
const SET: &str =
    "(drop (call $set (i32.const 0) (i32.const 10) (i32.const 6) (i32.const 16) (i32.const 4)))";
const PASS_ON: &str = "(drop (call $set (i32.const 0) (i32.const 10) (i32.const 6)
    (i32.load (i32.const 100)) (i32.load (i32.const 104))))";
const LOOP: &str = "(loop $on (local.set $n (i32.add (local.get $n) (i32.const 1)))
    (br_if $on (i32.lt_u (local.get $n) (i32.const 1000))))";

fn main() {
    println!("{:<40} {:>8} {:>8} {:>8}", "ns a request", "least", "median", "most");
    for (name, lines) in [
        ("empty", String::new()),
        ("set a field", SET.to_owned()),
        ("read a field", GET.to_owned()),
        ("read a field, set a field", format!("{GET} {PASS_ON}")),
        ("a loop of a thousand turns", LOOP.to_owned()),
    ] {
        let text = format!(
            r#"(module {FRAME} (func (export "proxy_on_request_headers") (param i32 i32 i32)
                (result i32) (local $n i32) {lines} (i32.const 0)))"#
        );
        print(name, &chain(&wat::parse_str(text).unwrap(), ""));
    }
    // A filter of somebody's, with its configuration.
    let mut given = std::env::args().skip(1);
    if let Some(file) = given.next() {
        let configuration = given.next().unwrap_or_default();
        print(&file, &chain(&std::fs::read(&file).unwrap(), &configuration));
    }
}

fn print(name: &str, chain: &FilterChain) {
    let mut rounds: Vec<f64> = (0..ROUNDS).map(|_| round(chain)).collect();
    rounds.sort_by(f64::total_cmp);
    let (least, median, most) = (rounds[0], rounds[ROUNDS / 2], rounds[ROUNDS - 1]);
    println!("{name:<40} {least:>8.0} {median:>8.0} {most:>8.0}");
}

fn chain(module: &[u8], configuration: &str) -> FilterChain {
    let file = std::env::temp_dir().join(format!("filter-cost-{}.wasm", std::process::id()));
    std::fs::write(&file, module).unwrap();
    let settings = WasmFilterSettings {
        file: file.display().to_string(),
        configuration: configuration.to_owned(),
        ..WasmFilterSettings::default()
    };
    let log: ScriptLog = Arc::new(|line: &str| println!("{line}"));
    let chain = FilterChain::open(&[settings], &std::env::temp_dir(), &log, None);
    std::fs::remove_file(&file).unwrap();
    chain.unwrap_or_else(|why| panic!("{why}")).unwrap()
}

fn round(chain: &FilterChain) -> f64 {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("host", "app.example"),
        ("user-agent", "curl/8.5.0"),
        ("accept", "*/*"),
        ("cookie", "session=0123456789abcdef"),
        ("x-token", "open"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let mut uri = Uri::from_static("/some/page?with=query");
    let begun = processor_time();
    for _ in 0..CALLS {
        // As a door lends it: fields and URI are moved, the host is copied.
        let mut request = ScriptedRequest {
            method: Method::GET,
            uri: std::mem::take(&mut uri),
            headers: std::mem::take(&mut headers),
            host: "app.example".to_owned(),
            scheme: "http",
            client: None,
            variables: scripting::ScriptVariables::default(),
        };
        let visit = chain.visit();
        let course = visit.on_request(&mut request);
        assert!(!matches!(course, FilterCourse::Failed));
        (uri, headers) = (request.uri, request.headers);
    }
    (processor_time() - begun) / f64::from(CALLS)
}

/// Nanoseconds of processor time of this thread.
fn processor_time() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}
