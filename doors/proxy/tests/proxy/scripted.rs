//! What a script makes of requests and answers.

use crate::support::{
    Given, Origin, Reply, ask, get, ok, open_ledger, proxy, scratch, start, until,
};
use door_proxy::{LuauChoice, LuauSettings, OnScriptError};
use std::net::SocketAddr;
use std::path::PathBuf;

fn file(script: &str) -> PathBuf {
    let file = scratch().join("filter.luau");
    std::fs::write(&file, script).unwrap();
    file
}

fn choice(script: &str) -> LuauChoice {
    LuauChoice::File(file(script).display().to_string())
}

fn scripted(script: &str) -> SocketAddr {
    proxy("||ads.example^\n", |proxy| proxy.script = Some(choice(script)))
}

#[test]
fn a_script_answers_redirects_and_sets_fields_and_paths() {
    let origin = Origin::start(|_, _, request| ok(&request.replace("\r\n", "|")));
    let proxy = scripted(
        "function on_request(request)
           if request.path == '/no' then return request:respond(403, 'no ' .. request.url) end
           if request.path == '/away' then return request:redirect('http://new.example/') end
           if request.path == '/old' then request:set_path('/new?x=' .. request.query) end
           request:set_header('X-Team', request.client)
         end",
    );
    let at = origin.address;
    let refused = get(proxy, &format!("http://{at}/no?q"));
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
    assert!(refused.ends_with(&format!("no http://{at}/no?q")), "{refused}");
    assert!(get(proxy, &format!("http://{at}/away")).contains("location: http://new.example/\r\n"));
    let moved = get(proxy, &format!("http://{at}/old?1")).to_ascii_lowercase();
    assert!(moved.contains("get /new?x=1 http/1.1|"), "{moved}");
    assert!(moved.contains(&format!("|host: {at}|")), "{moved}");
    assert!(moved.contains("|x-team: 127.0.0.1|"), "{moved}");
    // The policy comes first: its block is not the script's to lift.
    let blocked = get(proxy, "http://ads.example/no");
    assert!(blocked.starts_with("HTTP/1.1 403") && !blocked.contains("no http:"), "{blocked}");
}

#[test]
fn a_script_changes_answers_of_cache_and_origin_alike() {
    let origin = Origin::start(|_, _, _| {
        let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nServer: old\r\n";
        Reply::Keep(format!("{head}Content-Length: 2\r\n\r\nhi"))
    });
    let script = "function on_response(response, request)
       response:remove_header('Server')
       response:set_header('X-Seen', request.host)
     end";
    let proxy = proxy("", |proxy| {
        proxy.script = Some(choice(script));
        proxy.cache = Some(http_cache::Settings::default());
    });
    for _ in 0..2 {
        let answer = get(proxy, &format!("http://{}/", origin.address));
        assert!(answer.contains("x-seen: 127.0.0.1\r\n"), "{answer}");
        assert!(!answer.to_ascii_lowercase().contains("server: old"), "{answer}");
    }
    assert_eq!(origin.seen().len(), 1);
}

#[test]
fn a_tunnel_is_seen_and_may_be_refused_and_never_opened() {
    let origin = Origin::start(|_, _, _| ok("inside"));
    let proxy = scripted(
        "function on_request(request)
           if request.method ~= 'CONNECT' then return end
           if request.host == 'bad.example' then request:respond(403, request.url) end
           if request.host == 'open.example' then request:respond(200) end
           if request.host == 'path.example' then request:set_path('/x') end
         end",
    );
    let connect = |to: &str| ask(proxy, &format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n"));
    let refused = connect("bad.example:443");
    assert!(
        refused.starts_with("HTTP/1.1 403") && refused.ends_with("bad.example:443"),
        "{refused}"
    );
    assert!(connect("open.example:443").starts_with("HTTP/1.1 500"));
    assert!(connect("path.example:443").starts_with("HTTP/1.1 500"));
    assert!(connect(&origin.address.to_string()).starts_with("HTTP/1.1 200"));
}

#[test]
fn a_faulty_script_fails_its_requests_or_lets_them_pass() {
    let origin = Origin::start(|_, _, _| ok("fine"));
    let faulty = "function on_request(request) error('x') end
       function on_response() while true do end end";
    let url = format!("http://{}/", origin.address);
    assert!(get(scripted(faulty), &url).starts_with("HTTP/1.1 500"));
    let passing = LuauSettings {
        file: file(faulty).display().to_string(),
        on_error: OnScriptError::Pass,
        ..LuauSettings::default()
    };
    let proxy = proxy("", |proxy| proxy.script = Some(LuauChoice::Detailed(passing)));
    assert!(get(proxy, &url).ends_with("fine"));
}

#[test]
fn a_script_hears_what_became_of_requests() {
    let origin = Origin::start(|_, _, _| ok("fine"));
    let script = "function on_log(entry, request)
       shared:set('last', entry.status .. ' ' .. entry.bytes .. ' ' .. request.url .. request:var('end'))
     end
     function on_request(request) request:set_var('end', '!') end
     function on_response(response) response:set_header('X-Last', shared:get('last') or '') end";
    let given = Given { ledger: Some(open_ledger()), ..Given::default() };
    let proxy = start(&given, |proxy| proxy.script = Some(choice(script)));
    let url = format!("http://{}/a", origin.address);
    until("on_log", || get(proxy, &url).contains(&format!("x-last: 200 4 {url}!\r\n")));
}
