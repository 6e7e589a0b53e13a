//! Who gets which lists.

use crate::support::{NOW, SEED, blocks, name};
use policy::{
    Ask, ClientProfiles, ClientSettings, DefaultSettings, ListKind, ListSettings, ListSource,
    Policy, Settings, UnlistedAction,
};
use vocab::{Action, Cause, Door};

fn settings(default: Option<&[&str]>) -> Settings {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let list = |name: &str| ListSettings { name: name.into(), ..ListSettings::default() };
    Settings {
        lists: vec![list("ads"), list("adult")],
        clients: vec![
            ClientSettings {
                name: "kids".into(),
                matches: vec!["192.168.1.64/26".into(), "fd00::7".into()],
                lists: Some(names(&["ads", "adult"])),
                ..ClientSettings::default()
            },
            ClientSettings {
                name: "guests".into(),
                matches: vec!["192.168.1.0/24".into()],
                ..ClientSettings::default()
            },
        ],
        default: DefaultSettings { lists: default.map(names), ..DefaultSettings::default() },
        ..Settings::default()
    }
}

fn policy(default: Option<&[&str]>) -> Policy {
    let lists = [
        ListSource { name: "ads", kind: ListKind::Block, text: b"ads.example", files: &[] },
        ListSource { name: "adult", kind: ListKind::Block, text: b"adult.example", files: &[] },
    ];
    Policy::new(policy::compile(&lists, SEED).into(), ClientProfiles::build(&settings(default)))
}

#[test]
fn a_client_gets_the_lists_of_the_first_profile_that_holds_its_address() {
    let policy = policy(Some(&["ads"]));
    let check = |client: &str, profile: &str, adult_blocked: bool| {
        let client = client.parse().unwrap();
        assert_eq!(policy.profile_of(client, None), profile);
        let ask = |host| Ask::lookup(name(host), 1, client);
        assert!(blocks(policy.decide(&ask("ads.example"), NOW)), "{client}");
        assert_eq!(blocks(policy.decide(&ask("adult.example"), NOW)), adult_blocked, "{client}");
    };
    check("192.168.1.70", "kids", true);
    check("fd00::7", "kids", true);
    check("192.168.1.7", "guests", false);
    check("10.0.0.1", "default", false);
}

#[test]
fn what_no_rule_names_is_blocked_where_the_profile_says_so() {
    let settings = Settings {
        lists: vec![
            ListSettings { name: "ads".into(), ..ListSettings::default() },
            ListSettings { name: "fine".into(), kind: ListKind::Allow, ..ListSettings::default() },
        ],
        clients: vec![ClientSettings {
            name: "kids".into(),
            matches: vec!["10.0.0.7".into()],
            otherwise: Some(UnlistedAction::Block),
            ..ClientSettings::default()
        }],
        ..Settings::default()
    };
    let (ads, fine) = (b"ads.school.example".as_slice(), b"*.school.example\n@@/^x[0-9]\\./");
    let lists = [
        ListSource { name: "ads", kind: ListKind::Block, text: ads, files: &[] },
        ListSource { name: "fine", kind: ListKind::Allow, text: fine, files: &[] },
    ];
    let rules = std::sync::Arc::new(policy::compile(&lists, SEED));
    let policy = Policy::new(rules, ClientProfiles::build(&settings));
    let ask = |host| Ask::addresses(name(host), [10, 0, 0, 7].into());
    let verdict = policy.decide(&ask("other.example"), NOW);
    assert_eq!((verdict.action, verdict.cause), (Action::Block, Cause::Unlisted));
    assert_eq!(verdict, policy.explain(&ask("other.example"), NOW).verdict);
    for host in ["www.school.example", "x7.example"] {
        let verdict = policy.decide(&ask(host), NOW);
        assert!(!blocks(verdict) && verdict.cause.rule().is_some(), "{host}: {verdict:?}");
        assert_eq!(verdict, policy.explain(&ask(host), NOW).verdict);
    }
    // A name behind one that passes needs no leave of its own, unless a rule blocks it.
    let behind = policy.check_cname(&ask("www.school.example"), name("cdn.example"), NOW);
    assert_eq!(behind, None);
    // Others are not concerned, and neither are our own sites.
    let other = Ask::addresses(name("other.example"), [10, 0, 0, 8].into());
    assert_eq!(policy.decide(&other, NOW).cause, Cause::NoRule);
    for door in [Door::Web, Door::Gateway] {
        let own = Ask { door, ..ask("other.example") };
        assert_eq!(policy.decide(&own, NOW).cause, Cause::NoRule);
    }
    // Without any rule all is blocked, and a pause lets all pass.
    let nothing = std::sync::Arc::new(policy::compile(&[], SEED));
    let policy = Policy::new(nothing, ClientProfiles::build(&settings));
    assert!(blocks(policy.decide(&ask("other.example"), NOW)));
    policy.pause_until(NOW.unix_ms + 1);
    assert!(!blocks(policy.decide(&ask("other.example"), NOW)));
}

#[test]
fn without_a_default_everybody_gets_all_lists() {
    let ask = Ask::lookup(name("adult.example"), 1, [10, 0, 0, 1].into());
    assert!(blocks(policy(None).decide(&ask, NOW)));
}
