//! The bypass radar and the page view, on rows of several days.

use super::house::House;
use admin_api::{BypassTable, PageTable};
use ledger::{EventSubject, RequestEvent};
use vocab::{Action, Caching, Cause, Door, Name, Now, RequestKind, Source};

const DAY_MS: u64 = 86_400_000;

fn record(house: &House, door: Door, name: &str, ago_ms: u64) {
    let now = transport::clock::now();
    let at = Now { unix_ms: now.unix_ms - ago_ms, ..now };
    house.ledger.record(RequestEvent {
        at,
        duration_us: 41,
        door,
        client: "192.168.1.7".parse().unwrap(),
        kind: RequestKind::Lookup(1),
        subject: EventSubject::name(Name::from_lowercase(name).unwrap()),
        action: Action::Pass,
        cause: Cause::NoRule,
        source: Source::Cache,
        caching: Caching::NONE,
        status: 0,
        bytes: 120,
    });
}

#[tokio::test]
async fn a_device_that_fell_silent_and_still_browses_is_told_though_the_range_is_a_day() {
    let house = House::new();
    for day in 1..=6 {
        record(&house, Door::Dns, "www.example", day * DAY_MS + 60_000);
    }
    record(&house, Door::Dns, "dns.google", 3 * DAY_MS);
    record(&house, Door::Proxy, "www.example", 60_000);
    let table: BypassTable = house.get("/api/bypass?range=24h").await.json();
    let kinds: Vec<_> = table.devices[0].signals.iter().map(|it| it.kind.as_str()).collect();
    assert_eq!(kinds, ["silent"], "{table:?}");
    assert_eq!(table.devices[0].signals[0].count, 6);
    let week: BypassTable = house.get("/api/bypass?range=7d").await.json();
    let kinds: Vec<_> = week.devices[0].signals.iter().map(|it| it.kind.as_str()).collect();
    assert_eq!(kinds, ["encrypted_dns", "silent"], "{week:?}");
}

#[tokio::test]
async fn a_moment_picks_the_visit_that_it_falls_into() {
    let house = House::new();
    for (name, ago_ms) in [
        ("www.news.example", 600_000),
        ("cdn.example", 599_000),
        ("news.example", 120_000),
        ("a.example", 119_500),
        ("b.example", 119_000),
    ] {
        record(&house, Door::Dns, name, ago_ms);
    }
    let path = "/api/pages?client=192.168.1.7&site=News.example";
    let newest: PageTable = house.get(path).await.json();
    assert_eq!((newest.visits.len(), newest.site.as_str()), (2, "news.example"));
    assert_eq!(newest.visit.as_ref().unwrap().rows.len(), 3);
    let at = transport::clock::now().unix_ms - 599_500;
    let older: PageTable = house.get(&format!("{path}&at={at}")).await.json();
    let older = older.visit.unwrap();
    assert_eq!((older.rows.len(), older.hosts.len()), (2, 2));
    assert_eq!(older.visit.at, newest.visits[1].at);
    let none: PageTable = house.get(&format!("{path}&range=1h")).await.json();
    assert_eq!(none.visits.len(), 2);
}
