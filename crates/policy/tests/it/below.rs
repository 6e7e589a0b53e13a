//! Blocks that are about a name and all names directly below it, which the signer asks for
//! wildcards.

use crate::support::{CLIENT, NOW, SEED, blocks, name, policy};
use policy::{
    Ask, ClientProfiles, ListKind, ListSource, NameOverride, OverrideClients, OverrideEnd, Policy,
};
use vocab::{Action, DomainName, Now, RequestKind};

fn all_below(policy: &Policy, base: &str) -> bool {
    all_below_at(policy, base, NOW)
}

fn all_below_at(policy: &Policy, base: &str, now: Now) -> bool {
    let look_up = Ask::lookup(name(base), 1, CLIENT);
    let found = policy.blocks_all_subdomains(&Ask { kind: RequestKind::Other, ..look_up }, now);
    for label in ["", "www.", "cdn.", "a-b.", "x1.", "ads.", "tidegate-0123456789abcdef."] {
        let host = format!("{label}{base}");
        let ask = Ask { kind: RequestKind::Other, ..Ask::lookup(name(&host), 1, CLIENT) };
        assert!(!found || blocks(policy.decide(&ask, now)), "{host} passes");
    }
    found
}

fn check(rules: &str, base: &str, expected: bool) {
    let made = policy(rules);
    assert_eq!(all_below(&made, base), expected, "{base} with\n{rules}");
    // The same from a snapshot.
    let key = [7; 32];
    let stored = policy::RuleSet::from_snapshot(&made.rules().to_snapshot(key), key);
    let stored = stored.expect("a snapshot that was just written");
    let stored = Policy::new(stored.into(), ClientProfiles::everyone());
    assert_eq!(all_below(&stored, base), expected, "{base} from a snapshot");
}

#[test]
fn a_rule_about_a_domain_is_about_all_below() {
    for rule in [
        "||example.com^",
        "||example.com^$important",
        "||com^",
        "*.example.com",
        "address=/example.com/",
        "domain:example.com",
        "||example.com^\n@@||other.com^",
        "||example.com^\n@@||a.b.example.com^",
        "||example.com^\n@@||www.example.net^",
        "||example.com^\n@@||example.net/www.example.com$script",
        "||example.com^\n@@||www.example.com/x.js$script",
        "||example.com^\n@@/^https:..www.example.com.ok/$script",
        "||example.com^\n@@||www.*.net^",
    ] {
        check(rule, "example.com", true);
    }
}

#[test]
fn a_rule_about_one_name_or_a_pattern_is_not() {
    for rule in [
        "0.0.0.0 example.com",
        "full:example.com",
        "0.0.0.0 example.com\n||*-*.example.com^",
        "||example.^",
        "/example/",
        "||example.com^$denyallow=www.example.com",
        "||example.com^$client=192.168.1.8",
        "||example.com^$domain=page.example",
        "||www.example.com^",
        "",
    ] {
        check(rule, "example.com", false);
    }
}

#[test]
fn an_exception_for_a_name_of_the_level_ends_it() {
    for exception in [
        "@@||www.example.com^",
        "@@||www.example.com^|",
        "@@||www.example.com|",
        "@@||www.example.com^$important",
        "@@||www.example.com^$client=192.168.1.8",
        "@@||www.example.com^$dnstype=AAAA",
        "@@||example.com^$denyallow=ads.example.com",
        "@@||example.com^",
        "@@||com^$denyallow=ads.example.com",
        "@@||cdn*.example.com^",
        "@@||*.example.com^",
        "@@||www.*.com^",
        "@@|www.example.com|",
        "@@://www.example.com^",
        "@@|https://www.example.com^",
        "@@-static-*",
        "@@/^www[0-9]*\\.example\\.com$/",
        "@@/^[a-z]+$/",
    ] {
        check(&format!("||example.com^\n{exception}"), "example.com", false);
        check(&format!("||example.com^$important\n{exception}"), "example.com", false);
    }
}

#[test]
fn an_allow_list_ends_it_for_its_names_and_no_others() {
    let list = |name, kind, text: &'static str| ListSource {
        name,
        kind,
        text: text.as_bytes(),
        files: &[],
    };
    let block = list("block", ListKind::Block, "||example.com^\n||example.net^");
    for line in
        ["www.example.com", "0.0.0.0 www.example.com", "||www.example.com^", "*.www.example.com"]
    {
        let allow = list("allow", ListKind::Allow, line);
        let rules = policy::compile(&[block, allow], SEED);
        let made = Policy::new(rules.into(), ClientProfiles::everyone());
        assert!(!all_below(&made, "example.com"), "{line}");
        assert!(all_below(&made, "example.net"), "{line}");
        // Whether the list that excepts stays, comes or goes.
        let kept = policy::recompile(made.rules(), &[block, allow]);
        assert!(!all_below(&Policy::new(kept.into(), ClientProfiles::everyone()), "example.com"));
        let without = policy::recompile(made.rules(), &[block]);
        let without = Policy::new(without.into(), ClientProfiles::everyone());
        assert!(all_below(&without, "example.com"), "{line}");
        let with = policy::recompile(without.rules(), &[block, allow]);
        assert!(!all_below(&Policy::new(with.into(), ClientProfiles::everyone()), "example.com"));
    }
}

#[test]
fn what_people_let_through_and_a_pause_end_it() {
    let host = |text: &str| Some(DomainName::parse(text).unwrap());
    let other = OverrideClients::Address([192, 168, 1, 99].into());
    for (let_through, whom) in [
        (host("www.example.com"), OverrideClients::Everyone),
        (host("www.example.com"), other),
        (host("example.com"), OverrideClients::Profile("kids".into())),
        (host("com"), OverrideClients::Everyone),
        (None, OverrideClients::Profile("kids".into())),
    ] {
        let made = policy("||example.com^");
        let until = OverrideEnd::Time(NOW.unix_ms + 60_000);
        made.set_override(
            NameOverride { action: Action::Pass, host: let_through, clients: whom, until },
            NOW,
        )
        .unwrap();
        assert!(!all_below(&made, "example.com"));
        let after = Now { unix_ms: NOW.unix_ms + 60_000, ..NOW };
        assert!(all_below_at(&made, "example.com", after));
    }
    let made = policy("||example.com^");
    let until = OverrideEnd::Time(NOW.unix_ms + 60_000);
    made.set_override(
        NameOverride {
            action: Action::Pass,
            host: host("www.example.net"),
            clients: OverrideClients::Everyone,
            until,
        },
        NOW,
    )
    .unwrap();
    assert!(all_below(&made, "example.com"));
    made.pause_until(NOW.unix_ms + 1);
    assert!(!all_below(&made, "example.com"));
}

#[test]
fn too_many_exceptions_with_patterns_end_every_wildcard() {
    let exceptions: Vec<String> = (0..300).map(|it| format!("@@||a{it}*.example.net^\n")).collect();
    let exceptions = exceptions.concat();
    check(&format!("||example.com^\n{exceptions}"), "example.com", false);
}
