//! The cost of a hook, in nanoseconds of processor time a call: docs/performance/scripts.md.
//!
//!     cargo run --release -p scripting --example hook_cost ["NAME OF ONE"]
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a measurement for people")]

use http::header::{HeaderMap, HeaderValue};
use http::{Method, Uri};
use rustix::time::{ClockId, clock_gettime};
use scripting::{LuauScript, LuauSettings, ScriptHook, ScriptLog, ScriptedRequest};
use std::sync::Arc;

const CALLS: u32 = 500_000;
const ROUNDS: usize = 7;

const HOOKS: [(&str, &str); 7] = [
    ("empty", ""),
    ("the path, and a test of its beginning", "return request.path:find('^/admin') ~= nil"),
    ("read a field", "return request:header('user-agent')"),
    ("set a field", "request:set_header('x-team', 'blue')"),
    ("read a field, set a field", "request:set_header('x-team', request:header('user-agent'))"),
    (
        "read a field, look for a word in it, set a field",
        "if request:header('user-agent'):find('curl', 1, true) then
            request:set_header('x-team', 'blue') end",
    ),
    ("a loop of a thousand turns", "local n = 0 for i = 1, 1000 do n += i end return n"),
];

fn main() {
    println!("{:<52} {:>8} {:>8} {:>8}", "ns a call", "least", "median", "most");
    let only = std::env::args().nth(1);
    let wanted = |name: &str| only.as_deref().is_none_or(|only| name == only);
    for (name, body) in HOOKS.into_iter().filter(|(name, _)| wanted(name)) {
        let script = script(body);
        let mut rounds: Vec<f64> = (0..ROUNDS).map(|_| round(&script)).collect();
        rounds.sort_by(f64::total_cmp);
        println!(
            "{name:<52} {:>8.0} {:>8.0} {:>8.0}",
            rounds[0],
            rounds[ROUNDS / 2],
            rounds[ROUNDS - 1]
        );
    }
}

fn script(body: &str) -> LuauScript {
    let log: ScriptLog = Arc::new(|_: &str| {});
    let settings = LuauSettings { file: "hook.luau".into(), ..LuauSettings::default() };
    let source = format!("function on_request(request) {body} end");
    LuauScript::compile(&settings, source.as_bytes(), &log, None).unwrap()
}

fn round(script: &LuauScript) -> f64 {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("host", "app.example"),
        ("user-agent", "curl/8.5.0"),
        ("accept", "*/*"),
        ("cookie", "session=0123456789abcdef"),
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
        };
        let verdict = script.on_request(ScriptHook::Request, &mut request);
        assert_eq!(verdict.failure, None);
        (uri, headers) = (request.uri, request.headers);
    }
    (processor_time() - begun) / f64::from(CALLS)
}

/// Nanoseconds of processor time of this thread.
fn processor_time() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}
