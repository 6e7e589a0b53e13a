//! Names that are blocked for what stands behind them: at every door but where look-ups are judged.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use policy::{Ask, ClientProfiles, ListKind, ListSource, Policy, RuleOutcome};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use vocab::{Action, Cause, Door, Name, Now, RequestKind};

const NOW: Now = Now { unix_ms: 1_700_000_000_000, mono_ms: 1 };
const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

#[test]
fn a_noted_alias_blocks_the_name_in_front_of_it_and_explains_it() {
    let list = ListSource {
        name: "ads",
        kind: ListKind::Block,
        text: b"! title\n||tracker.example^\n",
        files: &[],
    };
    let policy = Policy::new(Arc::new(policy::compile(&[list], 1)), ClientProfiles::everyone());
    let front = Name::from_lowercase("metrics.shop.example").unwrap();
    let behind = Name::from_lowercase("t.tracker.example").unwrap();
    let url = "https://metrics.shop.example/c.js";
    let ask = Ask {
        door: Door::Pixel,
        client: CLIENT,
        identity: None,
        host: front,
        kind: RequestKind::Script,
        url: Some(url),
        page: None,
    };
    assert_eq!(policy.decide(&ask, NOW).action, Action::Pass);

    let Cause::Rule(rule) = policy.decide(&Ask::lookup(behind, 1, CLIENT), NOW).cause else {
        panic!("the alias itself is blocked by a rule")
    };
    policy.note_alias(front, behind, rule, NOW);
    let verdict = policy.decide(&ask, NOW);
    assert_eq!((verdict.action, verdict.cause), (Action::Block, Cause::Rule(rule)));
    let explanation = policy.explain(&ask, NOW);
    assert_eq!(explanation.verdict, verdict);
    let winner = explanation.winner.unwrap();
    assert_eq!((winner.list.as_str(), winner.line), ("ads", 2));
    assert!(winner.text.contains("tracker.example"), "{}", winner.text);
    assert_eq!(explanation.considered[0].outcome, RuleOutcome::Decides);
    // A look-up is judged by its own answer, which may lead elsewhere by now.
    assert_eq!(policy.decide(&Ask::lookup(front, 1, CLIENT), NOW).action, Action::Pass);
}

/// A policy that blocks trackers for everybody but 192.0.2.7, and a name of its own that it never
/// blocks. 192.0.2.8 has an exception of its own besides, and for 192.0.2.9 another list blocks
/// them.
fn policy() -> Policy {
    let text = b"||tracker.example^\n@@||good.example^\n";
    let list = ListSource { name: "ads", kind: ListKind::Block, text, files: &[] };
    let free = policy::ClientSettings {
        name: "free".into(),
        matches: vec!["192.0.2.7".into()],
        lists: Some(Vec::new()),
        ..policy::ClientSettings::default()
    };
    let text = b"@@||metrics.shop.example^\n";
    let spare = ListSource { name: "spare", kind: ListKind::Block, text, files: &[] };
    let spared = policy::ClientSettings {
        name: "spared".into(),
        matches: vec!["192.0.2.8".into()],
        lists: Some(vec!["ads".into(), "spare".into()]),
        ..policy::ClientSettings::default()
    };
    let text = b"! its own\n\n||t.tracker.example^\n";
    let strict = ListSource { name: "strict", kind: ListKind::Block, text, files: &[] };
    let other = policy::ClientSettings {
        name: "other".into(),
        matches: vec!["192.0.2.9".into()],
        lists: Some(vec!["strict".into()]),
        ..policy::ClientSettings::default()
    };
    let named = |name: &str| policy::ListSettings { name: name.into(), ..Default::default() };
    let mut settings = policy::Settings {
        lists: vec![named("ads"), named("spare"), named("strict")],
        clients: vec![free, spared, other],
        ..policy::Settings::default()
    };
    settings.default.lists = Some(vec!["ads".into()]);
    Policy::new(
        Arc::new(policy::compile(&[list, spare, strict], 1)),
        ClientProfiles::build(&settings),
    )
}

fn name(text: &str) -> Name<'_> {
    Name::from_lowercase(text).unwrap()
}

#[test]
fn an_alias_is_judged_for_whoever_asks_unless_an_exception_names_what_is_asked_for() {
    let policy = policy();
    let free: IpAddr = "192.0.2.7".parse().unwrap();
    let judged = |front: &str, alias: &str, client| {
        policy.check_cname(&Ask::addresses(name(front), client), name(alias), NOW).is_some()
    };
    assert!(!judged("metrics.shop.example", "cdn.example", CLIENT));
    assert!(!judged("metrics.shop.example", "t.tracker.example", free));
    assert!(!judged("good.example", "t.tracker.example", CLIENT));
    assert!(judged("metrics.shop.example", "t.tracker.example", CLIENT));
}

#[test]
fn at_the_proxy_what_stands_behind_a_name_blocks_it_for_those_whom_the_rule_is_for() {
    let policy = policy();
    let front = name("metrics.shop.example");
    let look_up = Ask::addresses(front, CLIENT);
    policy.check_cname(&look_up, name("t.tracker.example"), NOW).unwrap();
    let action = |door, client: &str| {
        let client = client.parse().unwrap();
        let ask = Ask { door, client, kind: RequestKind::Document, ..look_up };
        policy.decide(&ask, NOW).action
    };
    assert_eq!(action(Door::Proxy, "127.0.0.1"), Action::Block);
    assert_eq!(action(Door::Proxy, "192.0.2.7"), Action::Pass);
    assert_eq!(action(Door::Proxy, "192.0.2.8"), Action::Pass, "its exception names the front");
    for door in [Door::Web, Door::Gateway] {
        assert_eq!(action(door, "192.0.2.7"), Action::Pass, "{door}: none of its lists blocks it");
        assert_eq!(action(door, "127.0.0.1"), Action::Block);
    }
    assert_eq!(action(Door::Pixel, "192.0.2.7"), Action::Block, "it was sent there");

    // Whoever has other lists is told the rule of these.
    let winner = |client: &str| {
        let client = client.parse().unwrap();
        let ask = Ask { door: Door::Proxy, client, kind: RequestKind::Document, ..look_up };
        let winner = policy.explain(&ask, NOW).winner.unwrap();
        (winner.list, winner.line)
    };
    assert_eq!(winner("127.0.0.1"), ("ads".into(), 1));
    assert_eq!(winner("192.0.2.9"), ("strict".into(), 3));
}
