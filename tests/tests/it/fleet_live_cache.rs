//! Two machines that keep answers for each other in a real Redis, behind their own caches.

use crate::fleet_live::until_both_are_seen;
use std::net::Ipv4Addr;
use test_support::RedisServer;
use tidegate_tests::clients::{dig, dig_short};
use tidegate_tests::resolver::{Reply, Resolver};
use tidegate_tests::tidegate::Tidegate;
use tidegate_tests::wait::until;

const YAML: &str = r#"
fleet:
  name: NAME
  live: { url: "redis://127.0.0.1:REDIS", secret: "0123456789abcdef0123456789abcdef", cache: { dns: true } }
policy: { lists: [{ name: mine, rules: [RULES] }] }
dns:
  listen: ["udp://127.0.0.1:0"]
  upstreams: ["udp://UPSTREAM"]
  timeout: 1s
admin: { listen: "127.0.0.1:0" }
"#;

struct TwoMachines {
    redis: RedisServer,
    upstream: Resolver,
    one: Tidegate,
    two: Tidegate,
}

impl TwoMachines {
    /// Two of which the second blocks `blocked.example`.
    fn start() -> Self {
        let redis = RedisServer::start(&[]);
        let at = Reply::Address(Ipv4Addr::new(192, 0, 2, 10));
        let names = ["a.example", "b.example", "blocked.example"];
        let upstream = Resolver::start(&names.map(|name| (name, at.clone())));
        let edge = |name: &str, rules: &str| {
            let yaml = YAML.replace("NAME", name).replace("REDIS", &redis.port().to_string());
            let yaml = yaml.replace("UPSTREAM", &upstream.address.to_string());
            Tidegate::start(&yaml.replace("RULES", rules))
        };
        let (one, two) =
            (edge("one", "\"||nobody.example^\""), edge("two", "\"||blocked.example^\""));
        until_both_are_seen([&one, &two]);
        Self { redis, upstream, one, two }
    }

    /// Has the first machine answer a name, and waits until the server has its answer.
    fn kept(&self, name: &str) {
        let before = self.held();
        assert_eq!(ask(&self.one, name), "192.0.2.10");
        until("the answer at the server", || (self.held() > before).then_some(()));
    }

    fn held(&self) -> usize {
        self.redis.cli(&["KEYS", "tidegate:cache:*"]).lines().count()
    }
}

fn ask(edge: &Tidegate, name: &str) -> String {
    dig_short(edge.address("dns", "udp"), &["+tries=1", "+time=4", name]).trim().to_owned()
}

fn counted(edge: &Tidegate, outcome: &str) -> u64 {
    let line = format!("tidegate_fleet_cache_answers_total{{outcome=\"{outcome}\"}} ");
    let said = edge.figures();
    said.lines().find_map(|it| it.strip_prefix(&line)).map_or(0, |it| it.parse().unwrap())
}

#[test]
fn a_name_asked_at_one_machine_is_answered_at_the_other_while_the_upstream_is_dead() {
    let all = TwoMachines::start();
    all.kept("a.example");
    all.kept("blocked.example");
    all.upstream.silence();
    until("the answer of the other machine", || {
        (ask(&all.two, "a.example") == "192.0.2.10").then_some(())
    });
    assert_eq!(counted(&all.two, "hit"), 1, "and it is in its own cache from then on");
    let asked = dig(all.two.address("dns", "udp"), &["a.example", "+noall", "+answer"]);
    let ttl: u32 = asked.split_whitespace().nth(1).unwrap().parse().unwrap();
    until("its time to pass", || {
        let asked = dig(all.two.address("dns", "udp"), &["a.example", "+noall", "+answer"]);
        (asked.split_whitespace().nth(1).unwrap().parse::<u32>().unwrap() < ttl).then_some(())
    });
    let blocked = dig(all.two.address("dns", "udp"), &["blocked.example"]);
    assert!(!blocked.contains("192.0.2.10") && blocked.contains("EDE: 15"), "{blocked}");
    assert_ne!(ask(&all.two, "b.example"), "192.0.2.10", "nobody knows it");
}

#[test]
fn what_somebody_wrote_into_the_server_is_asked_of_the_upstream() {
    let all = TwoMachines::start();
    all.kept("a.example");
    let name = all.redis.cli(&["KEYS", "tidegate:cache:*"]);
    all.redis.cli(&["SETRANGE", &name, "30", "forged"]);
    all.upstream.set("a.example", Reply::Address(Ipv4Addr::new(192, 0, 2, 11)));
    assert_eq!(ask(&all.two, "a.example"), "192.0.2.11");
    assert_eq!(counted(&all.two, "hit"), 0);
}

#[test]
fn a_server_that_hangs_costs_no_answer() {
    let all = TwoMachines::start();
    all.kept("a.example");
    all.redis.signal("STOP");
    for number in 0..20 {
        let name = format!("n{number}.example");
        all.upstream.set(&name, Reply::Address(Ipv4Addr::new(192, 0, 2, 12)));
        assert_eq!(ask(&all.two, &name), "192.0.2.12", "one try, of the upstream");
    }
    assert_eq!(counted(&all.two, "hit"), 0);
    assert!(counted(&all.two, "late") >= 1);
}

#[test]
fn a_purge_reaches_what_the_machines_keep_for_each_other() {
    let all = TwoMachines::start();
    all.kept("a.example");
    all.kept("b.example");
    for name in ["a.example", "b.example"] {
        all.upstream.set(name, Reply::Address(Ipv4Addr::new(192, 0, 2, 11)));
    }
    all.one.told(&["ctl", "purge", "a.example"]);
    until("the purge", || {
        let line = all.redis.cli(&["HGET", "tidegate:purge-line", "number"]);
        (line == "1").then_some(())
    });
    assert_eq!(ask(&all.one, "a.example"), "192.0.2.11");
    until("the purge at the other", || (ask(&all.two, "a.example") == "192.0.2.11").then_some(()));
    all.two.told(&["ctl", "purge", "--all"]);
    assert_eq!(ask(&all.two, "b.example"), "192.0.2.11");
}
