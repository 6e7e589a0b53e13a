//! `$dnsrewrite`: what a look-up is answered with, and what switches it off again.

use crate::support::{CLIENT, Fetch, NOW, SEED, blocks, fetch, lookup, name, policy};
use policy::{
    Ask, ClientProfiles, ListKind, ListSource, Policy, RewriteAnswer, RuleOutcome, RuleSet,
    VerdictManner,
};
use vocab::{Action, Cause, RequestKind};

/// The answer to a look-up of `a.example`, in few words, and the lines that say so.
fn told(policy: &Policy) -> (String, Vec<u32>) {
    let ask = Ask::lookup(name("a.example"), 1, CLIENT);
    let verdict = policy.decide(&ask, NOW);
    assert_eq!(verdict, policy.explain(&ask, NOW).verdict);
    let Some(rewritten) = policy.rewritten(&ask, NOW) else {
        assert_ne!(verdict.manner, VerdictManner::Rewrite);
        return (verdict.action.to_string(), Vec::new());
    };
    assert_eq!(verdict.manner, VerdictManner::Rewrite);
    assert_eq!(verdict.cause, Cause::Rule(rewritten.rules[0]));
    let answer = match rewritten.answer {
        RewriteAnswer::Code(code) => {
            assert_eq!(verdict.action, Action::Block, "nothing is answered");
            format!("code {code}")
        }
        RewriteAnswer::Alias(name) => format!("alias {name}"),
        RewriteAnswer::Records(records) => {
            let words: Vec<_> = records
                .iter()
                .map(|it| format!("{} {it}", RequestKind::Lookup(it.record_type())))
                .collect();
            words.join(", ")
        }
    };
    (answer, rewritten.rules.iter().map(|rule| rule.line).collect())
}

fn check(list: &str, answer: &str, lines: &[u32]) {
    let found = told(&policy(list));
    assert_eq!(found, (answer.to_owned(), lines.to_vec()), "{list}");
    let rules = crate::support::rules(list);
    let stored =
        RuleSet::from_snapshot(&rules.to_snapshot([0; 32]), [0; 32]).expect("written just now");
    assert_eq!(
        told(&Policy::new(stored.into(), ClientProfiles::everyone())),
        found,
        "stored: {list}"
    );
}

#[test]
fn every_value_is_an_answer() {
    check("||a.example^$dnsrewrite=192.0.2.1", "A 192.0.2.1", &[1]);
    check("a.example$dnsrewrite=192.0.2.1", "A 192.0.2.1", &[1]);
    check("||example^$dnsrewrite=NXDOMAIN", "code 3", &[1]);
    check("||a.example^$dnsrewrite=NOERROR;;", "code 0", &[1]);
    check("||a.example^$dnsrewrite=b.example", "alias b.example", &[1]);
    check("/^a\\./$dnsrewrite=NOERROR;MX;5 m.example", "MX 5 m.example.", &[1]);
    check("|a.ex*|$dnsrewrite=::1", "AAAA ::1", &[1]);
    check("||b.example^$dnsrewrite=192.0.2.1", "pass", &[]);
}

#[test]
fn several_rules_give_several_records_and_an_alias_or_an_error_stands_alone() {
    let two = "||a.example^$dnsrewrite=192.0.2.1\n||a.example^$dnsrewrite=192.0.2.2";
    check(two, "A 192.0.2.1, A 192.0.2.2", &[1, 2]);
    check(&format!("{two}\n||a.example^$dnsrewrite=c.example"), "alias c.example", &[3]);
    check(&format!("{two}\n||a.example^$dnsrewrite=REFUSED"), "code 5", &[3]);
    // A name that is its own alias would be looked up for ever.
    check("||a.example^$dnsrewrite=a.example", "pass", &[]);
}

#[test]
fn rewrites_come_before_blocks_and_exceptions() {
    let rule = "||a.example^$dnsrewrite=192.0.2.1";
    for other in ["||a.example^", "@@||a.example^", "||a.example^$important", "0.0.0.0 a.example"] {
        check(&format!("{other}\n{rule}"), "A 192.0.2.1", &[2]);
    }
    check(&format!("@@||a.example^$important\n{rule}"), "A 192.0.2.1", &[2]);
}

