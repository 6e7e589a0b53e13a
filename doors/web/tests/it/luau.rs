//! Scripts in Luau at a site: what they change, where they lead, and what a faulty one costs.

use crate::support::{Edge, Folder, site};
use door_web::{AuthSettings, SiteSettings};
use scripting::{LuauChoice, LuauSettings, OnScriptError};
use vocab::Source;

/// `ann:secret`.
const ANN: (&str, &str) = ("Authorization", "Basic YW5uOnNlY3JldA==");

fn base(script: &str) -> Folder {
    let base = Folder::new();
    base.write("www/index.html", "home");
    base.write("www/in/secret.txt", "secret page");
    base.write("www/404.html", "nothing, sadly");
    base.write("www/large.bin", "x".repeat(1 << 20));
    base.write("a.luau", script);
    base
}

fn scripted() -> SiteSettings {
    SiteSettings { script: Some(LuauChoice::File("a.luau".into())), ..site("www", &[]) }
}

fn start(base: &Folder) -> Edge {
    Edge::start_with(base, &[scripted()], "||blocked.example^\n")
}

#[test]
fn a_script_hears_what_became_of_each_request() {
    let base = base(
        "function on_log(entry, request)
            if request.path == '/last' then return end
            shared:set('last', table.concat({ request.method, request.path, request.host,
                entry.status, entry.bytes, entry.source, request:var('n') }, ' '))
        end
        function on_response(response, request)
            response:set_header('X-Var', request:var('n') or 'none')
        end
        function on_request(request)
            request:set_var('n', 7)
            if request.path == '/last' then request:respond(200, shared:get('last') or '') end
        end",
    );
    let edge = start(&base);
    assert_eq!(edge.ask("GET /", &[]).field("x-var"), "7");
    edge.until("GET /last", &[], "GET / www.example 200 4 file 7");
    edge.ask("GET /large.bin", &[]);
    edge.until("GET /last", &[], "GET /large.bin www.example 200 1048576 file 7");
    edge.ask("HEAD /none", &[]);
    edge.until("GET /last", &[], "HEAD /none www.example 404 0 file 7");
    let blocked = edge.ask_host("blocked.example", "GET /x", &[]).body.len();
    let expected = format!("GET /x blocked.example 403 {blocked} policy");
    edge.until("GET /last", &[], &expected);
}

#[test]
fn a_script_answers_changes_and_leads_elsewhere() {
    let base = base(
        "function on_request(request)
            if request.path == '/no' then
                return request:respond(404, request.host .. ' ' .. request.client)
            end
            if request.path == '/start' then request:set_path('/index.html?from=start') end
            if request.path == '/whole' then
                request:remove_header('Range')
                request:set_path('/index.html')
            end
            if request.path == '/up' then request:set_path('/../a.luau') end
        end
        function on_response(response, request)
            response:set_header('X-Served', request.path .. ' ' .. response.status)
            if request.path == '/start' then response.status = 203 end
        end",
    );
    let edge = start(&base);
    let no = edge.ask("GET /no", &[]);
    assert_eq!((no.status, no.text().as_str()), (404, "www.example 127.0.0.1"));
    assert_eq!(no.field("x-served"), "/no 404");
    for _ in 0..2 {
        let home = edge.ask("GET /", &[]);
        assert_eq!((home.status, home.text().as_str()), (200, "home"));
        assert_eq!(home.field("x-served"), "/ 200", "the fast path asks no script");
    }
    let moved = edge.ask("GET /start", &[]);
    assert_eq!((moved.status, moved.text().as_str()), (203, "home"));
    let whole = edge.ask("GET /whole", &[("Range", "bytes=0-1")]);
    assert_eq!((whole.status, whole.text().as_str()), (200, "home"));
    let part = edge.ask("GET /", &[("Range", "bytes=0-1")]);
    assert_eq!((part.status, part.field("x-served")), (206, "/ 206"));
    assert_eq!(edge.ask("GET /up", &[]).status, 400);
    let head = edge.ask("HEAD /no", &[]);
    assert_eq!((head.status, head.body.len()), (404, 0));
    let large = edge.ask("GET /large.bin", &[]);
    assert_eq!((large.body.len(), large.field("x-served")), (1 << 20, "/large.bin 200"));
    let tag = edge.ask("GET /", &[]).field("etag").to_owned();
    let same = edge.ask("GET /", &[("If-None-Match", &tag)]);
    assert_eq!((same.status, same.field("x-served")), (304, "/ 304"));
    let blocked = edge.ask_host("blocked.example", "GET /", &[]);
    assert_eq!((blocked.status, blocked.field("x-served")), (403, "/ 403"));
}

