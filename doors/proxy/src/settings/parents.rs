//! Settings of parent proxies: `proxy.parent` and `proxy.parents`.
//!
//! Read and checked as a part of the section; `routes` goes by it.

use origins::{ParentHop, UrlHost};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;
use vocab::{Complaint, DomainName, NameError, Network};

/// Parents that are tried for one request: more would only be waited for.
const PARENTS_TRIED_MAX: usize = 8;
/// Entries of `parents`.
const RULES_MAX: usize = 256;
/// Places of one entry.
const HOSTS_MAX: usize = 4096;

/// One way out, or several that are tried in turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ParentSettings {
    /// This one.
    One(Text<ParentHop>),
    /// The first that can be reached.
    Several(Vec<Text<ParentHop>>),
}

/// The way out for some hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParentsOf {
    /// The hosts: names with all below them, addresses, networks. At most 4096.
    pub domains: Vec<Text<ParentHosts>>,
    /// The way to them, as in `parent` of the proxy.
    pub parent: ParentSettings,
}

/// Hosts: a name with all below it, or a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParentHosts {
    /// This name and what stands below it.
    Subtree(DomainName),
    /// Hosts that are given by such an address.
    Network(Network),
}

impl ParentSettings {
    /// The ways, the first first.
    pub(crate) fn hops(&self) -> impl Iterator<Item = &ParentHop> {
        let all = match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Several(several) => several,
        };
        all.iter().map(|hop| &hop.0)
    }
}

impl ParentHosts {
    /// True if `host` is there.
    pub(crate) fn contains(&self, host: &UrlHost) -> bool {
        match (self, host) {
            (Self::Subtree(above), UrlHost::Name(name)) => {
                name.as_name().is_at_or_below(above.as_name())
            }
            (Self::Network(network), UrlHost::Address(address)) => network.contains(*address),
            (Self::Subtree(_), UrlHost::Address(_)) | (Self::Network(_), UrlHost::Name(_)) => false,
        }
    }
}

/// Everything that is wrong with `parent` and `parents` of a proxy that listens at `listening`.
pub(super) fn check(
    parent: Option<&ParentSettings>,
    rules: &[ParentsOf],
    listening: &[SocketAddr],
) -> Vec<Complaint> {
    let mut complaints: Vec<_> =
        parent.into_iter().flat_map(|it| check_one("parent", it, listening)).collect();
    if rules.len() > RULES_MAX {
        complaints.push(Complaint::new("parents", format!("more than {RULES_MAX} entries")));
    }
    for (index, rule) in rules.iter().enumerate() {
        let path = format!("parents.{index}");
        if rule.domains.is_empty() || rule.domains.len() > HOSTS_MAX {
            let complaint = Complaint::new(
                format!("{path}.domains"),
                format!("an entry has from 1 to {HOSTS_MAX} hosts"),
            );
            complaints.push(complaint.remedy("write domains: [lan.example, 10.0.0.0/8]"));
        }
        complaints.extend(check_one(&format!("{path}.parent"), &rule.parent, listening));
    }
    complaints
}

fn check_one(path: &str, parent: &ParentSettings, listening: &[SocketAddr]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let count = parent.hops().count();
    if !(1..=PARENTS_TRIED_MAX).contains(&count) {
        let complaint = Complaint::new(
            path,
            format!("there are {count} ways out, not 1 to {PARENTS_TRIED_MAX}"),
        );
        complaints.push(complaint.remedy("write http://HOST:PORT, or direct"));
    }
    if parent.hops().any(|hop| is_own_listener(hop, listening)) {
        let complaint = Complaint::new(path, "the parent is this proxy itself");
        complaints.push(complaint.remedy("name another one, or leave it out"));
    }
    complaints
}

fn is_own_listener(hop: &ParentHop, listening: &[SocketAddr]) -> bool {
    let ParentHop::Parent(parent) = hop else { return false };
    listening.iter().any(|ours| {
        let same_host = match &parent.host {
            UrlHost::Address(theirs) => {
                ours.ip() == *theirs || (ours.ip().is_unspecified() && theirs.is_loopback())
            }
            UrlHost::Name(name) => {
                name.as_str() == "localhost"
                    && (ours.ip().is_loopback() || ours.ip().is_unspecified())
            }
        };
        parent.port != 0 && parent.port == ours.port() && same_host
    })
}

impl FromStr for ParentHosts {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        if let Ok(network) = text.parse() {
            return Ok(Self::Network(network));
        }
        let name = text.strip_prefix("*.").or_else(|| text.strip_prefix('.')).unwrap_or(text);
        DomainName::parse(name).map(Self::Subtree)
    }
}

impl fmt::Display for ParentHosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Subtree(name) => name.fmt(f),
            Self::Network(network) => network.fmt(f),
        }
    }
}

impl settings::WrittenWord for ParentHosts {
    const FORMAT: &'static str = "place";
    const EXAMPLE: &'static str = "lan.example";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_names_and_networks() {
        let holds = |place: &str, host: &str| {
            place.parse::<ParentHosts>().unwrap().contains(&host.parse::<UrlHost>().unwrap())
        };
        assert!(holds("lan.example", "a.lan.example") && holds("*.onion", "x.onion"));
        assert!(!holds("lan.example", "notlan.example") && !holds("lan.example", "10.0.0.1"));
        assert!(holds("10.0.0.0/8", "10.1.2.3") && !holds("10.0.0.0/8", "a.example"));
    }

    #[test]
    fn a_parent_that_is_ourselves_and_empty_entries_are_complaints() {
        let parent = |text: &str| ParentSettings::One(Text(text.parse().unwrap()));
        let listening = ["0.0.0.0:3128".parse().unwrap()];
        let rules = [
            ParentsOf { domains: Vec::new(), parent: parent("direct") },
            ParentsOf {
                domains: vec![Text("a.example".parse().unwrap())],
                parent: ParentSettings::Several(Vec::new()),
            },
        ];
        let complaints = check(Some(&parent("http://localhost:3128")), &rules, &listening);
        let paths: Vec<_> = complaints.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(paths, ["parent", "parents.0.domains", "parents.1.parent"]);
        assert!(check(Some(&parent("http://10.0.0.1:3128")), &[], &listening).is_empty());
    }
}
