//! Each modifier that is in force, by what it lets through.

use crate::support::{CLIENT, Fetch, NOW, blocks, fetch, lookup, name, policy};
use policy::{Ask, ClientProfiles, ClientSettings, ListSettings, Policy, Settings};
use std::net::IpAddr;
use vocab::RequestKind;

fn check(list: &str, request: Fetch<'_>, blocked: bool) {
    let Fetch(url, kind, page) = request;
    let found = blocks(fetch(&policy(list), request));
    assert_eq!(found, blocked, "{kind} {url} of {page:?} by {list:?}");
}

fn check_type(list: &str, qtype: u16, blocked: bool) {
    let verdict = policy(list).decide(&Ask::lookup(name("a.example"), qtype, CLIENT), NOW);
    assert_eq!(blocks(verdict), blocked, "type {qtype} by {list:?}");
}

#[test]
fn what_spares_names_spares_addresses_too() {
    let all_but = policy("*$denyallow=com");
    assert!(blocks(lookup(&all_but, "a.example")));
    assert!(!blocks(lookup(&all_but, "a.com")));
    assert!(!blocks(lookup(&all_but, "192.0.2.7")));
    let not_to = policy("*$to=~a.example");
    assert!(blocks(fetch(&not_to, Fetch("https://192.0.2.7/x", RequestKind::Script, ""))));
}

#[test]
fn dnstype_holds_for_the_record_types_named() {
    check_type("||a.example^$dnstype=AAAA", 28, true);
    check_type("||a.example^$dnstype=AAAA", 1, false);
    check_type("||a.example^$dnstype=~AAAA", 1, true);
    check_type("||a.example^$dnstype=~AAAA", 28, false);
    check_type("||a.example^$dnstype=A|HTTPS", 65, true);
    check_type("||a.example^$dnstype=soup", 1, false);
    check("||a.example^$dnstype=A", Fetch("http://a.example/", RequestKind::Script, ""), false);
}

#[test]
fn denyallow_spares_names_and_those_below() {
    let policy = policy("||example^$denyallow=good.example|fine.example");
    assert!(blocks(lookup(&policy, "bad.example")));
    assert!(!blocks(lookup(&policy, "good.example")));
    assert!(!blocks(lookup(&policy, "www.fine.example")));
}

#[test]
fn client_holds_for_addresses_networks_and_profiles() {
    let settings = Settings {
        lists: vec![ListSettings { name: "list".into(), ..ListSettings::default() }],
        clients: vec![ClientSettings {
            name: "Frank's, laptop".into(),
            matches: vec!["10.0.0.9".into()],
            ..ClientSettings::default()
        }],
        ..Settings::default()
    };
    let check = |modifier: &str, client: &str, blocked: bool| {
        let rules = crate::support::rules(&format!("||a.example^$client={modifier}"));
        let policy = Policy::new(rules.into(), ClientProfiles::build(&settings));
        let client: IpAddr = client.parse().unwrap();
        let verdict = policy.decide(&Ask::lookup(name("a.example"), 1, client), NOW);
        assert_eq!(blocks(verdict), blocked, "{client} by {modifier}");
    };
    check("10.0.0.7", "10.0.0.7", true);
    check("10.0.0.7", "10.0.0.8", false);
    check("10.0.0.0/24|192.168.1.1", "192.168.1.1", true);
    check("~10.0.0.0/24", "10.0.0.7", false);
    check("~10.0.0.0/24", "10.1.0.7", true);
    check("10.0.0.0/24|~10.0.0.7", "10.0.0.7", false);
    check(r"'Frank\'s, laptop'", "10.0.0.9", true);
    check(r"Frank\'s\, laptop", "10.0.0.9", true);
    check(r"'Frank\'s, laptop'", "10.0.0.8", false);
    check("2001:db8::/32", "2001:db8::1", true);
}

