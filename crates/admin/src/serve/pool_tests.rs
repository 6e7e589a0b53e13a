//! The gateway's pools, asked about and changed.

use super::house::House;
use crate::model::Pools;

#[tokio::test]
async fn a_change_is_answered_with_the_pools_and_a_wrong_one_with_what_is_wrong() {
    let house = House::new();
    let weigh = r#"{"pool": "app", "server": "http://10.0.0.1", "action": "weigh", "weight": 3}"#;
    let changed: Pools = house.post("/api/pools", weigh).await.json();
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
