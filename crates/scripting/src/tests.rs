//! Hooks from outside: what they see and change, and what faulty ones cost.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod decisions;
mod timers;

use crate::{
    FailureCause, LuauChoice, LuauScript, LuauSettings, QueryAnswer, RequestVerdict, ScriptFailure,
    ScriptHook, ScriptLog, ScriptPlace, ScriptVariables, ScriptedLogEntry, ScriptedQuery,
    ScriptedRequest, ScriptedResponse,
};
use http::header::{HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use settings::Text;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use vocab::{Complaint, TimeSpan};

fn quiet() -> ScriptLog {
    Arc::new(|_: &str| {})
}

fn compiled(source: &str, before: Option<&LuauScript>) -> Result<LuauScript, Complaint> {
    let settings = LuauSettings { file: "hello.luau".into(), ..LuauSettings::default() };
    LuauScript::compile(&settings, source.as_bytes(), &quiet(), before)
}

/// One that may take its time.
fn patient(source: &str) -> LuauScript {
    let time_limit = Text(TimeSpan(Duration::from_millis(100)));
    let settings =
        LuauSettings { file: "hello.luau".into(), time_limit, ..LuauSettings::default() };
    LuauScript::compile(&settings, source.as_bytes(), &quiet(), None).unwrap()
}

fn script(source: &str) -> LuauScript {
    compiled(source, None).unwrap()
}

fn request() -> ScriptedRequest {
    let mut headers = HeaderMap::new();
    headers.insert("user-agent", HeaderValue::from_static("curl/8"));
    headers.append("accept", HeaderValue::from_static("text/html"));
    headers.append("accept", HeaderValue::from_static("*/*"));
    ScriptedRequest {
        method: Method::GET,
        uri: "/a%20b/c?x=1".parse().unwrap(),
        headers,
        host: "app.example".into(),
        scheme: "https",
        client: Some("192.0.2.7".parse().unwrap()),
        variables: ScriptVariables::default(),
    }
}

/// A request after a hook, and the verdict about it.
fn after(
    script: &LuauScript,
    hook: ScriptHook,
    mut request: ScriptedRequest,
) -> (ScriptedRequest, RequestVerdict) {
    let verdict = script.on_request(hook, &mut request);
    (request, verdict)
}

fn asked(script: &LuauScript) -> (ScriptedRequest, RequestVerdict) {
    after(script, ScriptHook::Request, request())
}

fn answered(script: &LuauScript) -> (ScriptedResponse, Option<ScriptFailure>) {
    let mut response = ScriptedResponse::default();
    let failure = script.on_response(&mut request(), &mut response);
    (response, failure)
}

/// What a hook says of the request, by a field that it sets.
fn said(body: &str) -> String {
    let (request, verdict) = asked(&script(&format!("function on_request(request) {body} end")));
    assert_eq!(verdict.failure, None, "{body}");
    let value = request.headers.get("x-said");
    value.map_or_else(String::new, |it| String::from_utf8_lossy(it.as_bytes()).into_owned())
}

/// The verdict about a hook that fails, and what it says; the request stays as it was.
fn failing(body: &str) -> (RequestVerdict, String) {
    let source = format!("function on_request(request)\n{body}\nend");
    let (request, verdict) = asked(&script(&source));
    let failure = verdict.failure.clone().unwrap();
    assert_eq!(request.uri, self::request().uri, "{body}");
    (verdict, failure.message)
}

#[test]
fn a_request_is_read_as_it_came() {
    let all = "request:set_header('x-said', table.concat({request.method, request.path,
        request.query, request.host, request.scheme, request.client, request.url,
        request:header('User-Agent'), #request:headers('accept'),
        tostring(request:header('x-none'))}, ' '))";
    assert_eq!(
        said(all),
        "GET /a%20b/c x=1 app.example https 192.0.2.7 https://app.example/a%20b/c?x=1 curl/8 2 nil"
    );
}

