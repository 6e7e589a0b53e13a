//! Two machines that share their live state by a real Redis: what one is told, the other does;
//! without the server both serve as before.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use test_support::RedisServer;
use tidegate_tests::Scratch;
use tidegate_tests::clients::{curl, curl_with_head, dig, dig_short};
use tidegate_tests::origin::{Origin, Page, header};
use tidegate_tests::resolver::{Reply, Resolver};
use tidegate_tests::tidegate::{self, Tidegate};
use tidegate_tests::wait::until;

const YAML: &str = r#"
fleet: { name: NAME, live: { url: "redis://127.0.0.1:REDIS", secret: "0123456789abcdef0123456789abcdef" } }
policy: { lists: [{ name: mine, rules: ["||shop.example^", "||ads.example^"] }] }
dns: { listen: ["udp://127.0.0.1:0"], upstreams: ["udp://UPSTREAM"] }
pixel: { listen: ["https://127.0.0.1:0"] }
gateway:
  listen: ["http://127.0.0.1:0"]
  pools: { app: { servers: ["http://ORIGIN"] } }
  routes:
    - { path: "/limited", answer: { body: in }, limit: { rate: 1/m, burst: 6, shared: logins } }
    - { path: "/*", pool: app, cache: true }
admin: { listen: "127.0.0.1:0" }
"#;

/// Two machines with everything around them.
struct TwoMachines {
    redis: RedisServer,
    upstream: Resolver,
    origin: Origin,
    one: Tidegate,
    two: Tidegate,
}

impl TwoMachines {
    fn start() -> Self {
        let redis = RedisServer::start(&[]);
        let at = Reply::Address(Ipv4Addr::new(192, 0, 2, 10));
        let upstream = Resolver::start(&[("www.shop.example", at.clone()), ("a.example", at)]);
        let page = Page::new("text/plain", "kept").header("Cache-Control", "max-age=600");
        let origin = Origin::start(&[("/kept", page)]);
        let edge = |name: &str| {
            let yaml = YAML.replace("NAME", name).replace("REDIS", &redis.port().to_string());
            let yaml = yaml.replace("UPSTREAM", &upstream.address.to_string());
            Tidegate::start(&yaml.replace("ORIGIN", &origin.address.to_string()))
        };
        let (one, two) = (edge("one"), edge("two"));
        until_both_are_seen([&one, &two]);
        Self { redis, upstream, origin, one, two }
    }
}

/// Waits until each of two machines sees the other.
pub(crate) fn until_both_are_seen(edges: [&Tidegate; 2]) {
    for edge in edges {
        standing(edge, "tidegate_fleet_live_degraded 0");
        standing(edge, "tidegate_fleet_edges_seen 2");
    }
}

/// Waits until the metrics page has this line.
fn standing(edge: &Tidegate, line: &str) {
    until(line, || edge.figures().lines().any(|it| it == line).then_some(()));
}

fn passes(edge: &Tidegate) -> bool {
    dig_short(edge.address("dns", "udp"), &["www.shop.example"]).trim() == "192.0.2.10"
}

fn within_a_second(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    until(what, || is_so().then_some(()));
    assert!(begun.elapsed() < Duration::from_secs(1), "{what}: {:?}", begun.elapsed());
}

#[test]
fn what_is_done_by_hand_at_one_machine_is_done_at_the_other_within_a_second() {
    let all = TwoMachines::start();
    let (one, two) = (&all.one, &all.two);
    one.told(&["ctl", "allow", "shop.example", "--for", "1h"]);
    within_a_second("the allow", || passes(two));
    assert!(two.told(&["ctl", "allows"]).starts_with("shop.example passes for everybody"));
    two.told(&["ctl", "revoke", "shop.example"]);
    within_a_second("the end of it", || !passes(one));

    two.told(&["ctl", "block", "a.example", "--always"]);
    within_a_second("the block", || {
        dig(one.address("dns", "udp"), &["a.example"]).contains("EDE: 15")
    });
    one.told(&["ctl", "unblock", "a.example"]);
    within_a_second("its end", || {
        dig_short(two.address("dns", "udp"), &["a.example"]).trim() == "192.0.2.10"
    });

    one.told(&["ctl", "pause", "10"]);
    within_a_second("the pause", || passes(two));
    two.told(&["ctl", "resume"]);
    within_a_second("its end", || !passes(one));
}

