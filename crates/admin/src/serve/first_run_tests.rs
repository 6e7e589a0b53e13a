//! The first run as a page asks for it: who may, what it is told, and the one picture that the page
//! may load from elsewhere.

use super::files_house::CHECK_URL;
use super::house::House;
use admin_api::FirstRunInfo;
use vocab::Action;

#[tokio::test]
async fn a_device_that_has_asked_is_told_so_and_a_user_ends_the_first_run() {
    let house = House::new();
    let look = async || house.get("/api/first-run?address=192.0.2.1").await.json::<FirstRunInfo>();
    let told = look().await;
    assert!(told.needed && !told.this_device.asks_dns, "{told:?}");
    assert_eq!(told.config.as_deref(), Some("192.0.2.1"));
    // Another client's questions are not its own.
    house.record("192.0.2.9.example", Action::Pass);
    assert!(!look().await.this_device.asks_dns);
    let user = r#"{"name":"anna","role":"administrator","password":"correct horse battery"}"#;
    assert_eq!(house.post("/api/users", user).await.status, 204);
    let told = look().await;
    assert_eq!((told.needed, told.people), (false, 1));
}

#[tokio::test]
async fn a_choice_is_taken_or_refused_with_its_remedy_and_confirmed_where_it_stays() {
    let house = House::new();
    let body = r#"{"address":"192.0.2.1","doors":["dns"]}"#;
    assert_eq!(house.post("/api/first-run", body).await.status, 200);
    let refused = house.post("/api/first-run", "{}").await;
    assert_eq!((refused.status.as_u16(), refused.problem().remedy.as_str()), (409, "name one"));
    assert_eq!(house.ask("POST", "/api/first-run", &[], body).await.status, 401);
    assert_eq!(house.post("/api/first-run/confirm", "").await.status, 204);
}

#[tokio::test]
async fn a_page_may_load_the_check_from_the_pixel_door_and_nothing_else_from_elsewhere() {
    let house = House::new();
    let policy = house.get("/").await.header("content-security-policy").to_owned();
    let sources: Vec<&str> = policy.split("; ").collect();
    assert_eq!(sources[1], format!("img-src 'self' data: {CHECK_URL}"));
    assert_eq!(policy.matches("https:").count(), 1, "{policy}");
    let page = house.get("/allow?url=https%3A%2F%2Fads.example%2F").await;
    assert!(!page.header("content-security-policy").contains(CHECK_URL));
}
