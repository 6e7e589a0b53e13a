//! Two gateways that keep small responses for each other in a real Redis, behind their own caches.

use crate::fleet_live::until_both_are_seen;
use std::time::{Duration, Instant};
use test_support::RedisServer;
use tidegate_tests::clients::curl_with_head;
use tidegate_tests::origin::{Origin, Page, header};
use tidegate_tests::tidegate::Tidegate;
use tidegate_tests::wait::until;

const YAML: &str = r#"
fleet:
  name: NAME
  live: { url: "redis://127.0.0.1:REDIS", secret: "0123456789abcdef0123456789abcdef", cache: { http: true } }
gateway:
  listen: ["http://127.0.0.1:0"]
  pools: { app: { servers: ["http://ORIGIN"] } }
  routes: [{ pool: app, cache: true }]
admin: { listen: "127.0.0.1:0" }
"#;

struct TwoGateways {
    redis: RedisServer,
    origin: Origin,
    one: Tidegate,
    two: Tidegate,
}

impl TwoGateways {
    fn start() -> Self {
        let fresh =
            |body: &str| Page::new("text/plain", body).header("Cache-Control", "max-age=300");
        let origin = Origin::start(&[
            ("/a", fresh("first").header("Age", "100").header("ETag", "\"1\"")),
            ("/b", fresh("other")),
            ("/coded", fresh("coded").header("Vary", "Accept-Encoding")),
            ("/language", fresh("language").header("Vary", "Accept-Language")),
            ("/private", fresh("mine").header("Cache-Control", "private")),
            ("/cookie", fresh("cookie").header("Set-Cookie", "who=me")),
            ("/large", fresh(&"x".repeat(20_000))),
        ]);
        let redis = RedisServer::start(&[]);
        let edge = |name: &str| {
            let yaml = YAML.replace("NAME", name).replace("REDIS", &redis.port().to_string());
            Tidegate::start(&yaml.replace("ORIGIN", &origin.address.to_string()))
        };
        let (one, two) = (edge("one"), edge("two"));
        until_both_are_seen([&one, &two]);
        Self { redis, origin, one, two }
    }

    fn held(&self) -> usize {
        self.redis.cli(&["KEYS", "tidegate:cache:*"]).lines().filter(|it| !it.is_empty()).count()
    }

    /// Has the first machine answer a path, and waits until the server has its answer.
    fn kept(&self, path: &str) -> String {
        let before = self.held();
        let said = get(&self.one, path, &[]);
        until("the response at the server", || (self.held() > before).then_some(()));
        said
    }

    fn asked(&self, path: &str) -> usize {
        let path = format!(" {path}");
        self.origin.lines().iter().filter(|it| it.ends_with(&path)).count()
    }
}

fn get(edge: &Tidegate, path: &str, more: &[&str]) -> String {
    let url = format!("http://{}{path}", edge.address("gateway", "http"));
    // One host at both: it is part of what is asked for.
    let mut all = vec!["-H", "Host: shop.example"];
    all.extend(more);
    all.push(&url);
    curl_with_head(&all).1
}

fn counted(edge: &Tidegate, outcome: &str) -> u64 {
    let line = format!("tidegate_fleet_cache_responses_total{{outcome=\"{outcome}\"}} ");
    let said = edge.figures();
    said.lines().find_map(|it| it.strip_prefix(&line)).map_or(0, |it| it.parse().unwrap())
}

fn status_of(said: &str) -> String {
    header(said, "cache-status").unwrap_or_default()
}

#[test]
fn one_request_of_two_machines_reaches_the_server_and_its_age_goes_on() {
    let all = TwoGateways::start();
    let first = all.kept("/a");
    assert!(status_of(&first).contains("fwd=uri-miss;stored"), "{first}");
    let second = get(&all.two, "/a", &[]);
    assert!(second.ends_with("first"), "{second}");
    assert!(status_of(&second).contains("hit;ttl=") && status_of(&second).contains("detail=fleet"));
    let age: u32 = header(&second, "age").unwrap().parse().unwrap();
    assert!((100..160).contains(&age), "{second}");
    let third = get(&all.two, "/a", &[]);
    assert!(status_of(&third).contains("hit") && !status_of(&third).contains("fleet"), "{third}");
    let unchanged = get(&all.two, "/a", &["-H", "If-None-Match: \"1\""]);
    assert!(unchanged.starts_with("HTTP/1.1 304"), "{unchanged}");
    let part = get(&all.two, "/a", &["-H", "Range: bytes=1-2"]);
    assert!(part.starts_with("HTTP/1.1 206") && part.ends_with("ir"), "{part}");
    assert_eq!((all.asked("/a"), counted(&all.two, "hit")), (1, 1));
    assert_eq!(counted(&all.one, "told"), 1);
}

