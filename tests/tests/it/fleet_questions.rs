//! Three machines that ask each other through a real Redis: why a name is blocked at one and not
//! at another, and for rows of their request logs.

use serde_json::Value as Json;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};
use test_support::RedisServer;
use tidegate_tests::Scratch;
use tidegate_tests::clients::{curl, dig_short};
use tidegate_tests::resolver::{Reply, Resolver};
use tidegate_tests::tidegate::{self, Tidegate};
use tidegate_tests::wait::until;

const SECRET: &str = "0123456789abcdef0123456789abcdef";
const YAML: &str = r#"
fleet:
  name: NAME
  live: { url: "redis://127.0.0.1:REDIS", secret: "SECRET", questions: QUESTIONS }
policy: { lists: [{ name: mine, rules: ["||RULE^"] }] }
dns: { listen: ["udp://127.0.0.1:0"], upstreams: ["udp://UPSTREAM"] }
admin: { listen: "127.0.0.1:0" }
"#;

/// A fleet with everything around it.
struct SmallFleet {
    redis: RedisServer,
    upstream: Resolver,
    machines: Vec<Tidegate>,
}

/// A machine as it is wanted: its name, what it blocks, its secret, whether it answers.
struct WantedMachine {
    name: &'static str,
    blocks: &'static str,
    secret: &'static str,
    questions: &'static str,
}

fn machine(name: &'static str, blocks: &'static str) -> WantedMachine {
    WantedMachine { name, blocks, secret: SECRET, questions: "true" }
}

impl SmallFleet {
    fn start(wanted: &[WantedMachine]) -> Self {
        let redis = RedisServer::start(&[]);
        let at = Reply::Address(Ipv4Addr::new(192, 0, 2, 10));
        let names = ["shop.example", "a.example", "b.example"];
        let upstream = Resolver::start(&names.map(|name| (name, at.clone())));
        let mut all = Self { redis, upstream, machines: Vec::new() };
        all.machines = wanted.iter().map(|it| all.machine(it)).collect();
        let seen = format!("tidegate_fleet_edges_seen {}", wanted.len());
        for machine in &all.machines {
            until("the fleet", || {
                let said = machine.figures();
                let is_there = said.contains("tidegate_fleet_live_degraded 0");
                (is_there && said.contains(&seen)).then_some(())
            });
        }
        all
    }

    fn machine(&self, wanted: &WantedMachine) -> Tidegate {
        let yaml = YAML.replace("NAME", wanted.name).replace("RULE", wanted.blocks);
        let yaml = yaml.replace("REDIS", &self.redis.port().to_string());
        let yaml = yaml.replace("SECRET", wanted.secret).replace("QUESTIONS", wanted.questions);
        Tidegate::start(&yaml.replace("UPSTREAM", &self.upstream.address.to_string()))
    }

    /// Asks the first machine for the whole fleet.
    fn ask(&self, path: &str) -> Json {
        self.machines[0].api(path)
    }
}

/// The line of a machine.
fn of<'a>(answer: &'a Json, edge: &str) -> &'a Json {
    let machines = answer["machines"].as_array().unwrap();
    let found = machines.iter().find(|it| it["edge"] == edge);
    found.unwrap_or_else(|| panic!("{edge} is not named: {answer:#}"))
}

/// Status and body of what is asked with this token.
fn asked_with(edge: &Tidegate, path: &str, token: &str) -> (u16, String) {
    let address = edge.address("admin", "http");
    let field = format!("Authorization: Bearer {token}");
    curl(&["-H", &field, &format!("http://{address}{path}")])
}

fn token(edge: &Tidegate) -> String {
    std::fs::read_to_string(edge.state().join("admin.token")).unwrap().trim().to_owned()
}