#[test]
fn types_hold_for_their_kind_of_request() {
    let url = "https://a.example/x";
    check("||a.example^$script", Fetch(url, RequestKind::Script, ""), true);
    check("||a.example^$script", Fetch(url, RequestKind::Image, ""), false);
    check("||a.example^$~script", Fetch(url, RequestKind::Script, ""), false);
    check("||a.example^$~script", Fetch(url, RequestKind::Image, ""), true);
    check("||a.example^$xhr,ping", Fetch(url, RequestKind::Fetch, ""), true);
    check("||a.example^$document", Fetch(url, RequestKind::Document, ""), true);
    check("||a.example^$document", Fetch(url, RequestKind::Script, ""), false);
}

#[test]
fn a_pattern_never_blocks_a_page_unless_told() {
    check("/banner/", Fetch("https://a.example/banner", RequestKind::Document, ""), false);
    check("-banner-", Fetch("https://a.example/x-banner-y", RequestKind::Document, ""), false);
    check(
        "-banner-$document",
        Fetch("https://a.example/x-banner-y", RequestKind::Document, ""),
        true,
    );
    check("||a.example^", Fetch("https://a.example/", RequestKind::Document, ""), true);
}

#[test]
fn parties_are_told_by_the_public_suffix_list() {
    let url = "https://cdn.a.co.uk/x";
    check("||a.co.uk^$third-party", Fetch(url, RequestKind::Script, "www.a.co.uk"), false);
    check("||a.co.uk^$third-party", Fetch(url, RequestKind::Script, "b.co.uk"), true);
    check("||a.co.uk^$3p", Fetch(url, RequestKind::Script, "b.co.uk"), true);
    check("||a.co.uk^$~third-party", Fetch(url, RequestKind::Script, "www.a.co.uk"), true);
    check("||a.co.uk^$1p", Fetch(url, RequestKind::Script, "b.co.uk"), false);
    check("||a.co.uk^$third-party", Fetch(url, RequestKind::Script, ""), false);
    check("||a.co.uk^$first-party", Fetch(url, RequestKind::Script, ""), false);
}

#[test]
fn domain_holds_for_pages_of_those_hosts() {
    let url = "https://a.example/banner/x";
    let list = "/banner/*$domain=page.example|~good.page.example";
    check(list, Fetch(url, RequestKind::Image, "page.example"), true);
    check(list, Fetch(url, RequestKind::Image, "www.page.example"), true);
    check(list, Fetch(url, RequestKind::Image, "good.page.example"), false);
    check(list, Fetch(url, RequestKind::Image, "other.example"), false);
    check(list, Fetch(url, RequestKind::Image, ""), false);
    check("/banner/*$domain=~page.example", Fetch(url, RequestKind::Image, "other.example"), true);
    check("/banner/*$domain=google.*", Fetch(url, RequestKind::Image, "www.google.co.uk"), true);
    check("/banner/*$domain=google.*", Fetch(url, RequestKind::Image, "google.evil.com"), false);
    check("$script,domain=page.example", Fetch(url, RequestKind::Script, "page.example"), true);
    check("$script,domain=page.example", Fetch(url, RequestKind::Script, "other.example"), false);
}

#[test]
fn to_holds_for_wanted_hosts() {
    let list = "/banner/*$to=a.example|~good.a.example";
    check(list, Fetch("https://a.example/banner/x", RequestKind::Image, ""), true);
    check(list, Fetch("https://good.a.example/banner/x", RequestKind::Image, ""), false);
    check(list, Fetch("https://b.example/banner/x", RequestKind::Image, ""), false);
}

#[test]
fn case_counts_where_the_rule_says_so() {
    let url = "https://a.example/Banner/x";
    check("/BANNER/*", Fetch(url, RequestKind::Image, ""), true);
    check("/Banner/*$match-case", Fetch(url, RequestKind::Image, ""), true);
    check("/BANNER/*$match-case", Fetch(url, RequestKind::Image, ""), false);
    check("/bann[eE]r/$match-case", Fetch(url, RequestKind::Image, ""), false);
    check("/bann[eE]r/", Fetch(url, RequestKind::Image, ""), true);
}