#[test]
fn fields_are_set_added_and_taken_out() {
    let changing = script(
        "function on_request(request)
            request:set_header('X-Team', 'blue')
            request:add_header('accept', 'image/*')
            request:remove_header('user-agent')
        end",
    );
    let headers = asked(&changing).0.headers;
    assert_eq!(headers.get("x-team").unwrap(), "blue");
    assert_eq!(headers.get_all("accept").iter().count(), 3);
    assert!(headers.get("user-agent").is_none());
}

#[test]
fn framing_hosts_and_line_breaks_are_refused_with_the_line() {
    for name in
        ["Host", "content-length", "Content-Encoding", "Transfer-Encoding", "connection", "a b", ""]
    {
        let (_, told) = failing(&format!("request:set_header('{name}', 'x')"));
        assert!(told.starts_with("hello.luau:2: "), "{told}");
    }
    let (_, told) = failing("request:set_header('x-a', 'b\\r\\nc: d')");
    assert!(told.contains("line breaks"), "{told}");
    let (_, told) = failing("for i = 1, 1000 do request:add_header('x-a', 'b') end");
    assert!(told.contains("more than 128 changes"), "{told}");
    let (_, told) = failing("request:set_header('x-a', ('b'):rep(20000))");
    assert!(told.contains("16384"), "{told}");
}

#[test]
fn an_answer_and_a_path_are_given() {
    let answering = script(
        "function on_request(request)
            if request.path == '/other' then return request:redirect('/there', 308) end
            request:respond(403, 'no', { ['Content-Type'] = 'text/html' })
        end",
    );
    let answer = asked(&answering).1.answer.unwrap();
    assert_eq!((answer.status, answer.body), (StatusCode::FORBIDDEN, b"no".to_vec()));
    assert_eq!(answer.headers.get("content-type").unwrap(), "text/html");
    let other = ScriptedRequest { uri: "/other".parse().unwrap(), ..request() };
    let answer = after(&answering, ScriptHook::Request, other).1.answer.unwrap();
    assert_eq!(answer.status, StatusCode::PERMANENT_REDIRECT);
    assert_eq!(answer.headers.get("location").unwrap(), "/there");
    let moving = script("function on_request(request) request:set_path('/new?y') end");
    let (request, verdict) = asked(&moving);
    assert!(verdict.is_moved && request.uri == "/new?y");
    for wrong in [
        "request:respond(101)",
        "request:respond(600)",
        "request:respond(204, 'x')",
        "request:redirect('/a', 200)",
        "request:redirect('/a\\n')",
        "request:set_path('a')",
        "request:set_path('/ a')",
        "request:set_path('http://evil.example/')",
    ] {
        let (verdict, told) = failing(wrong);
        assert!(told.starts_with("hello.luau:2: "), "{wrong}: {told}");
        assert!(verdict.answer.is_none() && !verdict.is_moved, "{wrong}");
    }
}

#[test]
fn an_answer_on_its_way_is_changed_and_the_request_is_not() {
    let changing = script(
        "function on_response(response, request)
            response:set_header('x-path', request.path .. response.status)
            response.status = 404
            local done = pcall(function() request:set_header('x', 'y') end)
            response:set_header('x-done', tostring(done))
        end",
    );
    let (response, failure) = answered(&changing);
    assert_eq!(failure, None);
    assert_eq!(response.status, StatusCode::NOT_FOUND);
    assert_eq!(response.headers.get("x-path").unwrap(), "/a%20b/c200");
    assert_eq!(response.headers.get("x-done").unwrap(), "false");
    let wrong = script("function on_response(response) response.status = 304 end");
    let (response, failure) = answered(&wrong);
    assert!(failure.unwrap().message.contains("no body"));
    assert_eq!(response.status, StatusCode::OK);
}

#[test]
fn only_on_request_decides_where_a_request_goes() {
    for deed in ["respond(403)", "redirect('/')", "set_path('/x')"] {
        let source = format!("function on_upstream(request) request:{deed} end");
        let (_, verdict) = after(&script(&source), ScriptHook::Upstream, request());
        assert!(verdict.failure.unwrap().message.contains("do it in on_request"), "{deed}");
    }
}

