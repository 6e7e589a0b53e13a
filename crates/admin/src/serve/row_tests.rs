//! Rows found by their words, what lists say of themselves, and the description's examples.

use super::house::House;
use admin_api::{ListOverlaps, ListsInfo, RequestPage};
use vocab::Action;

#[tokio::test]
async fn rows_are_found_by_the_words_of_an_address() {
    let house = House::new();
    house.record("www.example", Action::Pass);
    house.record("ads.example", Action::Block);
    let subjects = async |query: &str| -> Vec<String> {
        let page: RequestPage = house.get(&format!("/api/requests?{query}")).await.json();
        page.rows.into_iter().map(|row| row.subject).collect()
    };
    let both = ["ads.example", "www.example"];
    assert_eq!(subjects("client=192.168.1.77&kind=AAAA&status=NXDOMAIN&name=example").await, both);
    assert_eq!(subjects("source=policy&slower_than_us=40&faster_than_us=42&from=1").await, both);
    assert_eq!(subjects("list=starter").await, ["ads.example"]);
    assert_eq!(subjects("name=ads.example.").await, ["ads.example"]);
    assert_eq!(subjects("after=1").await, ["ads.example"]);
    for nothing in ["client=192.168.1.7", "kind=A", "status=4xx,NOERROR", "list=s", "to=1"] {
        assert_eq!(subjects(nothing).await, [] as [&str; 0], "{nothing}");
    }
    let file = house.get("/api/requests?format=csv&name=ads.example").await;
    let text = String::from_utf8(file.body.to_vec()).unwrap();
    assert!(text.lines().count() == 2 && text.contains("ads.example"), "{text}");
    for wrong in ["client=me", "name=a%20b", "kind=soup", "source=sky", "status=x", "after=x"] {
        let answer = house.get(&format!("/api/requests?{wrong}")).await;
        assert_eq!(answer.status, 400, "{wrong}");
        answer.problem();
    }
}

#[tokio::test]
async fn lists_say_what_they_blocked_and_how_they_overlap() {
    let house = House::new();
    house.record("ads.example", Action::Block);
    house.record("www.example", Action::Pass);
    let lists: ListsInfo = house.get("/api/lists").await.json();
    assert_eq!((lists.lists[0].name.as_str(), lists.lists[0].blocked_7d), ("starter", Some(1)));
    let overlaps: ListOverlaps = house.get("/api/lists/overlaps").await.json();
    assert_eq!(overlaps.lists[0].names, 12);
}

#[tokio::test]
async fn every_body_in_the_description_has_an_example_that_fits_its_schema() {
    let house = House::new();
    let mut description: serde_json::Value = house.get("/api/openapi.json").await.json();
    assert_eq!(api_examples::unfit_examples(&description), [] as [&str; 0]);
    let wordless = api_examples::add_examples(&mut description);
    assert_eq!(wordless, [] as [&str; 0], "fields without a word in examples.json");
}
