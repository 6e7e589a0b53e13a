//! The first run and changes that wait for confirmation: from an empty configuration to blocked
//! ads, kept, taken back, and over a kill.

use serde_json::{Value as Json, json};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{MetadataExt, chown};
use std::sync::Mutex;
use tidegate_tests::Scratch;
use tidegate_tests::clients::{curl, curl_with_head, dig};
use tidegate_tests::origin::header;
use tidegate_tests::resolver::{Reply, Resolver};
use tidegate_tests::tidegate::Tidegate;
use tidegate_tests::wait;

const MAIN: &str =
    "# Ours, by hand.\nadmin: { listen: \"127.0.0.1:0\", config_edits: on } # here\n";

/// A Tidegate that may write its file.
fn start(scratch: Scratch, main: &str) -> Tidegate {
    let edge = Tidegate::start_in(scratch, main);
    let owner = std::fs::metadata(format!("/proc/{}", edge.pid())).unwrap();
    if edge.config.metadata().unwrap().uid() != owner.uid() {
        chown(&edge.config, Some(owner.uid()), Some(owner.gid())).unwrap();
    }
    edge
}

/// An address of this machine that nobody listens on, and that no test here was given before: the
/// kernel gives a port again soon.
fn free() -> SocketAddr {
    static GIVEN: Mutex<Vec<SocketAddr>> = Mutex::new(Vec::new());
    let mut given = GIVEN.lock().unwrap();
    loop {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        if !given.contains(&address) {
            given.push(address);
            return address;
        }
    }
}

/// Asks the admin at an address: its status and its answer.
fn call(edge: &Tidegate, at: SocketAddr, method: &str, path: &str, body: &Json) -> (u16, Json) {
    let token = std::fs::read_to_string(edge.state().join("admin.token")).unwrap();
    let bearer = format!("Authorization: Bearer {}", token.trim());
    let (json, body) = ("Content-Type: application/json", body.to_string());
    let url = format!("http://{at}{path}");
    let mut args = vec!["-X", method, "-H", &bearer, &url];
    if method != "GET" {
        args.extend(["-H", json, "-d", &body]);
    }
    let (status, text) = curl(&args);
    (status, serde_json::from_str(&text).unwrap_or(Json::Null))
}

fn ask(edge: &Tidegate, method: &str, path: &str, body: &Json) -> (u16, Json) {
    call(edge, edge.address("admin", "http"), method, path, body)
}

fn text(edge: &Tidegate) -> String {
    std::fs::read_to_string(&edge.config).unwrap()
}

/// A choice of the DNS and pixel doors on free ports.
fn choice(dns: SocketAddr, upstream: SocketAddr, confirm_within_s: u64) -> Json {
    json!({
        "address": "127.0.0.1", "doors": ["dns", "pixel"], "lists": ["starter"],
        "upstreams": [format!("udp://{upstream}")], "pixel_address": "127.0.0.1",
        "dns_port": dns.port(), "http_port": free().port(), "https_port": free().port(),
        "confirm_within_s": confirm_within_s,
    })
}

fn is_blocked(dns: SocketAddr) -> bool {
    dig(dns, &["doubleclick.net"]).contains("EDE: 15")
}

#[test]
fn an_empty_configuration_ends_with_blocked_ads_and_a_trusted_check() {
    let resolver = Resolver::start(&[("www.example", Reply::Address([192, 0, 2, 10].into()))]);
    let edge = start(Scratch::new(), MAIN);
    let dns = free();
    let asked = format!("/api/first-run?address=127.0.0.1&dns_port={}", dns.port());
    let (status, told) = ask(&edge, "GET", &asked, &Json::Null);
    assert_eq!((status, &told["needed"], &told["can_write"]), (200, &json!(true), &json!(true)));
    assert_eq!((&told["check_url"], &told["waiting"]), (&Json::Null, &Json::Null), "{told}");
    let port = &told["ports"][0];
    assert_eq!((&port["door"], &port["state"]), (&json!("dns"), &json!("free")), "{told}");
    let own = told["addresses"].as_array().unwrap();
    assert!(own.iter().any(|it| it["kind"] == "loopback" && it["interface"] == "lo"), "{told}");

    let (status, told) = ask(&edge, "POST", "/api/first-run", &choice(dns, resolver.address, 60));
    assert_eq!(
        (status, &told["ok"], &told["confirm_within_s"]),
        (200, &json!(true), &json!(60)),
        "{told}"
    );
    assert!(is_blocked(dns));
    assert!(dig(dns, &["www.example"]).contains("192.0.2.10"));
    assert!(text(&edge).starts_with("# Ours, by hand.\n") && text(&edge).contains("# here"));
    let (_, told) = ask(&edge, "GET", &asked, &Json::Null);
    assert!(told["waiting"]["until"].is_string(), "{told}");
    assert_eq!(
        (&told["ports"][0]["state"], &told["this_device"]["asks_dns"]),
        (&json!("ours"), &json!(true))
    );
    let (status, told) = ask(&edge, "POST", "/api/first-run", &choice(dns, resolver.address, 60));
    assert_eq!(status, 409, "one change at a time: {told}");

    assert_eq!(ask(&edge, "POST", "/api/first-run/confirm", &Json::Null).0, 204);
    let (_, told) = ask(&edge, "GET", &asked, &Json::Null);
    assert_eq!((&told["waiting"], &told["needed"]), (&Json::Null, &json!(false)), "{told}");
    let check = told["check_url"].as_str().unwrap().to_owned();
    let page = format!("http://{}/", edge.address("admin", "http"));
    let (_, page) = curl_with_head(&[&page]);
    let policy = header(&page, "content-security-policy").unwrap();
    assert!(policy.contains(&format!("img-src 'self' data: {check};")), "{policy}");
    let ca = edge.scratch.write("ca.pem", edge.told(&["cert", "ca", "--pem"]));
    let (status, _) = curl(&["--cacert", ca.to_str().unwrap(), "-o", "/dev/null", &check]);
    assert_eq!(status, 200);
    let (_, told) = ask(&edge, "GET", &asked, &Json::Null);
    assert_eq!(told["this_device"]["trust"], "trusts", "{told}");
    let change = &edge.api("/api/configuration/history")["changes"][0];
    assert_eq!(change["why"], "first run", "{change}");
    assert_eq!(ask(&edge, "POST", "/api/first-run/confirm", &Json::Null).0, 409);
}

