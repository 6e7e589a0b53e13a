//! Who gets which lists.

use crate::support::{NOW, SEED, blocks, name};
use policy::{
    Ask, ClientSettings, DefaultSettings, ListKind, ListSettings, ListSource, Policy, Profiles,
    Settings,
};

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
        default: DefaultSettings { lists: default.map(names) },
        ..Settings::default()
    }
}

fn policy(default: Option<&[&str]>) -> Policy {
    let lists = [
        ListSource { name: "ads", kind: ListKind::Block, text: b"ads.example", files: &[] },
        ListSource { name: "adult", kind: ListKind::Block, text: b"adult.example", files: &[] },
    ];
    Policy::new(policy::compile(&lists, SEED).into(), Profiles::build(&settings(default)))
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
fn without_a_default_everybody_gets_all_lists() {
    let ask = Ask::lookup(name("adult.example"), 1, [10, 0, 0, 1].into());
    assert!(blocks(policy(None).decide(&ask, NOW)));
}
