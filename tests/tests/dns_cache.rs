//! What the DNS door remembers, and how it is made to forget.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

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