#[test]
fn what_nobody_confirms_is_taken_back_with_the_doors() {
    let edge = start(Scratch::new(), MAIN);
    let dns = free();
    let (status, told) = ask(&edge, "POST", "/api/first-run", &choice(dns, free(), 1));
    assert_eq!(status, 200, "{told}");
    wait::until("the change to be taken back", || (text(&edge) == MAIN).then_some(()));
    wait::until("the history to say so", || {
        let change = edge.api("/api/configuration/history")["changes"][0].clone();
        (change["who"] == "rollback").then_some(())
    });
    assert!(!is_blocked(dns), "the door is gone");
    let (_, told) = ask(&edge, "GET", "/api/first-run", &Json::Null);
    assert_eq!((&told["waiting"], &told["needed"]), (&Json::Null, &json!(true)), "{told}");
    assert_eq!(ask(&edge, "POST", "/api/first-run/confirm", &Json::Null).0, 409);
}

#[test]
fn a_kill_before_the_confirmation_takes_it_back_and_one_after_it_does_not() {
    for is_confirmed in [false, true] {
        let edge = start(Scratch::new(), MAIN);
        let dns = free();
        assert_eq!(ask(&edge, "POST", "/api/first-run", &choice(dns, free(), 600)).0, 200);
        assert!(is_blocked(dns));
        if is_confirmed {
            assert_eq!(ask(&edge, "POST", "/api/first-run/confirm", &Json::Null).0, 204);
        }
        let written = text(&edge);
        assert_ne!(written, MAIN);
        let (_, scratch) = edge.stop_by("KILL");
        let edge = start(scratch, &written);
        assert_eq!(text(&edge) == MAIN, !is_confirmed, "{}", text(&edge));
        assert_eq!(is_blocked(dns), is_confirmed);
    }
}

#[test]
fn a_configuration_that_may_not_be_changed_says_why() {
    let edge = Tidegate::start("admin: { listen: \"127.0.0.1:0\" }\n");
    let (_, told) = ask(&edge, "GET", "/api/first-run", &Json::Null);
    assert_eq!(told["can_write"], false);
    assert!(told["why_not"].as_str().unwrap().contains("config_edits: on"), "{told}");
    let (status, told) = ask(&edge, "POST", "/api/first-run", &choice(free(), free(), 60));
    assert_eq!(status, 409, "{told}");
    assert!(told["remedy"].as_str().unwrap().contains("config_edits: on"), "{told}");
}

#[test]
fn a_dashboard_that_moves_is_confirmed_at_its_new_place_or_comes_back() {
    let edge = start(Scratch::new(), MAIN);
    let old = edge.address("admin", "http");
    let apply = |at: SocketAddr, to: SocketAddr, within_s: u64| {
        let files = call(&edge, at, "GET", "/api/configuration/files", &Json::Null).1;
        let file = &files["files"][0];
        let new = format!("# Ours.\nadmin: {{ listen: \"{to}\", config_edits: on }}\n");
        let file = json!({ "path": file["path"], "text": new, "revision": file["revision"] });
        let sent = json!({ "files": [file], "confirm_within_s": within_s });
        call(&edge, at, "POST", "/api/configuration/apply", &sent)
    };
    let confirm = |at| call(&edge, at, "POST", "/api/first-run/confirm", &Json::Null);
    let is_there = |at| call(&edge, at, "GET", "/api/status", &Json::Null).0 == 200;
    let new = free();
    let (status, told) = apply(old, new, 600);
    assert_eq!((status, &told["confirm_within_s"]), (200, &json!(600)), "{told}");
    assert_eq!(told["dashboard"], format!("http://{new}/"));
    assert_eq!(told["at_restart"], json!([]), "{told}");
    assert!(is_there(old) && is_there(new));
    let (status, told) = confirm(old);
    assert_eq!(status, 409, "that address is about to be closed: {told}");
    assert_eq!(confirm(new).0, 204);
    wait::until("the old address to be closed", || (!is_there(old)).then_some(()));
    assert!(is_there(new));
    let address = std::fs::read_to_string(edge.state().join("admin.address")).unwrap();
    assert_eq!(address, new.to_string(), "commands find it");
    assert!(edge.told(&["ctl", "status"]).contains("tidegate"));

    let third = free();
    assert_eq!(apply(new, third, 1).0, 200);
    wait::until("the change to be taken back", || (!is_there(third)).then_some(()));
    assert!(is_there(new) && text(&edge).contains(&new.to_string()));
    let address = std::fs::read_to_string(edge.state().join("admin.address")).unwrap();
    assert_eq!(address, new.to_string());
}
