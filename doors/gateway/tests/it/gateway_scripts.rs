//! Scripts of routes: what they change on the way to a server and back, and what a faulty one
//! costs.

use crate::support;

use door_gateway::{FixedAnswerSettings, LuauChoice, LuauSettings, OnScriptError, Settings};
use std::net::SocketAddr;
use support::{Gateway, Origin, Reply, ask, get, ok, parts, simple, start};

/// An answer that a cache keeps.
const KEPT: &str = "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncache-control: max-age=600\r\n\r\nx";

/// A gateway with one pool behind one route with this script.
fn scripted(server: SocketAddr, source: &str, change: impl FnOnce(&mut Settings)) -> Gateway {
    let parts = parts("");
    std::fs::write(parts.base.join("hello.luau"), source).unwrap();
    let mut settings = simple(&[server]);
    settings.routes[0].script = Some(LuauChoice::File("hello.luau".into()));
    change(&mut settings);
    start(settings, parts)
}

fn on_error(on_error: OnScriptError) -> impl FnOnce(&mut Settings) {
    move |settings| {
        let script = LuauSettings { file: "hello.luau".into(), on_error, ..Default::default() };
        settings.routes[0].script = Some(LuauChoice::Detailed(script));
    }
}

#[test]
fn a_script_changes_what_a_server_reads_and_what_the_client_gets() {
    let server = Origin::start(|_, _, _| ok("x"));
    let source = "
        function on_request(request)
            request:set_header('X-Team', request:header('x-user') .. '@' .. request.host)
            request:remove_header('cookie')
        end
        function on_upstream(request)
            request:add_header('X-Trace', request.path)
        end
        function on_response(response, request)
            response:set_header('X-Seen', request.method .. ' ' .. request.url)
            response:remove_header('server')
            response.status = 203
        end";
    let gateway = scripted(server.address, source, |_| {});
    let answer = ask(
        gateway.address,
        "GET /a%20b?c HTTP/1.1\r\nHost: App.example:81\r\nX-User: ann\r\nCookie: a=b\r\n\
         Connection: close\r\n\r\n",
    );
    assert!(answer.starts_with("HTTP/1.1 203 "), "{answer}");
    assert!(answer.contains("x-seen: GET http://app.example/a%20b?c\r\n"), "{answer}");
    let seen = &server.seen()[0];
    assert!(seen.contains("x-team: ann@app.example\r\n"), "{seen}");
    assert!(seen.contains("x-trace: /a%20b\r\n") && !seen.contains("cookie"), "{seen}");
}

#[test]
fn a_script_hears_what_became_of_each_request() {
    let server = Origin::start(|_, _, _| ok("four"));
    let source = "
        function on_log(entry, request)
            if request.path == '/last' then return end
            shared:set('last', table.concat({ request.path, entry.status, entry.bytes,
                entry.source, tostring(entry.duration_ms > 0), request:var('sent') }, ' '))
        end
        function on_upstream(request)
            request:set_var('sent', request:var('came') .. ' and sent')
        end
        function on_response(response, request)
            response:set_header('x-came', request:var('came'))
        end
        function on_request(request)
            request:set_var('came', 'asked')
            if request.path == '/last' then request:respond(200, shared:get('last') or '') end
        end";
    let gateway = scripted(server.address, source, |_| {});
    let four = get(&gateway, "/a%20b");
    assert!(four.contains("x-came: asked\r\n") && four.ends_with("four"), "{four}");
    let begun = std::time::Instant::now();
    while !get(&gateway, "/last").ends_with("/a%20b 200 4 origin true asked and sent") {
        assert!(begun.elapsed() < support::DEADLINE, "{}", get(&gateway, "/last"));
    }
}

#[test]
fn a_script_answers_and_no_server_is_asked() {
    let server = Origin::start(|_, _, _| ok("x"));
    let source = "
        function on_request(request)
            if request.path == '/old' then request:redirect('/new', 301) end
            if request.path:find('^/admin') then
                request:respond(403, '<p>no</p>', { ['Content-Type'] = 'text/html' })
            end
        end
        function on_response(response) response:set_header('X-All', 'yes') end";
    let gateway = scripted(server.address, source, |_| {});
    let refused = get(&gateway, "/admin/x");
    assert!(refused.starts_with("HTTP/1.1 403 ") && refused.ends_with("<p>no</p>"), "{refused}");
    assert!(refused.contains("content-type: text/html\r\n"), "{refused}");
    assert!(refused.contains("content-length: 9\r\n") && refused.contains("x-all: yes"));
    let moved = get(&gateway, "/old");
    assert!(moved.starts_with("HTTP/1.1 301 ") && moved.contains("location: /new\r\n"), "{moved}");
    assert_eq!(server.connections(), 0);
}

