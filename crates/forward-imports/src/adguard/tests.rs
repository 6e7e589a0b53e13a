//! Files as AdGuard Home's users write them, and what they become.

#![allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
use super::*;
use crate::testing::OneFolder;
use import_report::ImportFate;

const SAMPLE: &str = include_str!("sample.yaml");

fn imported(text: &str) -> ImportedConfig {
    let around = OneFolder::of(&[("AdGuardHome.yaml", text)]);
    from_adguard_home(&["AdGuardHome.yaml".into()], &around).unwrap()
}

#[test]
fn what_it_blocked_rewrote_and_asked_is_carried_over() {
    let made = imported(SAMPLE);
    for due in [
        "\"udp://192.168.1.2:53\"",
        "\"tls://192.168.1.2:853\"",
        "{ address: \"udp://192.168.1.1\", domains: [\"lan\"] }",
        "blocked: \"nxdomain\"",
        "nas.home.example A 192.168.1.9",
        "||apps.home.example^ A 192.168.1.10",
        "printer.home.example A 192.168.1.9",
        "rewrites: [\"old.home.example new.home.example\"]",
        "url: \"https://lists.example/ads.txt\"",
        "kind: \"allow\"",
        "\"||tracker.example^$important\"",
        "\"||tiktok.com^\"",
        "match: [\"192.168.1.50\", \"aa:bb:cc:00:11:22\", \"id:tablet\"]",
        "tags: [\"device_tablet\", \"user_child\"]",
        "keep: \"90d\"",
        "stale_mode: \"at-once\"",
    ] {
        assert!(made.yaml.contains(due), "{due}\n{}", made.commented());
    }
}

#[test]
fn each_line_that_is_left_out_says_why() {
    let made = imported(SAMPLE);
    let left: Vec<String> = made
        .report
        .notes()
        .iter()
        .filter(|it| it.fate == ImportFate::LeftOut)
        .map(ToString::to_string)
        .collect();
    for due in [
        "it is off",
        "there is no DHCP server",
        "this stamp is DNSCrypt's",
        "its names are not known here",
        "the rule",
        "a plain DNS server is asked by its IP address",
        "the dashboard asks for the token",
    ] {
        assert!(left.iter().any(|it| it.contains(due)), "{due}\n{left:#?}");
    }
}

#[test]
fn nobody_is_let_in_by_a_list_of_which_nothing_is_left() {
    let made = imported("dns:\n  allowed_clients: [laptop]\n");
    assert!(made.yaml.contains("allow: [\"127.0.0.0/8\"]"), "{}", made.yaml);
}

#[test]
fn old_schemas_are_read_too() {
    let made = imported(
        "dns:\n  bind_host: 0.0.0.0\n  port: 5353\n  blocking_mode: nxdomain\n  \
         rewrites: [{ domain: a.example, answer: 192.0.2.1 }]\n  blocked_services: [reddit]\n  \
         querylog_interval: 7\nclients:\n  - { name: a, ids: [192.0.2.7] }\nschema_version: 10\n",
    );
    for due in ["udp://0.0.0.0:5353", "a.example A 192.0.2.1", "||reddit.com^", "keep: \"7d\""] {
        assert!(made.yaml.contains(due), "{due}\n{}", made.yaml);
    }
}

#[test]
fn what_is_none_is_refused_with_its_line() {
    let around = OneFolder::of(&[("a.yaml", "a: [1\nb: 2\n"), ("b.yaml", "a: 1\n")]);
    let refused = |name: &str| from_adguard_home(&[name.into()], &around).unwrap_err();
    assert_eq!(refused("a.yaml")[0].place.line, 2);
    assert!(refused("b.yaml")[0].message.contains("no section dns"));
    assert_eq!(refused("c.yaml").len(), 1);
}