#[test]
fn a_path_that_a_script_sets_asks_for_its_own_password() {
    let base = base(
        "function on_request(request)
            if request.path == '/open' then request:set_path('/in/secret.txt') end
        end",
    );
    base.write("users", format!("ann:{}\n", bcrypt::hash("secret", 4).unwrap()));
    let auth = AuthSettings {
        path: "/in/*".into(),
        file: Some("users".into()),
        ..AuthSettings::default()
    };
    let edge = Edge::start_with(&base, &[SiteSettings { auth: vec![auth], ..scripted() }], "");
    assert_eq!(edge.ask("GET /open", &[]).status, 401);
    let let_in = edge.ask("GET /open", &[ANN]);
    assert_eq!((let_in.status, let_in.text().as_str()), (200, "secret page"));
    assert_eq!(edge.ask("GET /", &[]).status, 200);
}

#[test]
fn a_faulty_script_fails_its_own_requests_or_lets_them_pass() {
    let fault = "function on_request(request)
            if request.path == '/loop' then while true do end end
            if request.path == '/error' then error('in on_request') end
        end
        function on_response(response, request)
            if request.path == '/large.bin' then error('in on_response') end
        end";
    let base = base(fault);
    let edge = start(&base);
    for path in ["/loop", "/error", "/large.bin"] {
        let failed = edge.ask(&format!("GET {path}"), &[]);
        assert_eq!(failed.status, 500, "{path}: {}", failed.text());
        assert_eq!(edge.ask("GET /", &[]).text(), "home");
    }
    let failed = edge.rows(6).into_iter().filter(|row| row.source == Source::Failed).count();
    assert_eq!(failed, 3);
    let told = edge.told.lock().unwrap().join("\n");
    assert!(told.contains("a.luau:3: in on_request"), "{told}");
    let hooks = edge.door.hooks();
    let script = hooks[0].script().unwrap();
    let counts = script.counts();
    assert_eq!((script.name(), counts.errors, counts.ended), ("a.luau", 3, 1));

    let pass = LuauSettings {
        file: "a.luau".into(),
        on_error: OnScriptError::Pass,
        ..LuauSettings::default()
    };
    let site = SiteSettings { script: Some(LuauChoice::Detailed(pass)), ..scripted() };
    edge.door.reload(&[site]).unwrap();
    assert_eq!(edge.ask("GET /error", &[]).status, 404);
    assert_eq!(edge.ask("GET /large.bin", &[]).body.len(), 1 << 20);
}

#[test]
fn a_reload_takes_a_changed_script_and_keeps_what_was_shared() {
    let count = |name: &str| {
        format!(
            "function on_request(request)
                request:respond(200, '{name}' .. shared:incr('n', 1))
            end"
        )
    };
    let base = base(&count("one "));
    let edge = start(&base);
    assert_eq!(edge.ask("GET /", &[]).text(), "one 1");
    base.write("a.luau", count("two "));
    edge.door.reload(&[scripted()]).unwrap();
    assert_eq!(edge.ask("GET /", &[]).text(), "two 2");
    base.write("a.luau", "function on_request(");
    let wrong = edge.door.reload(&[scripted()]).unwrap_err();
    assert_eq!(wrong[0].path, "0.script");
    assert!(wrong[0].message.starts_with("a.luau:1"), "{}", wrong[0].message);
    assert_eq!(edge.ask("GET /", &[]).text(), "two 3");
}
