//! Statistics and files of them and of the request log, over the API.

use super::house::House;
use admin_api::{RequestPage, StatisticsPage};
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use vocab::Action;

#[tokio::test]
async fn statistics_show_steps_and_rankings_and_one_client_alone() {
    let house = House::new();
    for _ in 0..3 {
        house.record("www.example", Action::Pass);
    }
    house.record("ads.example", Action::Block);
    let page: StatisticsPage = house.get("/api/statistics?range=week&step=hour").await.json();
    assert_eq!((page.range.as_str(), page.step.as_str(), page.points.len()), ("week", "hour", 1));
    assert_eq!((page.total.passed, page.total.blocked), (3, 1));
    let last = page.points.last().unwrap();
    assert!(last.share < 1.0 && page.begins.is_some());
    let by: Vec<_> = page.rankings.iter().map(|it| it.by.as_str()).collect();
    assert_eq!(by, ["client", "list", "door", "upstream"]);
    assert_eq!(page.rankings[1].lines[0].key, "starter");
    assert_eq!(page.rankings[1].lines[0].counts.blocked, 1);
    let one: StatisticsPage =
        house.get("/api/statistics?range=all&client=192.168.1.77&by=door").await.json();
    assert_eq!((one.total.passed, one.rankings.len()), (3, 1));
    assert_eq!(one.only.unwrap().key, "192.168.1.77");
    let other: StatisticsPage =
        house.get("/api/statistics?from=1000000000000&client=10.0.0.1").await.json();
    assert_eq!(other.total.passed, 0);
}

#[tokio::test]
async fn wrong_words_of_statistics_are_refused_with_the_right_ones() {
    let house = House::new();
    for (words, right) in [
        ("range=decade", "year"),
        ("step=second", "minute"),
        ("by=moon", "upstream"),
        ("format=xls", "csv"),
        ("client=me", "by=client"),
        ("door=cellar", "gateway"),
        ("client=10.0.0.1&list=ads", "leave one out"),
        ("from=2&to=1", "earlier"),
        ("to=1", "from"),
        ("range=day&from=1", "leave"),
        ("from=yesterday", "openapi"),
    ] {
        let answer = house.get(&format!("/api/statistics?{words}")).await;
        assert_eq!(answer.status, 400, "{words}");
        assert!(answer.problem().remedy.contains(right), "{words}: {:?}", answer.problem());
    }
}

#[tokio::test]
async fn statistics_and_the_log_are_files_on_demand() {
    let house = House::new();
    for index in 0..1234 {
        house.record(&format!("n{index}.example"), Action::Pass);
    }
    house.record("ads.example", Action::Block);
    let series = house.get("/api/statistics?range=day&step=hour&format=csv").await;
    assert_eq!(series.header(CONTENT_TYPE), "text/csv; charset=utf-8; header=present");
    let named = "attachment; filename=\"tidegate-statistics-day.csv\"";
    assert_eq!(series.header(CONTENT_DISPOSITION), named);
    let text = String::from_utf8(series.body.to_vec()).unwrap();
    assert!(text.starts_with("at,until,share,passed,blocked,"), "{text}");
    assert!(text.contains(",1234,1,"), "{text}");
    let clients = house.get("/api/statistics?range=day&by=client&format=jsonl").await;
    let text = String::from_utf8(clients.body.to_vec()).unwrap();
    assert!(text.starts_with(r#"{"by":"client","key":"192.168.1.77","passed":1234"#), "{text}");

    let log = house.get("/api/requests?format=csv").await;
    let text = String::from_utf8(log.body.to_vec()).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 1 + 1235, "more than a page, and no line twice");
    assert!(lines[1].contains(",ads.example,AAAA,block,rule,starter,12,||ads.example^,"));
    assert!(lines[1235].contains(",n0.example,"));
    let few = house.get("/api/requests?format=jsonl&limit=600&filter=n").await;
    assert_eq!(String::from_utf8(few.body.to_vec()).unwrap().lines().count(), 600);
    let none = house.get("/api/requests?format=csv&filter=nobody.invalid").await;
    assert_eq!(String::from_utf8(none.body.to_vec()).unwrap().lines().count(), 1);
    let page: RequestPage = house.get("/api/requests?format=json").await.json();
    assert_eq!(page.rows.len(), 50);
}
