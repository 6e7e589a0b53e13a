//! Orders to the program, and what it keeps: pauses, fetches, purges, reloads, caches.

use super::house::House;
use crate::control::ListChange;
use admin_api::{
    ApiProblem, CacheIndex, InspectedList, ListInfo, ListUpdateOutcome, OriginList, PauseState,
    ProfileTable, PurgeOutcome, StoreList, TakenBack,
};
use serde_json::json;
use std::sync::atomic::Ordering::Relaxed;

#[tokio::test]
async fn a_pause_has_bounds_and_an_end() {
    let house = House::new();
    for wrong in ["{\"seconds\": 0}", "{\"seconds\": 86401}", "{}", "soup", "{\"seconds\": -1}"] {
        let answer = house.post("/api/pause", wrong).await;
        assert!(answer.status.is_client_error(), "{wrong}");
        answer.problem();
    }
    let paused: PauseState = house.post("/api/pause", "{\"seconds\": 60}").await.json();
    assert!(paused.paused_until.unwrap().ends_with('Z'));
    let resumed: PauseState = house.post("/api/resume", "").await.json();
    assert_eq!(resumed.paused_until, None);
}

#[tokio::test]
async fn lists_are_fetched_by_name_or_all_of_them() {
    let house = House::new();
    for (sent, expected) in [("{}", "same"), (r#"{"even_if_smaller":true}"#, "changed")] {
        let done: ListUpdateOutcome = house.post("/api/lists/update", sent).await.json();
        assert_eq!(done.lists[0].outcome, expected, "{sent}");
    }
    let unknown = house.post("/api/lists/update", r#"{"list":"nobody"}"#).await;
    assert_eq!(unknown.status, 409);
    let problem: ApiProblem = unknown.json();
    assert!(problem.error.contains("nobody"), "{problem:?}");
    let wrong = house.post("/api/lists/update", r#"{"lists":"easylist"}"#).await;
    assert!(wrong.status.is_client_error());
}

#[tokio::test]
async fn a_purge_says_how_many_answers_it_forgot() {
    let house = House::new();
    for (sent, expected) in [
        (r#"{"what": "all"}"#, 9),
        (r#"{"what": "name", "name": "WWW.example."}"#, 1),
        (r#"{"what": "suffix", "name": "example"}"#, 3),
    ] {
        let purged: PurgeOutcome = house.post("/api/purge", sent).await.json();
        assert_eq!(purged.answers, expected, "{sent}");
    }
    for wrong in [
        r#"{"what": "all", "name": "www.example"}"#,
        r#"{"what": "name"}"#,
        r#"{"what": "suffix", "name": "a b"}"#,
        r#"{"what": "everything"}"#,
        "{}",
        "soup",
    ] {
        let answer = house.post("/api/purge", wrong).await;
        assert!(answer.status.is_client_error(), "{wrong}");
        answer.problem();
    }
}

#[tokio::test]
async fn the_origins_of_the_proxy_are_told() {
    let house = House::new();
    let told: OriginList = house.get("/api/origins").await.json();
    let first = &told.origins[0];
    assert_eq!((first.origin.as_str(), first.at_once), ("https://a.example", 3));
}

#[tokio::test]
async fn what_is_stored_is_shown_and_taken_back() {
    let house = House::new();
    let stores: StoreList = house.get("/api/stores").await.json();
    assert_eq!((stores.stores[0].door.as_str(), stores.stores[0].hits), ("proxy", 7));
    for (sent, expected) in [
        (r#"{"what": "all"}"#, (2, 0)),
        (r#"{"what": "tag", "value": "news", "soft": true, "door": "proxy"}"#, (2, 1)),
    ] {
        let taken: TakenBack = house.post("/api/stores/purge", sent).await.json();
        assert_eq!((taken.entries, taken.fetches), expected, "{sent}");
    }
    for wrong in [
        r#"{"what": "all", "value": "x"}"#,
        r#"{"what": "url"}"#,
        r#"{"what": "soup", "value": "x"}"#,
        r#"{"what": "all", "door": "dns"}"#,
        r#"{"what": "all", "door": "gateway"}"#,
        "{}",
    ] {
        let answer = house.post("/api/stores/purge", wrong).await;
        assert!(answer.status.is_client_error(), "{wrong}");
        answer.problem();
    }
}

#[tokio::test]
async fn what_is_stored_is_listed_by_site_and_by_url() {
    let house = House::new();
    let sites: CacheIndex = house.get("/api/cache").await.json();
    assert_eq!(sites.caches[0].sites[0].site, "a.example of 100");
    for (asked, url, next) in [
        ("site=a.example&limit=7", "a.example of 7", None),
        (
            "prefix=http%3A%2F%2Fa.example%2Fx&after=b&limit=9999",
            "http://a.example/x of 1000",
            Some("b"),
        ),
        ("site=a.example&limit=0&door=proxy", "a.example of 1", None),
    ] {
        let index: CacheIndex = house.get(&format!("/api/cache?{asked}")).await.json();
        let page = &index.caches[0];
        assert_eq!((page.urls[0].url.as_str(), page.next_after.as_deref()), (url, next), "{asked}");
    }
    for wrong in ["site=a&prefix=b", "door=web", "limit=-1", "door=gateway"] {
        let answer = house.get(&format!("/api/cache?{wrong}")).await;
        assert!(answer.status.is_client_error(), "{wrong}");
        answer.problem();
    }
}

#[tokio::test]
async fn posted_bodies_are_told_to_the_administrator() {
    let house = House::new();
    let told: InspectedList = house.get("/api/inspected").await.json();
    assert_eq!(told.bodies[0].text.as_deref(), Some("city=Berlin"));
}

#[tokio::test]
async fn a_reload_that_is_not_taken_brings_every_complaint() {
    let house = House::new();
    assert_eq!(house.post("/api/reload", "{}").await.status, 200);
    house.program.broken.store(true, Relaxed);
    let answer = house.post("/api/reload", "").await;
    assert_eq!(answer.status, 422);
    assert_eq!(answer.problem().complaints, ["tidegate.yaml:3:1: unknown key"]);
}

#[tokio::test]
async fn lists_and_own_rules_are_changed_as_they_are_said() {
    let house = House::new();
    for (path, sent) in [
        ("/api/lists", r#"{"name": " ads ", "url": "https://a.example/", "kind": ""}"#),
        ("/api/lists", r#"{"name": "few", "rules": "a.example\n\n b.example \n"}"#),
        ("/api/lists/switch", r#"{"name": "ads", "on": false}"#),
        ("/api/lists/switch", r#"{"name": "ads", "on": true}"#),
        ("/api/lists/remove", r#"{"name": "ads"}"#),
    ] {
        assert_eq!(house.post(path, sent).await.status, 200, "{path} {sent}");
    }
    let expected = [
        ListChange::Add(json!({ "name": "ads", "url": "https://a.example/" })),
        ListChange::Add(json!({ "name": "few", "rules": ["a.example", "b.example"] })),
        ListChange::SwitchOff("ads".into()),
        ListChange::SwitchOn("ads".into()),
        ListChange::Remove("ads".into()),
    ];
    assert_eq!(*house.program.list_changes.lock().unwrap(), expected);
    let long = json!({ "text": "a".repeat((1 << 20) + 1) }).to_string();
    for (path, wrong) in [
        ("/api/lists", r#"{"url": "https://a.example/"}"#),
        ("/api/lists", r#"{"name": "", "url": "https://a.example/"}"#),
        ("/api/lists", r#"{"name": "a", "path": "/etc/shadow"}"#),
        ("/api/lists/switch", r#"{"name": "ads"}"#),
        ("/api/rules/check", &long),
    ] {
        let answer = house.post(path, wrong).await;
        assert!(answer.status.is_client_error(), "{path}");
        answer.problem();
    }
    let looked: ListInfo = house.post("/api/rules/check", r#"{"text": "a\nb"}"#).await.json();
    assert_eq!(looked.lines, 2);
}

#[tokio::test]
async fn a_profile_is_put_without_what_is_empty_and_needs_a_name() {
    let house = House::new();
    let sent = json!({ "revision": "1", "profile": {
        "name": "kids", "match": ["192.168.1.7"], "lists": [], "groups": [], "blocked": null,
        "schedule": [{ "block": "", "lists": ["games"], "days": "", "from": "21:00" }],
    }});
    assert_eq!(house.put("/api/profiles", &sent.to_string()).await.status, 200);
    let kept = json!({ "name": "kids", "match": ["192.168.1.7"], "lists": [],
        "schedule": [{ "lists": ["games"], "from": "21:00" }] });
    assert_eq!(*house.program.profiles.lock().unwrap(), [kept]);
    let table: ProfileTable = house.get("/api/profiles").await.json();
    assert_eq!((table.profiles[0].made_here, table.revision.as_str()), (true, "1"));
    for wrong in [
        json!({ "revision": "1", "profile": {} }),
        json!({ "revision": "1", "profile": { "name": " kids" } }),
        json!({ "revision": "1", "profile": { "name": "a\nb" } }),
        json!({ "revision": "1", "profile": "kids" }),
        json!({ "profile": { "name": "kids" } }),
    ] {
        let answer = house.put("/api/profiles", &wrong.to_string()).await;
        assert!(answer.status.is_client_error(), "{wrong}");
        answer.problem();
    }
    let gone = json!({ "revision": "1", "name": "kids" });
    assert_eq!(house.post("/api/profiles/remove", &gone.to_string()).await.status, 200);
    assert!(house.program.profiles.lock().unwrap().is_empty());
}