#[test]
fn exceptions_take_back_by_value_or_all() {
    let two = "||a.example^$dnsrewrite=192.0.2.1\n||a.example^$dnsrewrite=192.0.2.2";
    let with = |line: &str| format!("{two}\n{line}");
    check(&with("@@||a.example^$dnsrewrite=192.0.2.1"), "A 192.0.2.2", &[2]);
    check(&with("@@||a.example^$dnsrewrite=192.0.2.3"), "A 192.0.2.1, A 192.0.2.2", &[1, 2]);
    check(&with("@@||example^$dnsrewrite"), "pass", &[]);
    check(&with("@@||example^$dnsrewrite="), "pass", &[]);
    check(&with("@@||example^$dnsrewrite\n||a.example^"), "block", &[]);
    check(&with("@@||b.example^$dnsrewrite"), "A 192.0.2.1, A 192.0.2.2", &[1, 2]);
}

#[test]
fn important_outranks() {
    let two = "||a.example^$dnsrewrite=192.0.2.1\n||a.example^$dnsrewrite=192.0.2.2,important";
    check(two, "A 192.0.2.2", &[2]);
    check(&format!("{two}\n@@||a.example^$dnsrewrite"), "A 192.0.2.2", &[2]);
    check(&format!("{two}\n@@||a.example^$dnsrewrite,important"), "pass", &[]);
}

#[test]
fn other_modifiers_narrow_a_rewrite() {
    check("||a.example^$dnsrewrite=192.0.2.1,dnstype=AAAA", "pass", &[]);
    check("||a.example^$dnsrewrite=192.0.2.1,dnstype=A", "A 192.0.2.1", &[1]);
    check("||a.example^$dnsrewrite=192.0.2.1,client=10.0.0.0/8", "pass", &[]);
    check("||example^$dnsrewrite=192.0.2.1,denyallow=a.example", "pass", &[]);
    check(
        "||a.example^$dnsrewrite=192.0.2.1\n||a.example^$dnsrewrite=192.0.2.1,badfilter",
        "pass",
        &[],
    );
}

#[test]
fn an_allow_list_spares_its_names_from_rewrites() {
    let lists = [
        ListSource {
            name: "mine",
            kind: ListKind::Block,
            text: b"||a.example^$dnsrewrite=192.0.2.1",
            files: &[],
        },
        ListSource { name: "spared", kind: ListKind::Allow, text: b"a.example", files: &[] },
    ];
    let policy = Policy::new(policy::compile(&lists, SEED).into(), ClientProfiles::everyone());
    assert_eq!(told(&policy), ("pass".into(), vec![]));
    let explanation = policy.explain(&Ask::lookup(name("a.example"), 1, CLIENT), NOW);
    assert!(explanation.considered.iter().any(|rule| rule.outcome == RuleOutcome::SwitchedOff));
}

#[test]
fn only_look_ups_are_rewritten_and_explanations_say_by_what() {
    let policy = policy(
        "||a.example^$dnsrewrite=192.0.2.1\n||a.example^$dnsrewrite=192.0.2.2\n\
         @@||a.example^$dnsrewrite=192.0.2.2\n||a.example^",
    );
    let url = Fetch("https://a.example/", RequestKind::Script, "");
    assert!(blocks(fetch(&policy, url)));
    assert!(!blocks(lookup(&policy, "a.example")));
    let explanation = policy.explain(&Ask::lookup(name("a.example"), 1, CLIENT), NOW);
    let told: Vec<_> = explanation
        .considered
        .iter()
        .map(|rule| (rule.rule.line, rule.effect.as_str(), rule.outcome))
        .collect();
    assert_eq!(
        told,
        [
            (1, "rewrite", RuleOutcome::Decides),
            (3, "switch-off", RuleOutcome::Decides),
            (4, "block", RuleOutcome::Outranked),
            (2, "rewrite", RuleOutcome::SwitchedOff),
        ]
    );
    assert_eq!(explanation.rewritten.unwrap().rules.len(), 1);
}