#[test]
fn each_machine_says_why_a_name_is_blocked_there_or_not() {
    let all = SmallFleet::start(&[
        machine("one", "nobody.example"),
        machine("two", "shop.example"),
        machine("three", "nobody.example"),
    ]);
    let begun = Instant::now();
    let said = all.ask("/api/fleet/why?target=www.shop.example&client=192.0.2.7");
    assert!(begun.elapsed() < Duration::from_secs(2), "nobody waits for those who have answered");
    assert_eq!(said["own"], "one");
    for (edge, action) in [("one", "pass"), ("two", "block"), ("three", "pass")] {
        let machine = of(&said, edge);
        assert_eq!(machine["state"], "answered", "{said:#}");
        assert_eq!(machine["verdict"]["action"], action, "{said:#}");
    }
    let rule = &of(&said, "two")["verdict"]["rule"];
    assert_eq!((&rule["list"], &rule["text"]), (&"mine".into(), &"||shop.example^".into()));

    let told = all.machines[0].told(&["why", "www.shop.example", "--fleet"]);
    let line = told.lines().find(|it| it.starts_with("two ")).unwrap();
    assert!(line.contains("blocked: ||shop.example^"), "{told}");
    let json = all.machines[0].told(&["why", "www.shop.example", "--fleet", "--json"]);
    let json: Json = serde_json::from_str(&json).unwrap();
    assert_eq!(of(&json, "two")["verdict"]["action"], "block");

    let (status, body) =
        asked_with(&all.machines[0], "/api/fleet/why?target=a%20b", &token(&all.machines[0]));
    assert_eq!(status, 400, "{body}");
}

#[test]
fn who_does_not_answer_is_named_with_the_reason() {
    let all = SmallFleet::start(&[
        machine("asks", "nobody.example"),
        WantedMachine { questions: "false", ..machine("declines", "nobody.example") },
        WantedMachine {
            secret: "another secret of the fleet's ...",
            ..machine("foreign", "nobody.example")
        },
        machine("stopped", "nobody.example"),
    ]);
    all.machines[3].signal("STOP");
    let begun = Instant::now();
    let said = all.ask("/api/fleet/why?target=shop.example");
    let took = begun.elapsed();
    all.machines[3].signal("CONT");
    assert!(took < Duration::from_millis(3_800), "{took:?}");
    for (edge, state) in
        [("asks", "answered"), ("declines", "declined"), ("foreign", "other_secret")]
    {
        assert_eq!(of(&said, edge)["state"], state, "{said:#}");
    }
    let stopped = of(&said, "stopped");
    assert!(stopped["state"] == "away" || stopped["state"] == "late", "{said:#}");
    assert!(stopped["reason"].as_str().is_some_and(|it| it.contains("seconds")), "{said:#}");

    let declines = &all.machines[1];
    let (status, body) =
        asked_with(declines, "/api/fleet/why?target=shop.example", &token(declines));
    assert_eq!(status, 404, "{body}");
    assert!(body.contains("fleet.live.questions"), "{body}");
    let one = all.ask("/api/fleet/requests?edge=nowhere");
    assert_eq!(of(&one, "nowhere")["state"], "away", "{one:#}");
}

