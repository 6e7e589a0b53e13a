//! The reasoning that people read.

use crate::support::{CLIENT, Fetch, NOW, SEED, ask, host_of, lookup, name, policy};
use policy::{
    Ask, ClientProfiles, DefaultSettings, ListKind, ListSettings, ListSource, Policy,
    PolicyExplanation, RuleEffect, RuleOutcome, Settings,
};
use vocab::RequestKind;

fn told(explanation: &PolicyExplanation) -> Vec<(&str, RuleOutcome)> {
    let considered = explanation.considered.iter();
    considered.map(|found| (found.rule.text.as_str(), found.outcome)).collect()
}

fn why(policy: &Policy, host: &str) -> PolicyExplanation {
    policy.explain(&Ask::lookup(name(host), 1, CLIENT), NOW)
}

#[test]
fn the_winner_comes_first_and_the_rest_say_why_not() {
    let policy = policy(
        "0.0.0.0 a.example\n||example^\n@@||a.example^\n||a.example^$important\n\
         ||a.example^$dnstype=AAAA\n||a.example^$client=10.0.0.1\n||a.example^$script\n\
         ||example^$denyallow=a.example",
    );
    let explanation = why(&policy, "a.example");
    assert_eq!(
        told(&explanation),
        [
            ("||a.example^$important", RuleOutcome::Decides),
            ("0.0.0.0 a.example", RuleOutcome::Outranked),
            ("||example^", RuleOutcome::Outranked),
            ("@@||a.example^", RuleOutcome::Outranked),
            ("||a.example^$script", RuleOutcome::NotForNames),
            ("||a.example^$dnstype=AAAA", RuleOutcome::NotForThisType),
            ("||a.example^$client=10.0.0.1", RuleOutcome::NotForThisClient),
            ("||example^$denyallow=a.example", RuleOutcome::HostExempt),
        ]
    );
    assert_eq!(explanation.winner.unwrap().line, 4);
    assert_eq!(explanation.considered[3].effect, RuleEffect::Exception);
}

#[test]
fn rules_outside_the_profile_are_told_too() {
    let lists = [
        ListSource { name: "ads", kind: ListKind::Block, text: b"||a.example^", files: &[] },
        ListSource { name: "adult", kind: ListKind::Block, text: b"a.example", files: &[] },
    ];
    let list = |name: &str| ListSettings { name: name.into(), ..ListSettings::default() };
    let settings = Settings {
        lists: vec![list("ads"), list("adult")],
        default: DefaultSettings {
            lists: Some(vec!["adult".into()]),
            ..DefaultSettings::default()
        },
        ..Settings::default()
    };
    let policy =
        Policy::new(policy::compile(&lists, SEED).into(), ClientProfiles::build(&settings));
    let explanation = why(&policy, "a.example");
    let expected =
        [("a.example", RuleOutcome::Decides), ("||a.example^", RuleOutcome::NotInProfile)];
    assert_eq!(told(&explanation), expected);
    assert_eq!(explanation.profile, "default");
    assert_eq!(explanation.considered[1].rule.list, "ads");
}

#[test]
fn url_rules_are_told_with_their_text() {
    let policy = policy("||a.example^\n/Ads/*$script\n/ads/*$image\n@@/ads/ok^");
    let url = "https://a.example/ads/ok";
    let host = host_of(url);
    let ask = ask(&host, Fetch(url, RequestKind::Script, ""));
    assert_eq!(
        told(&policy.explain(&ask, NOW)),
        [
            ("@@/ads/ok^", RuleOutcome::Decides),
            ("||a.example^", RuleOutcome::Outranked),
            ("/Ads/*$script", RuleOutcome::Outranked),
            ("/ads/*$image", RuleOutcome::NotForThisType),
        ]
    );
}

#[test]
fn a_pause_is_told_with_the_rule_that_would_decide() {
    let policy = policy("||a.example^");
    policy.pause_until(NOW.unix_ms + 1);
    let explanation = why(&policy, "a.example");
    assert_eq!(told(&explanation), [("||a.example^", RuleOutcome::Paused)]);
    assert_eq!(explanation.winner, None);
}

#[test]
fn the_text_of_a_rule_is_found_by_its_place_and_the_name() {
    let policy = policy("0.0.0.0 x.example\n*.a.example\n||b.example^$important\n/ads/*");
    let text = |host| {
        let rule = lookup(&policy, host).cause.rule().unwrap();
        policy.rule_text(rule, name(host)).unwrap().text
    };
    assert_eq!(text("x.example"), "0.0.0.0 x.example");
    assert_eq!(text("www.a.example"), "*.a.example");
    assert_eq!(text("www.b.example"), "||b.example^$important");
    let rule = lookup(&policy, "x.example").cause.rule().unwrap();
    assert_eq!(policy.rule_text(rule, name("other.example")), None);
}
