//! The gateway's pools, asked about and changed.

use super::house::House;
use admin_api::PoolList;

#[tokio::test]
async fn a_change_is_answered_with_the_pools_and_a_wrong_one_with_what_is_wrong() {
    let house = House::new();
    let weigh = r#"{"pool": "app", "server": "http://10.0.0.1", "action": "weigh", "weight": 3}"#;
    let changed: PoolList = house.post("/api/pools", weigh).await.json();
    assert_eq!(changed.pools[0].name, "app");
    let other = weigh.replace("app", "ap");
    let answer = house.post("/api/pools", &other).await;
    assert_eq!(
        (answer.status.as_u16(), answer.problem().error),
        (409, "there is no pool \"ap\"".into())
    );
    for wrong in [
        r#"{"pool": "app", "server": "http://10.0.0.1", "action": "weigh"}"#,
        r#"{"pool": "app", "server": "http://10.0.0.1", "action": "love"}"#,
        r#"{"pool": "app"}"#,
        "soup",
    ] {
        let answer = house.post("/api/pools", wrong).await;
        assert!(answer.status.is_client_error(), "{wrong}");
        answer.problem();
    }
}

#[tokio::test]
async fn all_servers_of_a_pool_are_replaced_at_once() {
    let house = House::new();
    let sent = r#"{"pool": "app", "servers":
        ["http://10.0.0.2", {"url": "http://10.0.0.3", "weight": 5, "resolve": null}]}"#;
    let changed: PoolList = house.put("/api/pools", sent).await.json();
    assert_eq!(changed.pools[0].name, "app");
    let other = house.put("/api/pools", &sent.replace("app", "ap")).await;
    assert_eq!(other.status, 409);
    for wrong in [
        r#"{"pool": "app"}"#,
        r#"{"pool": "app", "servers": [{"url": "http://a.test", "resolve": "mx"}]}"#,
        r#"{"pool": "app", "servers": [{"url": "http://a.test", "wait": 2}]}"#,
    ] {
        let answer = house.put("/api/pools", wrong).await;
        assert!(answer.status.is_client_error(), "{wrong}");
        answer.problem();
    }
    // A page of somebody else's cannot ask for it.
    let fields = [("cookie", "tidegate=x"), ("sec-fetch-site", "cross-site")];
    assert_eq!(house.ask("PUT", "/api/pools", &fields, sent).await.status, 403);
}
