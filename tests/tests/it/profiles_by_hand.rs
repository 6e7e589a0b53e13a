//! Clients, profiles and groups by the admin API: who asked, and what holds for whom.

use crate::made_settings::send;
use serde_json::{Value as Json, json};
use tidegate_tests::clients::dig;
use tidegate_tests::tidegate::Tidegate;

const YAML: &str = r#"
policy:
  lists:
    - { name: ads, rules: ["||ads.example^"] }
    - { name: games, rules: ["||game.example^"] }
  default: { lists: [ads] }
  clients: [{ name: filed, match: [127.0.0.9], lists: [] }]
dns: { listen: ["udp://127.0.0.1:0"], local: ["tv.lan A 127.0.0.2"], upstreams: ["udp://127.0.0.1:9"], timeout: 100ms }
admin: { listen: "127.0.0.1:0" }
"#;

fn is_blocked_for(edge: &Tidegate, client: &str, name: &str) -> bool {
    dig(edge.address("dns", "udp"), &["-b", client, name]).contains("EDE: 15")
}

/// Puts a profile, in the revision that there is.
fn put(edge: &Tidegate, was: Option<&str>, profile: &Json) -> (u16, Json) {
    let revision = edge.api("/api/profiles")["revision"].clone();
    let body = json!({ "revision": revision, "was": was, "profile": profile });
    send(edge, "PUT", "/api/profiles", &body)
}

#[test]
fn a_profile_made_by_hand_holds_for_its_clients_over_a_kill() {
    let edge = Tidegate::start(YAML);
    let stale = edge.api("/api/profiles")["revision"].clone();
    let night = json!({ "name": "off", "schedule": [{ "otherwise": "block", "block": "", "lists": [], "days": "" }] });
    let group = json!({ "revision": stale, "group": night });
    assert_eq!(send(&edge, "PUT", "/api/groups", &group).0, 200);
    let (status, told) = send(&edge, "PUT", "/api/groups", &group);
    assert_eq!((status, &told["error"]), (409, &json!("something was changed meanwhile")));

    let kids = json!({
        "name": "kids", "match": ["127.0.0.2"], "lists": ["ads", "games"], "groups": [],
        "tags": [], "schedule": [], "otherwise": null, "blocked": "refused",
    });
    assert_eq!(put(&edge, None, &kids).0, 200);
    let (_, scratch) = edge.stop_by("KILL");
    let edge = Tidegate::start_in(scratch, YAML);
    assert!(is_blocked_for(&edge, "127.0.0.2", "game.example"));
    assert!(!is_blocked_for(&edge, "127.0.0.3", "game.example"));

    // In a group whose schedule blocks everything at all hours; renamed with that.
    let offline = json!({ "name": "offline", "match": ["127.0.0.2"], "groups": ["off"] });
    assert_eq!(put(&edge, Some("kids"), &offline).0, 200);
    assert!(is_blocked_for(&edge, "127.0.0.2", "shop.example"), "all of it");
    let told = edge.api("/api/profiles");
    let shown: Vec<_> = told["profiles"].as_array().unwrap().iter().collect();
    assert_eq!((&shown[0]["name"], &shown[0]["made_here"]), (&json!("filed"), &json!(false)));
    assert_eq!((&shown[1]["name"], &shown[1]["made_here"]), (&json!("offline"), &json!(true)));
    assert_eq!(shown[1]["groups"], json!(["off"]));
    assert_eq!(told["groups"][0]["made_here"], json!(true));

    // A group keeps its clients when it is called otherwise, and cannot go before they do.
    let night = json!({ "name": "none", "schedule": [{ "otherwise": "block" }] });
    let renamed = json!({ "revision": told["revision"], "was": "off", "group": night });
    assert_eq!(send(&edge, "PUT", "/api/groups", &renamed).0, 200);
    assert!(is_blocked_for(&edge, "127.0.0.2", "shop.example"), "all of it");
    let told = edge.api("/api/profiles");
    assert_eq!(told["profiles"][1]["groups"], json!(["none"]));
    let revision = told["revision"].clone();
    let gone = json!({ "revision": revision, "name": "none" });
    let (status, told) = send(&edge, "POST", "/api/groups/remove", &gone);
    assert!(status == 422 && told.to_string().contains("there is no group"), "{status} {told}");
    let gone = json!({ "revision": revision, "name": "offline" });
    assert_eq!(send(&edge, "POST", "/api/profiles/remove", &gone).0, 200);
    assert!(!is_blocked_for(&edge, "127.0.0.2", "game.example"), "as everybody else");
    let filed = json!({ "revision": edge.api("/api/profiles")["revision"], "name": "filed" });
    assert_eq!(send(&edge, "POST", "/api/profiles/remove", &filed).0, 409, "set in the file");
}

