//! The lists that people use, 206,000 lines of them, from the folder `shared` beside the
//! repository, or the one that `TIDEGATE_SHARED` names.

use crate::support::{Fetch, SEED, blocks, fetch, host_of, lookup};
use policy::{ClientProfiles, ListKind, ListSource, ListSyntax, Policy, RuleSet, SkipReason};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::LazyLock;
use vocab::RequestKind;

const LISTS: [&str; 4] =
    ["adservers.hosts", "easylist.txt", "easyprivacy.txt", "malwaredomains.txt"];

static TEXTS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared");
    let shared = std::env::var_os("TIDEGATE_SHARED").map_or_else(|| beside.into(), PathBuf::from);
    let read = |name: &&str| {
        let path = shared.join("data/lists").join(name);
        std::fs::read(&path).unwrap_or_else(|error| {
            panic!("{}: {error}; set TIDEGATE_SHARED to the shared folder", path.display())
        })
    };
    LISTS.iter().map(read).collect()
});

static POLICY: LazyLock<Policy> = LazyLock::new(|| {
    let lists: Vec<ListSource<'_>> = LISTS
        .iter()
        .zip(&*TEXTS)
        .map(|(name, text)| ListSource { name, kind: ListKind::Block, text, files: &[] })
        .collect();
    Policy::new(policy::compile(&lists, SEED).into(), ClientProfiles::everyone())
});

fn text(at: usize) -> &'static str {
    std::str::from_utf8(&TEXTS[at]).expect("the lists are UTF-8")
}

#[test]
fn their_syntax_is_detected_and_nearly_every_rule_taken() {
    let lists = POLICY.rules().lists();
    let syntaxes: Vec<ListSyntax> = lists.iter().map(|list| list.syntax).collect();
    assert_eq!(
        syntaxes,
        [ListSyntax::Hosts, ListSyntax::Adblock, ListSyntax::Adblock, ListSyntax::Names]
    );
    for list in lists {
        let expected = [
            SkipReason::Cosmetic,
            SkipReason::NeedsBrowser,
            SkipReason::Redirect,
            SkipReason::ChangesHeaders,
            SkipReason::RewritesContent,
            SkipReason::UnseenProperty,
        ];
        let odd: u32 = list
            .skipped_by_reason
            .iter()
            .filter(|(reason, _)| !expected.contains(reason))
            .map(|(_, count)| count)
            .sum();
        let rules = list.rules_names + list.rules_urls;
        assert!(odd * 1000 <= rules, "{}: {:?}", list.name, list.skipped_by_reason);
    }
}

#[test]
fn a_name_costs_at_most_32_bytes() {
    let memory = POLICY.rules().memory();
    assert!(memory.names > 150_000, "{memory}");
    assert!(memory.bytes_per_name() <= 32.0, "{memory}");
}

#[test]
fn the_table_agrees_with_a_simple_matcher_on_them() {
    let hosts = text(0).lines().filter_map(|line| line.strip_prefix("0.0.0.0 "));
    let exact: HashSet<&str> = hosts.chain(text(3).lines()).map(str::trim).collect();
    let rules = || text(1).lines().chain(text(2).lines());
    let whole = |line: &'static str, start: &str| {
        line.strip_prefix(start)
            .and_then(|rest| rest.strip_suffix('^'))
            .filter(|name| !name.contains(['/', '*', '^', '$']))
    };
    let below: HashSet<&str> = rules().filter_map(|line| whole(line, "||")).collect();
    let spared: HashSet<&str> = rules().filter_map(|line| whole(line, "@@||")).collect();
    let parents = |host: &'static str| {
        std::iter::once(host).chain(host.match_indices('.').map(move |(at, _)| &host[at + 1..]))
    };
    let mut asked = 0;
    for host in exact.iter().chain(&below).step_by(7) {
        let Ok(name) = vocab::Name::from_lowercase(host) else { continue };
        if parents(host).any(|name| spared.contains(name)) {
            continue;
        }
        assert!(blocks(lookup(&POLICY, name.as_str())), "{host}");
        asked += 1;
        // A sibling that no list knows passes, unless a parent or a pattern is listed.
        let sibling = format!("zq7x-{host}");
        if vocab::Name::from_lowercase(&sibling).is_ok()
            && !parents(host).skip(1).any(|name| below.contains(name))
        {
            let verdict = lookup(&POLICY, &sibling);
            let text = verdict
                .cause
                .rule()
                .map(|rule| POLICY.rule_text(rule, crate::support::name(&sibling)).unwrap().text);
            let by_pattern = text.as_ref().is_some_and(|text| !text.starts_with("||"));
            assert!(!blocks(verdict) || by_pattern, "{sibling} by {text:?}");
        }
    }
    assert!(asked > 15_000, "{asked}");
}

#[test]
fn well_known_advertising_is_blocked_and_well_known_pages_are_not() {
    let check = |url, kind, page, blocked| {
        let request = Fetch(url, kind, page);
        assert_eq!(blocks(fetch(&POLICY, request)), blocked, "{url}");
    };
    let script = RequestKind::Script;
    check("https://securepubads.g.doubleclick.net/tag/js/gpt.js", script, "news.example", true);
    check("https://www.google-analytics.com/analytics.js", script, "news.example", true);
    check("https://pagead2.googlesyndication.com/pagead/x.js", script, "news.example", true);
    check("https://news.example/img_300x250.gif", RequestKind::Image, "news.example", true);
    check("https://www.wikipedia.org/", RequestKind::Document, "", false);
    check(
        "https://www.rust-lang.org/static/logo.svg",
        RequestKind::Image,
        "www.rust-lang.org",
        false,
    );
    check("https://cdn.jsdelivr.net/npm/vue@3/dist/vue.js", script, "news.example", false);
    check("https://github.com/rust-lang/rust", RequestKind::Document, "", false);
}

#[test]
fn a_snapshot_of_them_says_the_same() {
    let bytes = POLICY.rules().to_snapshot([1; 32]);
    let rules = RuleSet::from_snapshot(&bytes, [1; 32]).unwrap();
    assert_eq!(rules.lists(), POLICY.rules().lists());
    let again = Policy::new(rules.into(), ClientProfiles::everyone());
    for line in text(2).lines().filter(|line| line.starts_with("||")).step_by(97) {
        let pattern = line[2..].split(['$', '*']).next().unwrap_or_default();
        let url = format!("https://{}", pattern.replace('^', "/"));
        if vocab::Name::from_lowercase(&host_of(&url)).is_err() {
            continue;
        }
        let request = Fetch(&url, RequestKind::Script, "page.example");
        assert_eq!(fetch(&again, request), fetch(&POLICY, request), "{url}");
    }
}

#[test]
fn a_cut_or_flipped_snapshot_of_them_is_refused() {
    let bytes = POLICY.rules().to_snapshot([1; 32]);
    for at in (0..bytes.len()).step_by(bytes.len() / 40) {
        assert!(RuleSet::from_snapshot(&bytes[..at], [1; 32]).is_err(), "cut at {at}");
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x10;
        assert!(RuleSet::from_snapshot(&flipped, [1; 32]).is_err(), "flipped at {at}");
    }
}