#[test]
fn a_request_that_is_kept_is_over_with_its_hook() {
    let keeping = script(
        "local kept
        function on_response(response, request)
            response:set_header('x', pcall(function() return kept.path end) and 'open' or 'over')
        end
        function on_request(request) kept = request end
        function on_upstream(request) task = coroutine.wrap(function() return kept.host end) end",
    );
    asked(&keeping);
    after(&keeping, ScriptHook::Upstream, request());
    // The object is one for all hooks: it shows the request of the hook that runs.
    let (response, _) = answered(&keeping);
    assert_eq!(response.headers.get("x").unwrap(), "open");
}

#[test]
fn endless_loops_are_ended_whatever_they_catch() {
    let traps = [
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "local function f() pcall(f) f() end f()",
        "string.find(('a'):rep(40), ('a*'):rep(40) .. 'b')",
        "local s = ('a'):rep(1000) while true do s:gsub('.', string.upper) end",
        "coroutine.wrap(function() while true do end end)()",
        "local t = setmetatable({}, { __index = function(t, k) return t[k .. 'x'] end }) return t.a",
    ];
    for trap in traps {
        let begun = Instant::now();
        let (verdict, told) = failing(trap);
        assert!(begun.elapsed() < Duration::from_secs(5), "{trap}");
        let cause = verdict.failure.unwrap().cause;
        // A stack that is full ends it as well.
        assert!(cause != FailureCause::MemoryLimit, "{trap}: {told}");
    }
    let (verdict, told) = failing("while true do end");
    assert_eq!(verdict.failure.unwrap().cause, FailureCause::TimeLimit);
    assert_eq!(told, "hello.luau:2: it ran for more than 1ms");
}

#[test]
fn a_memory_bomb_ends_its_own_call_and_the_next_finds_a_new_machine() {
    let bombs = [
        "local s = ('x'):rep(1e9)",
        "local t = table.create(5e6, 0)",
        "kept = buffer.create(30 * 1024 * 1024) local more = buffer.create(30 * 1024 * 1024)",
    ];
    for bomb in bombs {
        let (verdict, told) = failing(bomb);
        assert_eq!(verdict.failure.unwrap().cause, FailureCause::MemoryLimit, "{bomb}: {told}");
        assert_eq!(said("request:set_header('x-said', 'alive')"), "alive");
    }
}

#[test]
fn scripts_do_not_see_one_another_nor_change_what_all_have() {
    let first = script("secret = 'a' function on_request(request) secret = secret .. 'b' end");
    asked(&first);
    assert_eq!(said("request:set_header('x-said', tostring(secret))"), "nil");
    for theft in [
        "string.upper = nil",
        "_G.string = nil",
        "getmetatable('').__index = nil",
        "rawset(string, 'upper', nil)",
        "setmetatable(_G, {})",
        "getfenv(1).x = 1",
        "require('os')",
        "loadstring('return 1')()",
        "os.execute('true')",
        "io.open('/etc/passwd')",
    ] {
        failing(theft);
    }
    assert_eq!(said("request:set_header('x-said', ('a'):upper())"), "A");
}

#[test]
fn what_is_shared_has_its_time_and_adds_up() {
    let counting = script(
        "function on_request(request)
            shared:set('name', 'blue')
            shared:set('gone', true, 0)
            shared:incr('hits')
            request:set_header('x-said', `{shared:get('name')} {shared:get('gone')} {shared:incr('hits', 2)}`)
            shared:delete('name')
            shared:set('hits', nil)
        end",
    );
    let (request, verdict) = asked(&counting);
    assert_eq!(verdict.failure, None);
    assert_eq!(request.headers.get("x-said").unwrap(), "blue nil 3");
    for wrong in [
        "shared:set('a', {})",
        "shared:set(('k'):rep(300), 1)",
        "shared:set('a', ('v'):rep(70000))",
        "shared:set('a', 1, -1)",
        "shared:set('a', 1, 0/0)",
        "shared:set('a', 'b') shared:incr('a')",
    ] {
        failing(wrong);
    }
    let sum = "function on_request() shared:incr('all') end
        function on_response(response) response:set_header('x-all', tostring(shared:get('all'))) end";
    let counted = script(sum);
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let counted = counted.clone();
            let count = move || {
                for _ in 0..500 {
                    asked(&counted);
                }
            };
            std::thread::spawn(count)
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    let (response, _) = answered(&counted);
    assert_eq!(response.headers.get("x-all").unwrap(), "2000");
    assert_eq!(counted.counts().calls, 2001);
}

