//! What the DNS door remembers, and how it is made to forget.

use std::net::Ipv4Addr;
use tidegate_tests::clients::{curl, dig_short};
use tidegate_tests::resolver::{Reply, Resolver};
use tidegate_tests::tidegate::Tidegate;

const YAML: &str = r#"
dns:
  listen: ["udp://127.0.0.1:0"]
  upstreams: ["udp://UPSTREAM"]
admin: { listen: "127.0.0.1:0" }
"#;

const NAMES: [&str; 3] = ["www.shop.example", "shop.example", "www.other.example"];

fn upstream() -> Resolver {
    let address = Reply::Address(Ipv4Addr::new(192, 0, 2, 10));
    Resolver::start(&NAMES.map(|name| (name, address.clone())))
}

#[test]
fn a_purged_name_is_asked_upstream_again_and_others_are_not() {
    let upstream = upstream();
    let edge = Tidegate::start(&YAML.replace("UPSTREAM", &upstream.address.to_string()));
    let dns = edge.address("dns", "udp");
    let ask_all = || {
        for name in NAMES {
            assert_eq!(dig_short(dns, &[name]).trim(), "192.0.2.10", "{name}");
        }
        NAMES.map(|name| upstream.count(name))
    };
    assert_eq!(ask_all(), [1, 1, 1]);
    assert_eq!(ask_all(), [1, 1, 1], "answers are remembered");
    let purge = |args: &[&str]| edge.told(&[&["ctl", "purge"], args].concat());
    assert_eq!(purge(&["SHOP.example."]), "1 answers were forgotten\n");
    assert_eq!(ask_all(), [1, 2, 1], "the name alone");
    assert_eq!(purge(&["--suffix", "shop.example"]), "2 answers were forgotten\n");
    assert_eq!(ask_all(), [2, 3, 1], "the name and those below");
    assert_eq!(purge(&["--all"]), "3 answers were forgotten\n");
    assert_eq!(ask_all(), [3, 4, 2]);
    assert_eq!(purge(&["nobody.example"]), "0 answers were forgotten\n");
    for wrong in [&["a b"][..], &[], &["x.example", "--all"]] {
        let refused = edge.command(&[&["ctl", "purge"], wrong].concat());
        assert!(!refused.status.success(), "{wrong:?}");
    }
    assert_eq!(ask_all(), [3, 4, 2], "what is refused forgets nothing");

    // Nobody purges without the token, or from a page of somebody else.
    let url = format!("http://{}/api/purge", edge.address("admin", "http"));
    let all = ["-X", "POST", "-H", "Content-Type: application/json", "-d", r#"{"what": "all"}"#];
    assert_eq!(curl(&[&all[..], &[&url]].concat()).0, 401);
    let foreign = ["-H", "Origin: https://evil.example", &url];
    assert!([401, 403].contains(&curl(&[&all[..], &foreign].concat()).0));
    assert_eq!(ask_all(), [3, 4, 2]);
}

#[test]
fn numbers_are_told_by_group_and_by_cache() {
    // One address that a view asks under the same name, with other ways to reach it: two upstreams.
    // The other view shares the first.
    let upstream = upstream();
    let yaml = r#"
dns:
  listen: ["udp://127.0.0.1:0"]
  upstreams: [{ address: "udp://UPSTREAM", name: "up" }]
  views:
    - name: kids
      clients: ["127.0.0.1"]
      upstreams: [{ address: "udp://UPSTREAM", name: "up", cookies: on }]
    - name: guests
      clients: ["127.0.0.2"]
      upstreams: [{ address: "udp://UPSTREAM", name: "up" }]
admin: { listen: "127.0.0.1:0" }
"#;
    let edge = Tidegate::start(&yaml.replace("UPSTREAM", &upstream.address.to_string()));
    let dns = edge.address("dns", "udp");
    for name in [NAMES[0], NAMES[0], NAMES[1]] {
        assert_eq!(dig_short(dns, &[name]).trim(), "192.0.2.10");
    }
    assert_eq!(dig_short(dns, &["-b", "127.0.0.2", NAMES[0]]).trim(), "192.0.2.10");
    let told = edge.api("/api/upstreams");
    let of = |group: &str| {
        let all = told["upstreams"].as_array().unwrap();
        let found: Vec<_> = all.iter().filter(|it| it["group"] == group).collect();
        let [one] = found[..] else { panic!("{group:?} in {told}") };
        (one["name"].as_str().unwrap().to_owned(), one["queries"].as_u64().unwrap())
    };
    assert_eq!(told["upstreams"].as_array().unwrap().len(), 2, "{told}");
    assert_eq!(of("kids"), ("up".to_owned(), 2));
    assert_eq!(of("+guests"), ("up".to_owned(), 1));
    let caches = edge.api("/api/caches");
    let caches: Vec<_> = caches["caches"].as_array().unwrap().iter().collect();
    let entries = |it: &serde_json::Value| {
        (it["name"].as_str().unwrap().to_owned(), it["entries"].as_u64().unwrap())
    };
    let expected = [("everybody", 0), ("kids", 2), ("guests", 1)];
    let found: Vec<_> = caches.into_iter().map(entries).collect();
    assert_eq!(found, expected.map(|(name, count)| (name.to_owned(), count)));
    let token = std::fs::read_to_string(edge.state().join("admin.token")).unwrap();
    let bearer = format!("Authorization: Bearer {}", token.trim());
    let url = format!("http://{}/metrics", edge.address("admin", "http"));
    let (_, text) = curl(&["-H", &bearer, &url]);
    for line in [
        "tidegate_upstream_queries_total{group=\"kids\",upstream=\"up\"} 2",
        "tidegate_upstream_queries_total{group=\"+guests\",upstream=\"up\"} 1",
        "tidegate_upstream_unproved_total{group=\"kids\",upstream=\"up\"} ",
        "tidegate_dns_cache_hits_total{cache=\"kids\"} 1",
        "tidegate_dns_cache_entries{cache=\"everybody\"} 0",
    ] {
        assert!(text.contains(line), "{line} is missing:\n{text}");
    }
}
