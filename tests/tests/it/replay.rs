//! `tidegate replay`: another configuration, tried on what was asked.

use serde_json::{Value as Json, json};
use std::path::Path;
use std::process::Output;
use tidegate_tests::clients::dig;
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
