//! The configuration's files: who may see them, and what a refusal says.

use super::house::House;
use serde_json::{Value as Json, json};

#[tokio::test]
async fn nobody_sees_or_changes_files_without_the_token() {
    let house = House::new();
    for (method, path) in [
        ("GET", "/api/configuration/files"),
        ("GET", "/api/configuration/schema"),
        ("POST", "/api/configuration/check"),
        ("POST", "/api/configuration/edit"),
        ("POST", "/api/configuration/apply"),
        ("GET", "/api/configuration/history"),
        ("GET", "/api/configuration/history/7"),
        ("POST", "/api/configuration/history/7/restore"),
    ] {
        assert_eq!(house.ask(method, path, &[], "{}").await.status, 401, "{path}");
    }
    let cookie = house.session().await;
    let fields = [("cookie", cookie.as_str()), ("sec-fetch-site", "cross-site")];
    let answer = house.ask("POST", "/api/configuration/apply", &fields, "{}").await;
    assert_eq!(answer.status, 403);
}

#[tokio::test]
async fn a_refused_change_of_files_says_what_stands_against_it() {
    let house = House::new();
    let send = async |text: &str, revision: &str, confirm: bool| {
        let file = json!({ "path": "/etc/t.yaml", "text": text, "revision": revision });
        let sent = json!({ "files": [file], "why": " because ", "confirm": confirm });
        let answer = house.post("/api/configuration/apply", &sent.to_string()).await;
        (answer.status.as_u16(), answer.json::<Json>())
    };
    let (status, told) = send("user: u", "1", false).await;
    assert_eq!((status, &told["number"]), (200, &json!(7)));
    let (status, told) = send("user: u", "0", false).await;
    assert_eq!((status, &told["changed"][0]["text"]), (409, &json!("user: t # we\n")));
    let (status, told) = send("wrong", "1", false).await;
    assert_eq!((status, &told["places"][0]["line"]), (422, &json!(3)));
    assert_eq!(told["complaints"][0], "/etc/t.yaml:3:1: soup: unknown key; leave it out");
    let (status, told) = send("all", "1", false).await;
    assert_eq!((status, &told["asks"]), (409, &json!(["everything"])));
    assert_eq!(send("all", "1", true).await.0, 200);
}

#[tokio::test]
async fn what_is_too_large_too_many_or_no_file_of_ours_is_refused() {
    let house = House::new();
    let check = |files: Json| json!({ "files": files }).to_string();
    let stranger = check(json!([{ "path": "/etc/t.yaml/../shadow", "text": "" }]));
    let answer = house.post("/api/configuration/check", &stranger).await;
    assert_eq!(answer.status, 404);
    assert!(answer.problem().error.contains("no file of the running configuration"));
    let file = json!({ "path": "/etc/t.yaml", "text": "" });
    let many = check(Json::Array(vec![file.clone(); 259]));
    assert_eq!(house.post("/api/configuration/check", &many).await.status, 400);
    let large = check(json!([{ "path": "/etc/t.yaml", "text": "#".repeat(2 << 20) }]));
    assert_eq!(house.post("/api/configuration/check", &large).await.status, 413);
    for why in ["a\nb".to_owned(), "y".repeat(401)] {
        let sent = json!({ "files": [file.clone()], "why": why }).to_string();
        assert_eq!(house.post("/api/configuration/apply", &sent).await.status, 400);
    }
    assert_eq!(house.get("/api/configuration/history/8").await.status, 404);
    assert_eq!(house.get("/api/configuration/history/x").await.status, 400);
    assert_eq!(house.post("/api/configuration/history/7/restore", "{}").await.status, 200);
}