#[test]
fn another_path_holds_for_the_server_and_the_cache_and_is_read_strictly() {
    let server = Origin::start(|_, _, _| Reply::Keep(KEPT.into()));
    let source = "
        function on_request(request)
            local to = request:header('x-to')
            if to then request:set_path(to) end
        end";
    let gateway = scripted(server.address, source, |settings| settings.routes[0].cache = true);
    let asked = |path: &str, to: &str| {
        let to = if to.is_empty() { String::new() } else { format!("X-To: {to}\r\n") };
        let head = format!("GET {path} HTTP/1.1\r\nHost: a\r\n{to}Connection: close\r\n\r\n");
        ask(gateway.address, &head)
    };
    assert!(asked("/a", "/b?c=d").starts_with("HTTP/1.1 200 "));
    assert!(server.seen()[0].starts_with("GET /b?c=d HTTP/1.1\r\n"), "{:?}", server.seen());
    // Stored where it was fetched, and not under the path that was asked for.
    asked("/b?c=d", "");
    assert_eq!(server.seen().len(), 1);
    asked("/a", "");
    assert_eq!(server.seen().len(), 2);
    assert!(asked("/a", "/x/../y/./z").starts_with("HTTP/1.1 200 "));
    assert!(server.seen()[2].starts_with("GET /y/z HTTP/1.1\r\n"), "{:?}", server.seen());
    for wrong in ["/a%2Fb", "/%00", "/../..//%2e%2e%5c"] {
        assert!(asked("/a", wrong).starts_with("HTTP/1.1 400 "), "{wrong}");
    }
    assert_eq!(server.seen().len(), 3);
}

#[test]
fn what_the_cache_has_is_shown_to_the_client_s_hooks_alone() {
    let server = Origin::start(|_, _, _| Reply::Keep(KEPT.into()));
    let source = "
        function on_request(request) shared:incr('requests') end
        function on_upstream(request) shared:incr('upstreams') end
        function on_response(response)
            response:set_header('x-n', shared:get('requests') .. ' ' .. shared:get('upstreams'))
        end";
    let gateway = scripted(server.address, source, |settings| settings.routes[0].cache = true);
    assert!(get(&gateway, "/a").contains("x-n: 1 1\r\n"));
    assert!(get(&gateway, "/a").contains("x-n: 2 1\r\n"));
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn faults_cost_their_own_requests_and_are_counted() {
    let server = Origin::start(|_, _, _| ok("fine"));
    for hook in ["on_request(request)", "on_upstream(request)", "on_response(response)"] {
        for fault in ["error('no')", "while true do end", "local s = ('x'):rep(1e9)"] {
            let source = format!(
                "function on_request() end
                function {hook} {fault} end"
            );
            let failing = scripted(server.address, &source, |_| {});
            let answer = get(&failing, "/a");
            assert!(answer.starts_with("HTTP/1.1 500 "), "{hook} {fault}: {answer}");
            assert!(!answer.contains("hello.luau") && !answer.contains("fine"), "{answer}");
            let passing = scripted(server.address, &source, on_error(OnScriptError::Pass));
            assert!(get(&passing, "/a").ends_with("fine"), "{hook} {fault}");
            let hooks = passing.door.hooks();
            let script = hooks[0].script().unwrap();
            assert_eq!((script.name(), script.counts().errors), ("hello.luau", 1));
        }
    }
}

#[test]
fn a_reload_takes_the_new_script_and_a_wrong_one_changes_nothing() {
    let server = Origin::start(|_, _, _| ok("x"));
    let parts = parts("");
    let base = parts.base.clone();
    let write = |n: &str| {
        let source = format!("function on_request(request) request:respond(200, '{n}') end");
        std::fs::write(base.join("hello.luau"), source).unwrap();
    };
    write("one");
    let mut settings = simple(&[server.address]);
    settings.routes[0].pool = None;
    settings.routes[0].answer = Some(FixedAnswerSettings::default());
    settings.routes[0].script = Some(LuauChoice::File("hello.luau".into()));
    let gateway = start(settings.clone(), parts);
    assert!(get(&gateway, "/").ends_with("one"));
    write("two");
    gateway.door.reload(settings.clone()).unwrap();
    assert!(get(&gateway, "/").ends_with("two"));
    std::fs::write(base.join("hello.luau"), "function on_request(").unwrap();
    let complaints = gateway.door.reload(settings).unwrap_err();
    assert!(complaints[0].to_string().starts_with("routes.0.script: hello.luau:1: "));
    assert!(get(&gateway, "/").ends_with("two"));
}
