//! Which of several rules decides.

use crate::support::{CLIENT, Fetch, NOW, SEED, blocks, fetch, lookup, name, policy};
use policy::{Ask, ClientProfiles, ListKind, ListSource, Policy};
use vocab::{Action, Cause, ListId, RequestKind, RuleRef};

fn check(list: &str, action: Action, line: u32) {
    let verdict = lookup(&policy(list), "a.example");
    let rule = RuleRef { list: ListId(0), line };
    assert_eq!((verdict.action, verdict.cause), (action, Cause::Rule(rule)), "{list:?}");
}

#[test]
fn important_exception_then_important_block_then_exception_then_block() {
    check("||a.example^", Action::Block, 1);
    check("||a.example^\n@@||a.example^", Action::Pass, 2);
    check("@@||a.example^\n||a.example^$important", Action::Block, 2);
    check("||a.example^$important\n@@||a.example^$important", Action::Pass, 2);
    check("||a.example^$important\n@@||a.example^\n||a.example^", Action::Block, 1);
}

#[test]
fn an_exception_for_a_parent_spares_what_is_below() {
    check("a.example\n@@||example^", Action::Pass, 2);
}

#[test]
fn other_rules_are_named_before_hosts_lines_then_the_earlier() {
    check("0.0.0.0 a.example\n||a.example^", Action::Block, 2);
    check("||a.example^\n||example^", Action::Block, 1);
}

#[test]
fn an_exception_to_nothing_is_no_cause() {
    let verdict = lookup(&policy("@@||a.example^"), "a.example");
    assert_eq!((verdict.action, verdict.cause), (Action::Pass, Cause::NoRule));
}

#[test]
fn badfilter_cancels_the_same_rule_in_any_list() {
    let list = |name, text: &'static str| ListSource {
        name,
        kind: ListKind::Block,
        text: text.as_bytes(),
        files: &[],
    };
    let lists = [
        list("one", "||a.example^\n||b.example^$script,third-party\n/banner/*"),
        list(
            "three",
            "||c.example^$3p,domain=x.example|y.example\n||D.example/Ad$xhr\n/\\d{4}x/$script",
        ),
        list("four", "||C.example^$from=y.example|x.example,badfilter,third-party"),
        list("five", "||d.example/ad$xmlhttprequest,badfilter\n/\\D{4}x/$script,badfilter"),
        list("two", "||a.example^$badfilter\n||b.example^$third-party,script,badfilter"),
    ];
    let policy = Policy::new(policy::compile(&lists, SEED).into(), ClientProfiles::everyone());
    assert!(!blocks(lookup(&policy, "a.example")));
    // By what modifiers mean, not by how they are written; in expressions case counts.
    let cancelled = [(policy::SkipReason::Cancelled, 2)];
    assert_eq!(policy.rules().lists()[1].skipped_by_reason, cancelled);
    let script = Fetch("https://b.example/x", RequestKind::Script, "page.example");
    assert!(!blocks(fetch(&policy, script)));
    assert!(blocks(fetch(&policy, Fetch("https://b.example/banner/", RequestKind::Image, ""))));
    let lists = [list("one", "||a.example^$important\n||a.example^$badfilter")];
    let policy = Policy::new(policy::compile(&lists, SEED).into(), ClientProfiles::everyone());
    assert!(blocks(lookup(&policy, "a.example")), "other modifiers, so another rule");
}

#[test]
fn every_rule_of_an_allow_list_is_an_exception() {
    let lists = [
        ListSource { name: "block", kind: ListKind::Block, text: b"||example^", files: &[] },
        ListSource {
            name: "allow",
            kind: ListKind::Allow,
            text: b"a.example\n||b.example^",
            files: &[],
        },
    ];
    let policy = Policy::new(policy::compile(&lists, SEED).into(), ClientProfiles::everyone());
    assert!(!blocks(lookup(&policy, "a.example")));
    assert!(blocks(lookup(&policy, "www.a.example")));
    assert!(!blocks(lookup(&policy, "www.b.example")));
}

#[test]
fn a_blocked_name_blocks_its_urls_and_an_exception_for_a_url_spares_one() {
    let policy = policy("||a.example^\n@@||a.example/good/\n/banner/*\n@@||b.example^");
    let check = |url, blocked| {
        assert_eq!(blocks(fetch(&policy, Fetch(url, RequestKind::Script, ""))), blocked, "{url}");
    };
    check("https://www.a.example/x", true);
    check("https://a.example/good/x", false);
    check("https://c.example/banner/x", true);
    check("https://b.example/banner/x", false);
}

#[test]
fn nothing_is_blocked_while_protection_is_paused() {
    let policy = policy("||a.example^");
    policy.pause_until(NOW.unix_ms + 1);
    let ask = Ask::lookup(name("a.example"), 1, CLIENT);
    assert_eq!(policy.decide(&ask, NOW).cause, Cause::Paused);
    let later = vocab::Now { unix_ms: NOW.unix_ms + 1, ..NOW };
    assert!(blocks(policy.decide(&ask, later)));
}
