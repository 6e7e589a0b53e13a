//! What all areas share: a policy from a text, and asks in few words.

use policy::{Ask, ClientProfiles, ListKind, ListSource, Policy, RuleSet, Verdict};
use std::net::{IpAddr, Ipv4Addr};
use vocab::{Action, Door, Name, Now, RequestKind};

pub(crate) const NOW: Now = Now { unix_ms: 1_700_000_000_000, mono_ms: 5 };
pub(crate) const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 168, 1, 7));
pub(crate) const SEED: u64 = 0x5eed;
const A: u16 = 1;

pub(crate) fn rules(text: &str) -> RuleSet {
    let source =
        ListSource { name: "list", kind: ListKind::Block, text: text.as_bytes(), files: &[] };
    policy::compile(&[source], SEED)
}

pub(crate) fn policy(text: &str) -> Policy {
    Policy::new(rules(text).into(), ClientProfiles::everyone())
}

pub(crate) fn name(text: &str) -> Name<'_> {
    Name::from_lowercase(text).expect("tests name valid hosts")
}

/// What a policy says to a look-up of an address.
pub(crate) fn lookup(policy: &Policy, host: &str) -> Verdict {
    policy.decide(&Ask::lookup(name(host), A, CLIENT), NOW)
}

/// A request for a URL, of a kind, by a page if one is named.
#[derive(Clone, Copy)]
pub(crate) struct Fetch<'a>(pub(crate) &'a str, pub(crate) RequestKind, pub(crate) &'a str);

/// The host of a URL, in lower case.
pub(crate) fn host_of(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    host.split(':').next().unwrap_or_default().to_ascii_lowercase()
}

/// The ask at the proxy door for a URL, whose host is handed in as [`host_of`] has it.
pub(crate) fn ask<'a>(host: &'a str, Fetch(url, kind, page): Fetch<'a>) -> Ask<'a> {
    Ask {
        door: Door::Proxy,
        client: CLIENT,
        identity: None,
        host: name(host),
        kind,
        url: Some(url),
        page: (!page.is_empty()).then(|| name(page)),
    }
}

pub(crate) fn fetch(policy: &Policy, wanted: Fetch<'_>) -> Verdict {
    let Fetch(url, ..) = wanted;
    let host = host_of(url);
    let ask = ask(&host, wanted);
    let verdict = policy.decide(&ask, NOW);
    assert_eq!(verdict, policy.explain(&ask, NOW).verdict, "{url}");
    verdict
}

pub(crate) fn blocks(verdict: Verdict) -> bool {
    verdict.action == Action::Block
}
