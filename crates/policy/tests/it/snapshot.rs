//! Compiled rules as bytes: what comes back says the same, and what was touched does not come back.

use crate::support::{CLIENT, Fetch, NOW, SEED, blocks, fetch, lookup, name, rules};
use policy::{Ask, ClientProfiles, ListKind, ListSource, Policy, RuleSet, SnapshotError};
use vocab::RequestKind;

const KEY: [u8; 32] = [7; 32];
const LIST: &str = "||a.example^\n0.0.0.0 b.example\n@@||ok.a.example^\n/ads/*$domain=p.example\n\
    ||c.example^$client='kids'|10.0.0.0/8,denyallow=d.c.example\n/[0-9]{7}x/$script\nbad##line\n\
    -banner-\n||e.example/path$third-party";

fn loaded(rules: &RuleSet) -> Policy {
    let rules = RuleSet::from_snapshot(&rules.to_snapshot(KEY), KEY).expect("written just now");
    Policy::new(rules.into(), ClientProfiles::everyone())
}

#[test]
fn what_comes_back_says_the_same() {
    let rules = rules(LIST);
    let policy = loaded(&rules);
    assert_eq!(policy.rules().lists(), rules.lists());
    assert!(blocks(lookup(&policy, "www.a.example")));
    assert!(!blocks(lookup(&policy, "ok.a.example")));
    assert!(blocks(lookup(&policy, "x-banner-y.example")));
    assert!(blocks(fetch(&policy, Fetch("https://z.example/1234567x", RequestKind::Script, ""))));
    assert!(blocks(fetch(
        &policy,
        Fetch("https://z.example/ads/", RequestKind::Image, "p.example")
    )));
    assert!(blocks(policy.decide(&Ask::lookup(name("c.example"), 1, [10, 0, 0, 1].into()), NOW)));
    let again = policy.rules().to_snapshot(KEY);
    assert_eq!(again, rules.to_snapshot(KEY));
}

#[test]
fn other_lists_other_versions_and_other_files_are_told_apart() {
    let bytes = rules(LIST).to_snapshot(KEY);
    let error = |bytes: &[u8], key| RuleSet::from_snapshot(bytes, key).unwrap_err();
    assert_eq!(error(&bytes, [8; 32]), SnapshotError::OtherLists);
    assert_eq!(error(b"#!/bin/sh", KEY), SnapshotError::NotASnapshot);
    assert_eq!(error(b"", KEY), SnapshotError::NotASnapshot);
    let mut old = bytes.clone();
    old[8] ^= 1;
    assert_eq!(error(&old, KEY), SnapshotError::Version);
}

#[test]
fn a_cut_or_flipped_snapshot_is_refused() {
    let bytes = rules(LIST).to_snapshot(KEY);
    for length in 0..bytes.len() {
        assert!(RuleSet::from_snapshot(&bytes[..length], KEY).is_err(), "cut at {length}");
    }
    for at in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[at / 8] ^= 1 << (at % 8);
        assert!(RuleSet::from_snapshot(&flipped, KEY).is_err(), "flipped bit {at}");
    }
    let mut longer = bytes;
    longer.push(0);
    assert!(RuleSet::from_snapshot(&longer, KEY).is_err());
}

#[test]
fn an_empty_policy_is_kept_too() {
    let policy = loaded(&policy::compile(&[], SEED));
    assert!(!blocks(policy.decide(&Ask::lookup(name("a.example"), 1, CLIENT), NOW)));
    let source = ListSource { name: "none", kind: ListKind::Allow, text: b"", files: &[] };
    assert_eq!(loaded(&policy::compile(&[source], SEED)).rules().lists().len(), 1);
}
