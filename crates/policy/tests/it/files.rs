//! A list put together from several files: each has its own syntax, and is named.

use crate::support::{Fetch, SEED, blocks, fetch, lookup, name};
use policy::{ClientProfiles, ListFile, ListKind, ListSource, Policy, RuleSet, UnfitList};
use vocab::RequestKind;

const KEY: [u8; 32] = [5; 32];

/// The texts of files one behind the other, and where each ends.
fn joined(files: &[(&str, &str)]) -> (Vec<u8>, Vec<ListFile>) {
    let mut text = Vec::new();
    let mut ends = Vec::new();
    for (name, content) in files {
        text.extend(content.as_bytes());
        ends.push(ListFile { name: (*name).into(), end: text.len() });
    }
    (text, ends)
}

fn compiled(files: &[(&str, &str)]) -> RuleSet {
    let (text, files) = joined(files);
    let list = ListSource { name: "mine", kind: ListKind::Block, text: &text, files: &files };
    policy::compile(&[list], SEED)
}

/// Where the rule stands that blocks a name.
fn place(policy: &Policy, host: &str) -> (String, u32) {
    let rule = lookup(policy, host).cause.rule().expect("a rule decides");
    let text = policy.rule_text(rule, name(host)).expect("the rule has a text");
    (text.list, text.line)
}

#[test]
fn every_rule_is_named_with_its_file_and_the_line_there() {
    let rules = compiled(&[
        ("a.txt", "! no line end behind\n||a.example^"),
        ("b.hosts", ""),
        ("c.list", "\u{feff}c.example\nbad##line\n||d.example^$dnstype=A\n"),
    ]);
    let stored = RuleSet::from_snapshot(&rules.to_snapshot(KEY), KEY).unwrap();
    for rules in [rules, stored] {
        let report = &rules.lists()[0];
        assert_eq!((report.lines, report.skipped.len()), (5, 1));
        assert_eq!(report.in_file(report.skipped[0].line), (Some("c.list"), 2));
        let policy = Policy::new(rules.into(), ClientProfiles::everyone());
        assert_eq!(place(&policy, "x.a.example"), ("mine/a.txt".into(), 2));
        assert_eq!(place(&policy, "c.example"), ("mine/c.list".into(), 1));
        assert_eq!(place(&policy, "d.example"), ("mine/c.list".into(), 3));
    }
}

#[test]
fn what_bare_words_are_is_told_by_each_file() {
    let rules = compiled(&[
        ("a.txt", "[Adblock Plus 2.0]\n-banner-"),
        ("b.txt", "b.example\n"),
        ("c.txt", "domain:c.example\nd.example"),
        ("e.txt", "||b.example^$badfilter\n||e.example^\n"),
        ("f.txt", "||e.example^$badfilter\n"),
    ]);
    let policy = Policy::new(rules.into(), ClientProfiles::everyone());
    assert!(blocks(fetch(&policy, Fetch("https://x.example/a-banner-b", RequestKind::Image, ""))));
    assert!(blocks(lookup(&policy, "b.example")));
    assert!(!blocks(lookup(&policy, "www.b.example")));
    assert!(blocks(lookup(&policy, "www.d.example")));
    assert!(!blocks(lookup(&policy, "e.example")));
}

#[test]
fn a_file_that_is_no_list_leaves_the_others_in_force() {
    let page = "<!doctype html><html><body>gone</body></html>";
    let rules = compiled(&[("a.txt", page), ("b.txt", "||b.example^")]);
    assert_eq!(rules.lists()[0].unfit, None);
    let policy = Policy::new(rules.into(), ClientProfiles::everyone());
    assert_eq!(place(&policy, "b.example"), ("mine/b.txt".into(), 1));
    assert_eq!(compiled(&[("a.txt", page)]).lists()[0].unfit, Some(UnfitList::WebPage));
}

#[test]
fn a_file_that_is_called_otherwise_is_a_change() {
    let (before, after) =
        (compiled(&[("a.txt", "||a.example^\n")]), joined(&[("b.txt", "||a.example^\n")]));
    let list = ListSource { name: "mine", kind: ListKind::Block, text: &after.0, files: &after.1 };
    let again = policy::recompile(&before, &[list]);
    assert_ne!(before.list_digests(), again.list_digests());
    let policy = Policy::new(again.into(), ClientProfiles::everyone());
    assert_eq!(place(&policy, "a.example"), ("mine/b.txt".into(), 1));
}