#[test]
fn a_purge_is_done_everywhere_and_after_an_absence() {
    let all = TwoMachines::start();
    let (one, two) = (&all.one, all.two);
    let ask =
        |edge: &Tidegate| dig_short(edge.address("dns", "udp"), &["a.example"]).trim().to_owned();
    assert_eq!(ask(&two), "192.0.2.10");
    all.upstream.set("a.example", Reply::Address(Ipv4Addr::new(192, 0, 2, 11)));
    assert_eq!(ask(&two), "192.0.2.10", "kept");
    one.told(&["ctl", "purge", "a.example"]);
    within_a_second("the purge of an answer", || ask(&two) == "192.0.2.11");

    let stored = |edge: &Tidegate| {
        let url = format!("http://{}/kept", edge.address("gateway", "http"));
        let (status, head) = curl_with_head(&[&url]);
        assert_eq!(status, 200, "{head}");
        header(&head, "cache-status").unwrap().starts_with("tidegate;hit")
    };
    stored(&two);
    assert!(stored(&two));
    one.told(&["ctl", "purge", "--stored"]);
    within_a_second("the purge of a response", || !stored(&two));

    assert_eq!(ask(&two), "192.0.2.11");
    let yaml = std::fs::read_to_string(two.state().join("../tidegate.yaml")).unwrap();
    let (_, scratch) = two.stop_by("TERM");
    all.upstream.set("a.example", Reply::Address(Ipv4Addr::new(192, 0, 2, 12)));
    one.told(&["ctl", "purge", "--all"]);
    let two = Tidegate::start_in(scratch, &yaml);
    standing(&two, "tidegate_fleet_live_degraded 0");
    assert_eq!(ask(&two), "192.0.2.12", "its kept answers were purged while it was away");
}

#[test]
fn without_the_server_everything_is_served_and_afterwards_everybody_knows() {
    let mut all = TwoMachines::start();
    all.one.told(&["ctl", "allow", "shop.example", "--always"]);
    within_a_second("the allow", || passes(&all.two));
    let kept = format!("http://{}/kept", all.one.address("gateway", "http"));
    let ask = |count: usize| {
        let mut longest = Duration::ZERO;
        for _ in 0..count {
            let begun = Instant::now();
            assert_eq!(curl(&[&kept]), (200, "kept".into()));
            assert!(passes(&all.one));
            longest = longest.max(begun.elapsed());
        }
        longest
    };
    ask(3);
    all.redis.signal("STOP");
    let hanging = ask(30);
    standing(&all.one, "tidegate_fleet_live_degraded 1");
    standing(&all.one, "tidegate_fleet_edges_seen 2");
    let hanging = hanging.max(ask(30));
    assert!(hanging < Duration::from_secs(1), "no request waits for the server: {hanging:?}");
    let warned = all.one.told(&["ctl", "status"]);
    assert!(warned.contains("fleet.live: the server is away since"), "{warned}");
    all.one.told(&["ctl", "revoke", "shop.example"]);
    all.two.told(&["ctl", "block", "a.example", "--always"]);
    all.redis.kill();
    all.redis.start_again();
    until("the revoke at the other", || (!passes(&all.two)).then_some(()));
    until("the block at the other", || {
        dig(all.one.address("dns", "udp"), &["a.example"]).contains("EDE: 15").then_some(())
    });
    for edge in [&all.one, &all.two] {
        standing(edge, "tidegate_fleet_live_degraded 0");
    }
    assert!(!all.origin.requests().is_empty());
}

#[test]
fn a_shared_limit_counts_at_both_machines() {
    let mut all = TwoMachines::start();
    let ask =
        |edge: &Tidegate| curl(&[&format!("http://{}/limited", edge.address("gateway", "http"))]).0;
    let mut passed = 0;
    until("the limit", || {
        let answers = [ask(&all.one), ask(&all.two)];
        passed += answers.iter().filter(|status| **status == 200).count();
        (answers == [429, 429]).then_some(())
    });
    assert!((6..=12).contains(&passed), "6 at once, 6 more at most: {passed}");
    all.redis.kill();
    standing(&all.one, "tidegate_fleet_live_degraded 1");
    assert_eq!(ask(&all.one), 429, "a loss gives no second burst");
}

