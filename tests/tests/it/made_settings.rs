//! Settings made in the dashboard: by the API, in files of the state folder, over kills and
//! mistakes.

use serde_json::{Value as Json, json};
use tidegate_tests::clients::{curl, dig};
use tidegate_tests::tidegate::{Tidegate, refused};

const YAML: &str = r#"
policy: { lists: [{ name: mine, rules: ["||ads.example^"] }] }
dns: { listen: ["udp://127.0.0.1:0"], upstreams: ["udp://127.0.0.1:9"], timeout: 100ms }
admin: { listen: "127.0.0.1:0" }
"#;

/// Sends a change to the admin API: its status and its answer.
pub(crate) fn send(edge: &Tidegate, method: &str, path: &str, body: &Json) -> (u16, Json) {
    let token = std::fs::read_to_string(edge.state().join("admin.token")).unwrap();
    let bearer = format!("Authorization: Bearer {}", token.trim());
    let url = format!("http://{}{path}", edge.address("admin", "http"));
    let (json, body) = ("Content-Type: application/json", body.to_string());
    let (status, text) = curl(&["-X", method, "-H", &bearer, "-H", json, "-d", &body, &url]);
    (status, serde_json::from_str(&text).unwrap_or(Json::Null))
}

fn is_blocked(edge: &Tidegate, name: &str) -> bool {
    dig(edge.address("dns", "udp"), &[name]).contains("EDE: 15")
}

#[test]
fn lists_and_rules_of_the_dashboard_outlive_kill_9() {
    let edge = Tidegate::start(YAML);
    let list = json!({ "name": "game", "rules": "||game.example^\n\n||play.example^\n" });
    assert_eq!(send(&edge, "POST", "/api/lists", &list).0, 200);
    let rules = edge.api("/api/rules");
    let own = json!({ "text": "! ours\n||own.example^\n", "revision": rules["revision"] });
    assert_eq!(send(&edge, "PUT", "/api/rules", &own).0, 200);
    let (status, told) = send(&edge, "PUT", "/api/rules", &own);
    assert_eq!((status, &told["error"]), (409, &json!("the rules were changed meanwhile")));
    let off = json!({ "name": "mine", "on": false });
    assert_eq!(send(&edge, "POST", "/api/lists/switch", &off).0, 200);
    let (_, scratch) = edge.stop_by("KILL");

    let edge = Tidegate::start_in(scratch, YAML);
    for (name, blocked) in [
        ("game.example", true),
        ("play.example", true),
        ("own.example", true),
        ("ads.example", false),
    ] {
        assert_eq!(is_blocked(&edge, name), blocked, "{name}");
    }
    let lists = edge.api("/api/lists");
    let marks = |at: usize| (lists["lists"][at]["made"].clone(), lists["lists"][at]["off"].clone());
    assert_eq!(marks(0), (false.into(), true.into()), "{lists}");
    assert_eq!(marks(1), (true.into(), false.into()), "{lists}");
    let (status, told) = send(&edge, "POST", "/api/lists/remove", &json!({ "name": "mine" }));
    assert_eq!(status, 409, "{told}");
    assert_eq!(send(&edge, "POST", "/api/lists/remove", &json!({ "name": "game" })).0, 200);
    assert!(!is_blocked(&edge, "game.example"));
    let none = json!({ "text": "", "revision": edge.api("/api/rules")["revision"] });
    assert_eq!(send(&edge, "PUT", "/api/rules", &none).0, 200);
    assert!(!is_blocked(&edge, "own.example"));
}

#[test]
fn a_mistake_in_the_dashboards_file_is_told_by_line_and_changes_nothing() {
    let edge = Tidegate::start(YAML);
    let state = edge.state();
    let made = state.join("dashboard.yaml");
    let text = "policy:\n  lists:\n    - { name: mine, rules: [x.example] }\n";
    std::fs::write(&made, text).unwrap();
    let place = format!("{}:3:", made.display());
    for args in [&["check"][..], &["ctl", "reload"]] {
        let output = edge.command(args);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(told.contains(&place) && told.contains("is taken"), "{args:?}: {told}");
    }
    assert!(is_blocked(&edge, "ads.example"), "what runs goes on");
    let list = json!({ "name": "game", "rules": "||game.example^" });
    let (status, told) = send(&edge, "POST", "/api/lists", &list);
    assert_eq!(status, 422, "{told}");
    assert_eq!(std::fs::read_to_string(&made).unwrap(), text, "left alone");
    let (_, scratch) = edge.stop_by("TERM");
    let (told, code) = refused(YAML, &scratch, &state);
    assert!(code == 1 && told.contains(&place), "{code}: {told}");
}
