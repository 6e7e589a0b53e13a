//! The cost of a hook, in nanoseconds of processor time a call: docs/performance/scripts.md.
//!
//!     cargo run --release -p scripting --example hook_cost ["NAME OF ONE"]
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a measurement for people")]

use http::header::{HeaderMap, HeaderValue};
use http::{Method, Uri};
use policy::{Ask, Verdict, VerdictHook};
use rustix::time::{ClockId, clock_gettime};
use scripting::{
    DecisionScript, LuauScript, LuauSettings, ScriptHook, ScriptLog, ScriptVariables,
    ScriptedRequest,
};
use std::net::IpAddr;
use vocab::Name;

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
    let decide: Vec<f64> = (0..ROUNDS).map(|_| decisions()).collect();
    print("on_decide: compare the host", decide);
    let only = std::env::args().nth(1);
    let wanted = |name: &str| only.as_deref().is_none_or(|only| name == only);
    for (name, body) in HOOKS.into_iter().filter(|(name, _)| wanted(name)) {
        let script = script(body);
        print(name, (0..ROUNDS).map(|_| round(&script)).collect());
    }
}

fn print(name: &str, mut rounds: Vec<f64>) {
    rounds.sort_by(f64::total_cmp);
    let (least, median, most) = (rounds[0], rounds[ROUNDS / 2], rounds[ROUNDS - 1]);
    println!("{name:<52} {least:>8.0} {median:>8.0} {most:>8.0}");
}

/// The cost of a question that the policy's script looks at and leaves.
fn decisions() -> f64 {
    let file = std::env::temp_dir().join(format!("hook-cost-{}.luau", std::process::id()));
    let source = "function on_decide(question)
        if question.host == 'ads.example' then question:block('ads') end end";
    std::fs::write(&file, source).unwrap();
    let log: ScriptLog = scripting::unread_log();
    let (name, folder) = (file.display().to_string(), std::env::temp_dir());
    let script = DecisionScript::open(&name, &folder, &log, None).unwrap();
    std::fs::remove_file(&file).unwrap();
    let host = Name::from_lowercase("www.shop.example").unwrap();
    let ask = Ask::addresses(host, IpAddr::from([192, 0, 2, 7]));
    let begun = processor_time();
    for _ in 0..CALLS {
        assert_eq!(script.decide(&ask, Verdict::NO_RULE), None);
    }
    (processor_time() - begun) / f64::from(CALLS)
}

fn script(body: &str) -> LuauScript {
    let log: ScriptLog = scripting::unread_log();
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
            variables: ScriptVariables::default(),
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