#[test]
fn a_part_is_cut_from_what_another_machine_has_stored() {
    let all = TwoGateways::start();
    all.kept("/a");
    let part = get(&all.two, "/a", &["-H", "Range: bytes=1-2"]);
    assert!(part.starts_with("HTTP/1.1 206") && part.ends_with("ir"), "{part}");
    assert_eq!((all.asked("/a"), counted(&all.two, "hit")), (1, 1));
}

#[test]
fn what_is_for_few_is_not_shared_and_codings_are_told_apart() {
    let all = TwoGateways::start();
    all.kept("/coded");
    let zipped = get(&all.two, "/coded", &["-H", "Accept-Encoding: gzip"]);
    assert!(status_of(&zipped).contains("fwd=uri-miss"), "{zipped}");
    let same = get(&all.two, "/coded", &[]);
    assert!(!status_of(&same).contains("fwd=uri-miss"), "{same}");
    assert_eq!(all.asked("/coded"), 2);
    until("both", || (all.held() == 2).then_some(()));
    for path in ["/language", "/private", "/cookie", "/large"] {
        get(&all.one, path, &[]);
        get(&all.two, path, &[]);
        assert_eq!(all.asked(path), 2, "{path}");
    }
    get(&all.one, "/b", &["-H", "Authorization: Basic YTpi"]);
    assert_eq!((counted(&all.one, "told"), counted(&all.two, "told")), (1, 1));
    assert_eq!(all.held(), 2);
}

#[test]
fn a_purge_at_one_machine_is_obeyed_by_what_they_share() {
    let all = TwoGateways::start();
    all.kept("/a");
    all.kept("/b");
    let new = |body: &str| Page::new("text/plain", body).header("Cache-Control", "max-age=300");
    all.origin.add("/a", new("second"));
    all.origin.add("/b", new("second"));
    all.one.told(&["ctl", "purge", "--url", "http://shop.example/a"]);
    assert!(get(&all.one, "/a", &[]).ends_with("second"));
    until("the purge at the other", || get(&all.two, "/a", &[]).ends_with("second").then_some(()));
    assert!(get(&all.two, "/b", &[]).ends_with("second"), "any purge of stores ends it");
}

#[test]
fn what_a_request_may_have_changed_is_asked_for_anew() {
    let all = TwoGateways::start();
    all.kept("/b");
    let new = Page::new("text/plain", "second").header("Cache-Control", "max-age=300");
    all.origin.add("/b", new);
    get(&all.two, "/b", &["-X", "POST", "-d", "x"]);
    assert!(get(&all.two, "/b", &[]).ends_with("second"));
}

#[test]
fn a_server_that_hangs_holds_up_nobody() {
    let all = TwoGateways::start();
    all.kept("/a");
    all.redis.signal("STOP");
    let page = Page::new("text/plain", "new").header("Cache-Control", "max-age=300");
    let begun = Instant::now();
    for number in 0..20 {
        let path = format!("/n{number}");
        all.origin.add(&path, page.clone());
        assert!(get(&all.two, &path, &[]).ends_with("new"));
    }
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert_eq!(counted(&all.two, "hit"), 0);
    assert!(counted(&all.two, "late") >= 1);
    all.redis.signal("CONT");
}

#[test]
fn what_somebody_wrote_into_the_server_is_asked_of_the_origin() {
    let all = TwoGateways::start();
    all.kept("/a");
    let name = all.redis.cli(&["KEYS", "tidegate:cache:*"]);
    all.redis.cli(&["SETRANGE", &name, "60", "forged"]);
    assert!(get(&all.two, "/a", &[]).ends_with("first"));
    assert_eq!(
        (all.asked("/a"), counted(&all.two, "hit"), counted(&all.two, "refused")),
        (2, 0, 1)
    );
}