#[test]
fn a_profile_that_an_earlier_one_hides_or_that_is_wrong_is_refused_with_its_reason() {
    let edge = Tidegate::start(YAML);
    for (profile, complaint) in [
        (json!({ "name": "mine", "match": ["127.0.0.9"] }), "belongs to the profile \\\"filed\\\""),
        (json!({ "name": "mine", "match": ["nobody"] }), "address"),
        (json!({ "name": "mine", "match": [] }), "matches no client"),
        (json!({ "name": "mine", "match": ["127.0.0.4"], "lists": ["none"] }), "none"),
        (json!({ "name": "mine", "match": ["127.0.0.4"], "colour": "red" }), "colour"),
    ] {
        let (status, told) = put(&edge, None, &profile);
        assert!(status == 422 && told.to_string().contains(complaint), "{status} {told}");
    }
    assert_eq!(put(&edge, None, &json!({ "match": ["127.0.0.4"] })).0, 400, "no name");
    assert!(!edge.state().join("dashboard.yaml").exists(), "nothing was written");
    // A device is told apart from the network that it is in, whichever came first.
    let network = json!({ "name": "net", "match": ["127.0.1.0/24"], "lists": ["games"] });
    let device = json!({ "name": "one", "match": ["127.0.1.7"], "lists": ["ads"] });
    assert_eq!((put(&edge, None, &network).0, put(&edge, None, &device).0), (200, 200));
    assert!(is_blocked_for(&edge, "127.0.1.8", "game.example"));
    assert!(!is_blocked_for(&edge, "127.0.1.7", "game.example"));
    assert!(is_blocked_for(&edge, "127.0.1.7", "ads.example"));
}

#[test]
fn clients_are_shown_with_what_they_asked_and_one_alone_is_paused_or_cut_off() {
    let edge = Tidegate::start(YAML);
    assert!(is_blocked_for(&edge, "127.0.0.2", "ads.example"));
    assert!(!is_blocked_for(&edge, "127.0.0.2", "tv.lan"));
    assert!(is_blocked_for(&edge, "127.0.0.3", "ads.example"));
    let only = json!({ "host": "*", "minutes": 60, "client": "127.0.0.2" });
    let end = json!({ "host": "*", "client": "127.0.0.2" });
    assert_eq!(send(&edge, "POST", "/api/allow", &only).0, 200);
    assert!(!is_blocked_for(&edge, "127.0.0.2", "ads.example"), "paused");
    assert!(is_blocked_for(&edge, "127.0.0.3", "ads.example"), "it alone");
    assert_eq!(send(&edge, "POST", "/api/revoke", &end).0, 200);
    assert_eq!(send(&edge, "POST", "/api/block", &only).0, 200);

    let told = edge.api("/api/clients");
    let clients = told["clients"].as_array().unwrap();
    let of = |client: &str| clients.iter().find(|it| it["client"] == client).unwrap();
    let tv = of("127.0.0.2");
    assert_eq!(
        (&tv["name"], &tv["profile"], &tv["requests"], &tv["blocked"], &tv["held"]["action"]),
        (&json!("tv.lan"), &json!("default"), &json!(3), &json!(1), &json!("block"))
    );
    assert!(tv["first_at"].as_str() <= tv["last_at"].as_str(), "{tv}");
    assert_eq!((&of("127.0.0.3")["held"], &told["more"]), (&Json::Null, &json!(0)));
    let activity = edge.api("/api/clients/activity?client=127.0.0.2");
    assert_eq!(activity["blocked"][0]["text"], "ads.example", "{activity}");
    let points = activity["points"].as_array().unwrap();
    let sum = |key: &str| points.iter().filter_map(|it| it[key].as_u64()).sum::<u64>();
    assert_eq!((sum("passed"), sum("blocked")), (2, 1), "{activity}");

    let (_, scratch) = edge.stop_by("KILL");
    let edge = Tidegate::start_in(scratch, YAML);
    assert!(is_blocked_for(&edge, "127.0.0.2", "shop.example"), "still cut off");
    assert!(!is_blocked_for(&edge, "127.0.0.3", "shop.example"));
    assert_eq!(send(&edge, "POST", "/api/unblock", &end).0, 200);
    assert!(!is_blocked_for(&edge, "127.0.0.2", "shop.example"));
}
