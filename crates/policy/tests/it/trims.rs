//! `$removeparam`: the URL that is asked for in place of one with too many parameters.

use crate::support::{Fetch, NOW, SEED, ask, host_of, policy};
use policy::{ClientProfiles, ListKind, ListSource, Policy};
use vocab::RequestKind;

const URL: &str = "https://a.example/x?id=7&utm_source=b&fbclid=c#top";

fn trimmed(policy: &Policy, kind: RequestKind) -> Option<String> {
    let host = host_of(URL);
    let ask = ask(&host, Fetch(URL, kind, ""));
    let trimmed = policy.remove_parameters(&ask, NOW);
    assert_eq!(policy.explain(&ask, NOW).without_parameters, trimmed);
    assert!(trimmed.as_ref().is_none_or(|it| !it.rules.is_empty()));
    trimmed.map(|it| it.url)
}

fn check(list: &str, query: &str) {
    let url = format!("https://a.example/x{query}#top");
    let expected = (url != URL).then_some(url);
    assert_eq!(trimmed(&policy(list), RequestKind::Document), expected, "{list}");
}

#[test]
fn parameters_are_taken_off_by_name_by_expression_or_all() {
    check("$removeparam=utm_source", "?id=7&fbclid=c");
    check("||a.example^$removeparam=fbclid", "?id=7&utm_source=b");
    check("$removeparam=/^utm_/\n$queryprune=fbclid", "?id=7");
    check("||a.example^$removeparam", "");
    check("||a.example^$removeparam=~id", "?id=7");
    check("||b.example^$removeparam", "?id=7&utm_source=b&fbclid=c");
    check("$removeparam=other", "?id=7&utm_source=b&fbclid=c");
}

#[test]
fn a_rule_that_has_nothing_to_take_says_so() {
    let policy = policy("$removeparam=utm_source\n$removeparam=absent");
    let url = "https://a.example/?id=7&utm_source=b";
    let explanation = policy.explain(&ask("a.example", Fetch(url, RequestKind::Document, "")), NOW);
    let outcomes: Vec<_> = explanation.considered.iter().map(|it| it.outcome).collect();
    assert_eq!(outcomes, [policy::RuleOutcome::Decides, policy::RuleOutcome::NothingToRemove]);
}

#[test]
fn exceptions_take_back_by_value_or_all() {
    let two = "$removeparam=utm_source\n$removeparam=fbclid";
    check(&format!("{two}\n@@||a.example^$removeparam=fbclid"), "?id=7&fbclid=c");
    check(&format!("{two}\n@@||a.example^$removeparam"), "?id=7&utm_source=b&fbclid=c");
    let important = "$removeparam=utm_source,important\n@@||a.example^$removeparam";
    check(important, "?id=7&fbclid=c");
}

#[test]
fn types_narrow_it_and_scripts_are_spared_unless_named() {
    let of = |list: &str, kind| trimmed(&policy(list), kind).is_some();
    assert!(of("$removeparam=fbclid", RequestKind::Document));
    assert!(of("$removeparam=fbclid", RequestKind::Fetch));
    assert!(!of("$removeparam=fbclid", RequestKind::Script));
    assert!(of("$removeparam=fbclid,script", RequestKind::Script));
}

#[test]
fn what_an_allow_list_names_is_left_as_it_is() {
    let lists = [
        ListSource {
            name: "clean",
            kind: ListKind::Block,
            text: b"$removeparam=fbclid",
            files: &[],
        },
        ListSource { name: "spared", kind: ListKind::Allow, text: b"||a.example^", files: &[] },
    ];
    let policy = Policy::new(policy::compile(&lists, SEED).into(), ClientProfiles::everyone());
    assert_eq!(trimmed(&policy, RequestKind::Document), None);
}
