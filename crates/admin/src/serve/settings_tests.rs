//! The configuration, asked for and changed.

use super::house::House;
use admin_api::{ConfigText, ReloadOutcome, SettingValue};

#[tokio::test]
async fn the_configuration_and_each_setting_can_be_asked_for() {
    let house = House::new();
    let shown: ConfigText = house.get("/api/config").await.json();
    assert_eq!(shown.text, "user: t # we\n");
    let one: SettingValue = house.get("/api/config/value?path=ledger.keep").await.json();
    assert_eq!((one.path.as_str(), one.value.as_str()), ("ledger.keep", Some("30d")));
    assert_eq!(house.get("/api/config/value?path=soup").await.status, 404);
    assert_eq!(house.get("/api/config/value").await.status, 400);
}

#[tokio::test]
async fn a_change_that_is_refused_says_whose_fault_it_is() {
    let house = House::new();
    let change = |path: &str| format!(r#"{{"changes": [{{"path": "{path}", "value": "7d"}}]}}"#);
    let taken: ReloadOutcome = house.post("/api/config", &change("ledger.keep")).await.json();
    assert_eq!(taken.lists, 1);
    for (path, status) in [("wrong", 422), ("built-in", 409), ("a..b", 400)] {
        let answer = house.post("/api/config", &change(path)).await;
        assert_eq!(answer.status.as_u16(), status, "{path}");
        assert_eq!(answer.problem().complaints.len(), usize::from(status == 422));
    }
    let many = vec![r#"{"path": "a"}"#; 65].join(",");
    for wrong in [r#"{"changes": []}"#, &format!(r#"{{"changes": [{many}]}}"#), "{}"] {
        let answer = house.post("/api/config", wrong).await;
        assert!(answer.status.is_client_error(), "{wrong:.40}");
        answer.problem();
    }
}

#[tokio::test]
async fn a_foreign_page_cannot_change_the_configuration() {
    let house = House::new();
    let sent = r#"{"changes": [{"path": "ledger.keep", "value": "7d"}]}"#;
    let fields = [("cookie", "tidegate_session=x"), ("sec-fetch-site", "cross-site")];
    assert_eq!(house.ask("POST", "/api/config", &fields, sent).await.status, 403);
    assert_eq!(house.ask("POST", "/api/config", &[], sent).await.status, 401);
    assert_eq!(house.ask("GET", "/api/config", &[], "").await.status, 401);
}

#[tokio::test]
async fn exactly_one_change_is_tried_and_none_that_is_not_fetched() {
    let house = House::new();
    let tried = async |body: &str| house.post("/api/replay", body).await;
    let outcome: serde_json::Value =
        tried(r#"{"own_rules": "||a.example^", "since_s": 3600}"#).await.json();
    assert_eq!((&outcome["requests"], &outcome["blocked"]), (&7.into(), &3.into()));
    let switched = tried(r#"{"switch_list": {"name": "starter", "on": false}}"#).await;
    assert_eq!(switched.json::<serde_json::Value>()["passed"], 2);
    for body in [
        "{}",
        r#"{"own_rules": "a", "remove_list": "b"}"#,
        r#"{"add_list": {"name": "far", "url": "https://lists.example/a"}}"#,
        r#"{"profile": {"revision": "1", "profile": {}}}"#,
        r#"{"what": 1}"#,
    ] {
        let status = tried(body).await.status;
        assert!(matches!(status.as_u16(), 400 | 422), "{body}: {status}");
    }
}