/// What a client of a door says of a session, kept in or taken from a file.
fn session(door: SocketAddr, args: &[&str]) -> String {
    let mut client = Command::new("openssl")
        .args(["s_client", "-connect", &door.to_string(), "-servername", "ads.example", "-ign_eof"])
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let request = b"GET / HTTP/1.1\r\nHost: ads.example\r\nConnection: close\r\n\r\n";
    client.stdin.as_mut().unwrap().write_all(request).unwrap();
    String::from_utf8_lossy(&client.wait_with_output().unwrap().stdout).into_owned()
}

#[test]
fn a_tls_session_of_one_machine_is_resumed_at_the_other_after_two_changes_of_keys() {
    let all = TwoMachines::start();
    let (one, two) = (all.one.address("pixel", "https"), all.two.address("pixel", "https"));
    let scratch = Scratch::new();
    let number = || all.redis.cli(&["HGET", "tidegate:ticket-keys", "number"]);
    until("the first keys", || (number() == "1").then_some(()));
    for version in ["-tls1_3", "-tls1_2"] {
        let file = scratch.path().join(version).display().to_string();
        until("a ticket of the fleet", || {
            let first = session(one, &[version, "-sess_out", &file]);
            assert!(first.contains("New, TLSv1"), "{first}");
            session(two, &[version, "-sess_in", &file]).contains("Reused, TLSv1").then_some(())
        });
    }
    for turned in ["2", "3"] {
        all.redis.cli(&["HSET", "tidegate:ticket-keys", "made", "0"]);
        until("a change of keys", || (number() == turned).then_some(()));
    }
    for version in ["-tls1_3", "-tls1_2"] {
        let file = scratch.path().join(version).display().to_string();
        until("the keys at the other", || {
            session(two, &[version, "-sess_in", &file]).contains("Reused, TLSv1").then_some(())
        });
    }
}

#[test]
fn a_reload_joins_a_fleet_moves_to_another_and_leaves_it() {
    let redis = RedisServer::start(&[]);
    let alone = "policy: { lists: [{ name: mine, rules: [\"||shop.example^\"] }] }\n\
                 admin: { listen: \"127.0.0.1:0\" }\n";
    let member = |prefix: &str| {
        let url = format!("redis://127.0.0.1:{}", redis.port());
        format!("{alone}fleet: {{ name: one, live: {{ url: \"{url}\", prefix: {prefix} }} }}\n")
    };
    let edge = Tidegate::start(alone);
    assert!(!edge.figures().contains("tidegate_fleet"));
    let file = edge.state().join("../tidegate.yaml");
    for prefix in ["a", "b"] {
        std::fs::write(&file, member(prefix)).unwrap();
        edge.told(&["ctl", "reload"]);
        standing(&edge, "tidegate_fleet_live_degraded 0");
        assert_eq!(redis.cli(&["ZRANGE", &format!("{prefix}:edges"), "0", "-1"]), "one");
    }
    assert_eq!(redis.cli(&["ZCARD", "a:edges"]), "0", "it left the other");
    std::fs::write(&file, alone).unwrap();
    edge.told(&["ctl", "reload"]);
    assert!(!edge.figures().contains("tidegate_fleet"));
    assert_eq!(redis.cli(&["ZCARD", "b:edges"]), "0");
}

#[test]
fn what_is_wrong_with_the_servers_files_is_told_by_check() {
    let scratch = Scratch::new();
    let yaml = "fleet: { live: { url: \"rediss://valkey.example\", ca: none.pem } }\n";
    let file = scratch.write("wrong.yaml", yaml).display().to_string();
    let output = tidegate::run(&["check", "--config", &file]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("fleet.live.ca") && said.contains("none.pem"), "{said}");
    let right = yaml.replace(", ca: none.pem", "");
    let file = scratch.write("right.yaml", right).display().to_string();
    let output = tidegate::run(&["check", "--config", &file]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("TLS sessions are resumed only where they began"), "{said}");
}

#[test]
fn a_limit_that_nobody_shares_is_refused_with_a_remedy() {
    let yaml = "gateway:\n  listen: [\"http://127.0.0.1:0\"]\n  routes:\n    - { path: \"/\", \
                answer: { body: hi }, limit: { rate: 1/s, shared: a } }\n";
    let scratch = Scratch::new();
    let (said, code) = tidegate::refused(yaml, &scratch, &scratch.path().join("state"));
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("gateway.routes.0.limit.shared") && said.contains("fleet.live.url"));
}