#[test]
fn what_is_shared_has_a_bound() {
    let filling = patient(
        "local n = 0
        function on_request(request)
            for i = 1, 20 do n += 1 shared:set('k' .. n, ('v'):rep(50000)) end
        end
        function on_response(response)
            local kept = 0
            for i = 1, n do if shared:get('k' .. i) then kept += 1 end end
            response:set_header('x-kept', tostring(kept))
        end",
    );
    for _ in 0..25 {
        asked(&filling);
    }
    let (response, failure) = answered(&filling);
    assert_eq!(failure, None);
    let kept: usize = response.headers["x-kept"].to_str().unwrap().parse().unwrap();
    assert!((1..=8 * 1024 * 1024 / 50_000).contains(&kept), "{kept}");
}

#[test]
fn wrong_scripts_are_told_by_line() {
    let told = |source: &str| compiled(source, None).unwrap_err().to_string();
    let syntax = told("function on_request(request)\n  if request then\n");
    assert!(syntax.contains("hello.luau:3:"), "{syntax}");
    let at_start = told("local x\nx.y = 1");
    assert!(at_start.contains("hello.luau:2: attempt to index nil"), "{at_start}");
    assert!(told("local x = 1").contains("on_request, on_upstream, on_response"));
    assert!(told("while true do end").contains("ran for more than"));
    let (_, at_call) = failing("local nothing\nnothing.x = 1");
    assert!(at_call.starts_with("hello.luau:3: attempt to index nil"), "{at_call}");
}

#[test]
fn errors_and_lines_are_told_with_the_name_and_never_too_many() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&lines);
    let log: ScriptLog = Arc::new(move |line: &str| kept.lock().unwrap().push(line.to_owned()));
    let settings = LuauSettings { file: "hello.luau".into(), ..LuauSettings::default() };
    let source = b"function on_request(request) log('a\\nb', 1, nil) error('no') end";
    let loud = LuauScript::compile(&settings, source, &log, None).unwrap();
    for _ in 0..100 {
        asked(&loud);
    }
    let lines = lines.lock().unwrap();
    assert_eq!(lines[0], "script hello.luau: a b 1 nil");
    assert_eq!(lines[1], "script hello.luau: hello.luau:1: no");
    assert!(lines.len() <= 40, "{}", lines.len());
    assert_eq!(loud.counts().errors, 100);
}

#[test]
fn ten_thousand_reloads_hold_no_more_than_one() {
    let source = |n: usize| {
        format!("local kept = ('x'):rep(10000) .. {n} function on_request() n = #kept end")
    };
    let mut last = script(&source(0));
    for n in 1..10_000 {
        last = compiled(&source(n), Some(&last)).unwrap();
        assert_eq!(asked(&last).1.failure, None);
    }
    assert_eq!(last.counts().calls, 9_999);
    let (environments, bytes) = crate::machine::held_here();
    assert!(environments <= 2 && bytes < 2 * 1024 * 1024, "{environments}, {bytes}");
}

#[test]
fn a_script_that_did_not_change_keeps_its_globals() {
    let source =
        "n = 0 function on_request(request) n += 1 request:set_header('x', tostring(n)) end";
    let first = script(source);
    asked(&first);
    let again = compiled(source, Some(&first)).unwrap();
    let (request, _) = asked(&again);
    assert_eq!(request.headers.get("x").unwrap(), "2");
}

