//! `tidegate replay`: another configuration, tried on what was asked.

use crate::made_settings::send;
use serde_json::{Value as Json, json};
use std::path::Path;
use std::process::Output;
use tidegate_tests::Scratch;
use tidegate_tests::clients::{curl, dig};
use tidegate_tests::tidegate::Tidegate;

const YAML: &str = r#"
policy:
  lists: [{ name: ads, rules: ["||ads.example^", "||old.example^"] }]
  clients: [{ name: once, match: [127.0.0.5], lists: [] }]
dns: { listen: ["udp://127.0.0.1:0"], upstreams: ["udp://127.0.0.1:9"], timeout: 100ms }
admin: { listen: "127.0.0.1:0" }
"#;

fn replay(edge: &Tidegate, new: &Path, more: &[&str]) -> Output {
    edge.command(&[&["replay", new.to_str().unwrap()], more].concat())
}

#[test]
fn a_changed_list_and_a_changed_client_are_told_by_name_client_and_rule() {
    let edge = Tidegate::start(YAML);
    let ask = |client: &str, name: &str| dig(edge.address("dns", "udp"), &["-b", client, name]);
    for (client, name) in [
        ("127.0.0.2", "game.example"),
        ("127.0.0.2", "www.game.example"),
        ("127.0.0.3", "game.example"),
        ("127.0.0.3", "old.example"),
        ("127.0.0.3", "ads.example"),
        ("127.0.0.3", "shop.example"),
        ("127.0.0.4", "game.example"),
        ("127.0.0.4", "ads.example"),
        ("127.0.0.5", "ads.example"),
    ] {
        ask(client, name);
    }
    // Rows are committed within a second or when somebody asks.
    assert_eq!(edge.api("/api/totals")["requests"], 9);
    let text = r#"
policy:
  lists:
    - { name: ads, rules: ["||ads.example^"] }
    - { name: games, rules: ["||game.example^"] }
  default: { lists: [ads] }
  clients:
    - { name: kids, match: [127.0.0.2], lists: [ads, games] }
    - { name: free, match: [127.0.0.4], lists: [] }
dns: { listen: ["udp://127.0.0.1:0"], upstreams: ["udp://127.0.0.1:9"] }
"#;
    let new = edge.scratch.write("new.yaml", text);
    let output = replay(&edge, &new, &["--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told: Json = serde_json::from_slice(&output.stdout).unwrap();
    let counts = (&told["requests"], &told["blocked"], &told["passed"], &told["more"]);
    assert_eq!(counts, (&json!(9), &json!(3), &json!(2), &json!(0)), "{told}");
    let of = |name: &str| {
        told["names"].as_array().unwrap().iter().find(|it| it["name"] == name).unwrap().clone()
    };
    let game = of("game.example");
    assert_eq!((&game["action"], &game["clients"]), (&json!("block"), &json!(["127.0.0.2"])));
    assert_eq!(game["rule"], "games:1 ||game.example^");
    let old = of("old.example");
    assert_eq!((&old["action"], &old["rule"]), (&json!("pass"), &json!("ads:2 ||old.example^")));
    // For one client it changes this way, for another that way.
    let names = told["names"].as_array().unwrap().iter().filter(|it| it["name"] == "ads.example");
    let mut turns: Vec<_> = names.map(|it| (it["action"].as_str(), &it["clients"])).collect();
    turns.sort_by_key(|(action, _)| *action);
    let (block, pass) = (json!(["127.0.0.5"]), json!(["127.0.0.4"]));
    assert_eq!(turns, [(Some("block"), &block), (Some("pass"), &pass)]);

    let told = String::from_utf8(replay(&edge, &new, &[]).stdout).unwrap();
    let first =
        "9 requests judged again: 3 requests more would be blocked and 2 requests more would pass";
    assert!(told.starts_with(first) && told.contains("game.example for 127.0.0.2"), "{told}");
    let same = String::from_utf8(replay(&edge, &edge.config, &[]).stdout).unwrap();
    assert!(same.contains("0 requests more would be blocked and 0 requests"), "{same}");
    assert_eq!(same.lines().count(), 1, "{same}");
}

#[test]
fn what_cannot_be_replayed_is_told() {
    let edge = Tidegate::start(YAML);
    let wrong = edge.scratch.write("wrong.yaml", "policy: { lists: [{ nam: x }] }");
    let output = replay(&edge, &wrong, &[]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && told.contains("wrong.yaml:1:"), "{told}");
    let output = replay(&edge, Path::new("/nowhere.yaml"), &[]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_change_is_tried_through_the_api_before_it_is_made() {
    let edge = Tidegate::start(YAML);
    let ask = |client: &str, name: &str| dig(edge.address("dns", "udp"), &["-b", client, name]);
    for name in ["game.example", "www.game.example", "ads.example", "old.example"] {
        ask("127.0.0.2", name);
    }
    assert_eq!(edge.api("/api/totals")["requests"], 4);
    let tried = |body: &Json| tried(&edge, body);
    let rules = "! own\n||game.example^\n@@||old.example^\n||nobody.example^\n";
    // Twice, for nothing of the first may be left.
    for _ in 0..2 {
        let (status, told) = tried(&json!({ "own_rules": rules }));
        assert_eq!(status, 200, "{told}");
        let counts = (&told["requests"], &told["blocked"], &told["passed"]);
        assert_eq!(counts, (&json!(4), &json!(2), &json!(1)), "{told}");
        let by_line: Vec<_> = told["rules"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| (it["list"].as_str(), it["line"].as_u64(), it["requests"].as_u64()))
            .collect();
        let own = Some("own-rules");
        assert_eq!(by_line, [(own, Some(2), Some(2)), (own, Some(3), Some(1))]);
    }
    let (_, off) = tried(&json!({ "switch_list": { "name": "ads", "on": false } }));
    assert_eq!((&off["blocked"], &off["passed"]), (&json!(0), &json!(2)), "{off}");
    let profile = json!({ "name": "all", "match": ["127.0.0.2"], "lists": [] });
    let (_, free) = tried(&json!({ "profile": { "revision": "", "profile": profile } }));
    assert_eq!(free["names"][0]["clients"], json!(["127.0.0.2"]), "{free}");
    let (status, wrong) = tried(&json!({ "add_list": { "name": "a", "kind": "no" } }));
    assert!(status == 422 && wrong["complaints"][0].is_string(), "{wrong}");
    // Nothing was changed by any of it.
    assert!(dig(edge.address("dns", "udp"), &["ads.example"]).contains("ANSWER: 0"));
    assert_eq!(edge.api("/api/rules")["text"], "");
    let left: Vec<_> =
        std::fs::read_dir(edge.state()).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("tried")), "{left:?}");
    assert!(!left.iter().any(|name| name == "dashboard.yaml"), "{left:?}");
}

#[test]
fn a_draft_of_the_configuration_is_tried_before_it_is_applied() {
    let edge = Tidegate::start(YAML);
    for (client, name) in [
        ("127.0.0.2", "game.example"),
        ("127.0.0.3", "game.example"),
        ("127.0.0.3", "ads.example"),
        ("127.0.0.5", "ads.example"),
    ] {
        dig(edge.address("dns", "udp"), &["-b", client, name]);
    }
    let files = edge.api("/api/configuration/files");
    let file = &files["files"][0];
    let text = file["text"].as_str().unwrap();
    let tried = |from: &str, to: &str| {
        assert!(text.contains(from));
        let draft = json!({ "path": file["path"], "revision": file["revision"], "text": text.replace(from, to) });
        send(
            &edge,
            "POST",
            "/api/configuration/replay",
            &json!({ "files": [draft], "since_s": 3600 }),
        )
    };
    let (status, told) = tried("||ads.example^", "||game.example^");
    assert_eq!(status, 200, "{told}");
    // One client has no lists, and what it asked passes still.
    assert_eq!(
        (&told["requests"], &told["blocked"], &told["passed"]),
        (&json!(4), &json!(2), &json!(1)),
        "{told}"
    );
    assert_eq!(
        (&told["names"][0]["name"], &told["names"][0]["action"]),
        (&json!("game.example"), &json!("block"))
    );
    let (status, told) = tried("match: [127.0.0.5], lists: []", "match: [127.0.0.5], lists: [ads]");
    assert_eq!((status, &told["blocked"]), (200, &json!(1)), "{told}");
    let (status, told) = tried("lists: []", "lists: [nothing]");
    assert_eq!(status, 422, "{told}");
    assert!(told["places"][0]["line"].as_u64().unwrap() > 0, "{told}");
    // Nothing was written, and nothing holds.
    assert_eq!(edge.api("/api/configuration/files")["files"][0]["revision"], file["revision"]);
}

/// Answer to a change that is tried.
fn tried(edge: &Tidegate, body: &Json) -> (u16, Json) {
    let token = std::fs::read_to_string(edge.state().join("admin.token")).unwrap();
    let bearer = format!("Authorization: Bearer {}", token.trim());
    let url = format!("http://{}/api/replay", edge.address("admin", "http"));
    let json = "Content-Type: application/json";
    let (status, told) = curl(&["-H", &bearer, "-H", json, "-d", &body.to_string(), &url]);
    (status, serde_json::from_str(&told).unwrap())
}

#[test]
fn a_script_in_force_notices_nothing_of_what_is_tried() {
    let scratch = Scratch::new();
    let script = "function on_decide(question)
        if shared:incr('asked ' .. question.host, 1, 600) > 2 then question:block('enough') end
    end\n";
    scratch.write("decide.luau", script);
    let yaml = YAML.replacen("policy:\n", "policy:\n  script: decide.luau\n", 1);
    let edge = Tidegate::start_in(scratch, &yaml);
    let ask = || dig(edge.address("dns", "udp"), &["-b", "127.0.0.2", "game.example"]);
    ask();
    assert_eq!(edge.api("/api/totals")["requests"], 1);
    let calls = || {
        let figures = edge.figures();
        let calls = figures.lines().find(|it| it.starts_with("tidegate_script_calls_total"));
        calls.unwrap().to_owned()
    };
    let before = calls();
    for _ in 0..3 {
        let (status, told) = tried(&edge, &json!({ "own_rules": "||other.example^" }));
        assert_eq!((status, &told["requests"]), (200, &json!(1)), "{told}");
    }
    assert_eq!(calls(), before);
    ask();
    assert_eq!(edge.api("/api/totals?range=1h")["blocked"], 0, "only the second of two");
}
