//! Compiling after some lists changed: the same as compiling all, without reading all.

use crate::support::{SEED, blocks, lookup};
use policy::{ClientProfiles, ListKind, ListSource, Policy, RuleSet};

const KEY: [u8; 32] = [3; 32];

const LISTS: [&str; 4] = [
    "||a.example^\n0.0.0.0 b.example\n/ads/*$domain=p.example|~q.p.example\n@@||c.a.example^\nbad##x",
    "||d.example^$client=10.0.0.0/8|'kids',denyallow=e.d.example\n/[0-9]{7}x/$script\n\
     ||d.example^$dnsrewrite=192.0.2.1\n$removeparam=/^utm_/\n||f.example^$dnstype=AAAA\n-BANNER-",
    "keyword:tracker\nfull:g.example\n||a.example^$ctag=os_linux",
    "||h.example^$redirect=noop.js\n||a.example^\n/BannerS/*$match-case\n||i.example^$all",
];

fn sources<'t>(texts: &[&'t str]) -> Vec<ListSource<'t>> {
    const NAMES: [&str; 6] = ["one", "two", "three", "four", "five", "six"];
    let kind = |at: usize| if at == 3 { ListKind::Allow } else { ListKind::Block };
    texts
        .iter()
        .enumerate()
        .map(|(at, text)| ListSource {
            name: NAMES[at],
            kind: kind(at),
            text: text.as_bytes(),
            files: &[],
        })
        .collect()
}

/// Compiling from `before` to `after` gives what compiling `after` gives.
fn check(before: &[&str], after: &[&str]) {
    let old = policy::compile(&sources(before), SEED);
    let stored = RuleSet::from_snapshot(&old.to_snapshot(KEY), KEY).expect("written just now");
    let expected = policy::compile(&sources(after), SEED).to_snapshot(KEY);
    for old in [old, stored] {
        let found = policy::recompile(&old, &sources(after)).to_snapshot(KEY);
        assert!(found == expected, "{before:?} to {after:?}");
    }
}

#[test]
fn the_result_is_the_same_bit_for_bit_whatever_changed() {
    check(&LISTS, &LISTS);
    for at in 0..LISTS.len() {
        for text in ["", "||new.example^\n/new/*$script", LISTS[(at + 1) % LISTS.len()]] {
            let mut changed = LISTS;
            changed[at] = text;
            check(&LISTS, &changed);
            check(&changed, &LISTS);
        }
    }
    check(&LISTS[..3], &LISTS);
    check(&LISTS, &LISTS[..2]);
    check(&[], &LISTS);
    check(&LISTS, &[]);
}

#[test]
fn a_badfilter_that_comes_or_goes_reaches_into_lists_that_did_not_change() {
    let with = ["||a.example^\n||b.example^$script", "||a.example^$badfilter"];
    let without = [with[0], "! nothing"];
    check(&with, &without);
    check(&without, &with);
    let old = policy::compile(&sources(&without), SEED);
    let new = policy::recompile(&old, &sources(&with));
    let policy = Policy::new(new.into(), ClientProfiles::everyone());
    assert!(!blocks(lookup(&policy, "a.example")));
}

#[test]
fn a_list_of_another_name_or_kind_is_another_list() {
    let old = policy::compile(&sources(&LISTS), SEED);
    let mut lists = sources(&LISTS);
    lists[0].kind = ListKind::Allow;
    lists[1].name = "other";
    let found = policy::recompile(&old, &lists).to_snapshot(KEY);
    assert!(found == policy::compile(&lists, SEED).to_snapshot(KEY));
}