#[test]
fn a_place_wants_a_script_with_a_hook_that_it_calls() {
    let folder = std::env::temp_dir().join(format!("tidegate-places-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let open = |place: ScriptPlace, hook: &str| {
        std::fs::write(folder.join("a.luau"), format!("function {hook}() end")).unwrap();
        let choice = LuauChoice::File("a.luau".into());
        LuauScript::open_at(place, &choice, &folder, &quiet(), None)
    };
    for place in [ScriptPlace::Dns, ScriptPlace::Site, ScriptPlace::Route] {
        for hook in ScriptHook::ALL {
            let is_called = place.hooks().contains(&hook);
            assert_eq!(open(place, hook.name()).is_ok(), is_called, "{place:?} {hook:?}");
        }
    }
    let why = open(ScriptPlace::Site, "on_upstream").unwrap_err();
    assert_eq!(why.message, "a.luau defines no hook that a site calls");
    assert_eq!(
        why.remedy.as_deref(),
        Some("define a function of these: on_request, on_response, on_log, on_timer")
    );
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_log_entry_is_read_once_and_changes_nothing() {
    let script = script(
        "local kept
        function on_log(entry, request)
            kept = entry
            shared:set('seen', request.path .. ' ' .. entry.status .. ' ' .. entry.bytes .. ' '
                .. entry.duration_ms .. ' ' .. entry.source)
            shared:set('may', (pcall(function() request:set_header('a', 'b') end)))
        end
        function on_request(request)
            local late = pcall(function() return kept.status end)
            request:respond(200, shared:get('seen') .. ' ' .. tostring(shared:get('may')) .. ' '
                .. tostring(late))
        end",
    );
    let entry =
        ScriptedLogEntry { status: 206, bytes: 5_000_000_000, duration_ms: 1.5, source: "cache" };
    script.on_log(&mut request(), entry);
    let said = after(&script, ScriptHook::Request, request()).1.answer.unwrap();
    let said = String::from_utf8(said.body).unwrap();
    assert_eq!(said, format!("{} 206 5000000000 1.5 cache false false", request().uri.path()));
}

#[test]
fn variables_of_a_request_are_few_and_short() {
    let script = script(
        "function on_request(request)
            request:set_var('a', 'x')
            request:set_var('a', nil)
            for i = 1, 32 do request:set_var('n' .. i, i) end
            request:set_var('n1', true)
            local many = pcall(function() request:set_var('more', 1) end)
            local long = pcall(function() request:set_var('n2', string.rep('x', 16384)) end)
            local odd = pcall(function() request:set_var('n3', {}) end)
            request:respond(200, table.concat({ tostring(request:var('a')),
                tostring(request:var('n1')), request:var('n32'), tostring(many), tostring(long),
                tostring(odd) }, ' '))
        end",
    );
    let said = after(&script, ScriptHook::Request, request()).1.answer.unwrap();
    assert_eq!(String::from_utf8(said.body).unwrap(), "nil true 32 false false false");
}

#[test]
fn a_query_is_over_when_its_hook_is() {
    let script = script(
        "local kept
        function on_query(query)
            if kept then kept:nxdomain() end
            kept = query
            query:respond({ '192.0.2.1', '2001:db8::1' }, 5)
        end
        function on_request(request) log(kept.name) end",
    );
    let query = ScriptedQuery { name: "a.example", kind: "A", client: [192, 0, 2, 9].into() };
    let addresses = vec!["192.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap()];
    for _ in 0..2 {
        // The object is the same each time, and its answer is the last one given.
        let verdict = script.on_query(&query);
        assert_eq!(verdict.answer, Some(QueryAnswer::Addresses(addresses.clone(), 5)));
        assert_eq!(verdict.failure, None);
    }
    let after = script.on_request(ScriptHook::Request, &mut ScriptedRequest::default());
    assert!(after.failure.unwrap().message.contains("the query is over"));
}