#[test]
fn rows_of_all_machines_are_merged_by_time_and_filtered() {
    let all = SmallFleet::start(&[
        machine("one", "nobody.example"),
        machine("two", "shop.example"),
        machine("three", "nobody.example"),
    ]);
    for (number, name) in
        [(0, "shop.example"), (1, "shop.example"), (2, "a.example"), (0, "b.example")]
    {
        dig_short(all.machines[number].address("dns", "udp"), &[name]);
    }
    let subjects = |answer: &Json| -> Vec<(String, String)> {
        let rows = answer["rows"].as_array().unwrap();
        let text = |row: &Json, field: &str| row[field].as_str().unwrap().to_owned();
        rows.iter().map(|row| (text(row, "edge"), text(row, "subject"))).collect()
    };
    let expected = [
        ("one", "b.example"),
        ("three", "a.example"),
        ("two", "shop.example"),
        ("one", "shop.example"),
    ];
    let expected = expected.map(|(edge, name)| (edge.to_owned(), name.to_owned()));
    until("the rows of all", || {
        (subjects(&all.ask("/api/fleet/requests")) == expected).then_some(())
    });
    let some = all.ask("/api/fleet/requests?name=shop.example&action=block");
    assert_eq!(subjects(&some), [("two".to_owned(), "shop.example".to_owned())]);
    let one = all.ask("/api/fleet/requests?edge=three&limit=1");
    assert_eq!(subjects(&one), [("three".to_owned(), "a.example".to_owned())]);
    assert_eq!(one["machines"].as_array().unwrap().len(), 1, "the others are not asked");

    let told = all.machines[0].told(&["ctl", "requests", "--fleet", "--name", "shop.example"]);
    let lines: Vec<&str> = told.lines().collect();
    assert!(
        lines.len() == 2 && lines[0].starts_with("two ") && lines[1].starts_with("one "),
        "{told}"
    );
    let own = all.machines[0].told(&["ctl", "requests", "--json"]);
    assert_eq!(serde_json::from_str::<Json>(&own).unwrap()["rows"].as_array().unwrap().len(), 2);

    let audit = all.machines[0].api("/api/audit");
    let entries = audit["entries"].as_array().unwrap();
    let asked = entries.iter().filter(|it| it["action"] == "GET /api/fleet/requests");
    assert!(asked.count() >= 3, "{audit:#}");
    let (status, _) = asked_with(&all.machines[0], "/api/fleet/requests", "none");
    assert_eq!(status, 401, "who may not look may not ask");
    let (status, body) =
        asked_with(&all.machines[0], "/api/fleet/requests?after=7", &token(&all.machines[0]));
    assert_eq!(status, 400, "{body}");
}

#[test]
fn a_server_that_is_away_is_told_and_old_questions_are_no_new_ones() {
    let all = SmallFleet::start(&[machine("one", "nobody.example"), machine("two", "a.example")]);
    all.ask("/api/fleet/why?target=a.example");
    let line = all.redis.cli(&["XREVRANGE", "tidegate:questions", "+", "-"]);
    let words: Vec<&str> = line.lines().collect();
    let (id, sealed) = (words[2], words[4]);
    assert!(!line.contains("a.example"), "{line}");
    let answers = format!("tidegate:answer:{id}");
    all.redis.cli(&["DEL", &answers]);
    all.redis.cli(&["XADD", "tidegate:questions", "*", "i", id, "q", sealed]);
    // One of another number that nobody can read. No digit is in every number, to be replaced.
    let other: String = id.chars().rev().collect();
    all.redis.cli(&["XADD", "tidegate:questions", "*", "i", &other, "q", "AAAA"]);
    let said = all.ask("/api/fleet/why?target=a.example");
    assert_eq!(of(&said, "two")["verdict"]["action"], "block");
    assert_eq!(all.redis.cli(&["EXISTS", &answers]), "0", "it was answered once");

    let ttl: u64 = all.redis.cli(&["TTL", "tidegate:questions"]).parse().unwrap();
    assert!(ttl <= 60, "{ttl}");
    all.redis.signal("STOP");
    let one = &all.machines[0];
    let (status, body) = asked_with(one, "/api/fleet/why?target=a.example", &token(one));
    all.redis.signal("CONT");
    assert_eq!(status, 503, "{body}");
    assert!(body.contains("fleet.live"), "{body}");
}

#[test]
fn questions_need_a_secret() {
    let scratch = Scratch::new();
    let yaml = "fleet: { live: { url: \"redis://127.0.0.1\", questions: true } }\n";
    let (told, code) = tidegate::refused(yaml, &scratch, &scratch.path().join("state"));
    assert_ne!(code, 0);
    assert!(told.contains("fleet.live.questions") && told.contains("openssl rand"), "{told}");
}
