//! Which routes a host may lead to: found by one look-up, in the order of the configuration.
//!
//! For every name that a route writes, exact or after `*.`, the numbers of all routes that may be
//! for it are put together beforehand; any other host gets those for any host. It compares no path.
//! Made once with the routes, asked for every request.

use crate::host_pattern::{HostPattern, is_below};
use std::collections::HashMap;
use vocab::Name;

/// Numbers of routes by host.
#[derive(Debug, Default)]
pub struct HostTable {
    exact: HashMap<Box<str>, Box<[u16]>>,
    /// By the longest name after a `*.` that a host stands below.
    by_suffix: HashMap<Box<str>, Box<[u16]>>,
    default: Box<[u16]>,
}

impl HostTable {
    /// Of the hosts of all routes, none for those of any host; at most 65,536.
    pub fn new(hosts: &[Option<&HostPattern>]) -> Self {
        let numbers = |fits: &dyn Fn(&HostPattern) -> bool| -> Box<[u16]> {
            let all = hosts.iter().zip(0..=u16::MAX);
            all.filter(|(host, _)| host.is_none_or(fits)).map(|(_, number)| number).collect()
        };
        let mut table = Self::default();
        for host in hosts.iter().flatten() {
            match host {
                HostPattern::Exact(name) if !table.exact.contains_key(name.as_str()) => {
                    let found = numbers(&|host| host.matches(name.as_name()));
                    table.exact.insert(name.as_str().into(), found);
                }
                HostPattern::Subdomains(name) if !table.by_suffix.contains_key(name.as_str()) => {
                    let found = numbers(&|host| match host {
                        HostPattern::Subdomains(other) => {
                            other == name || is_below(name.as_name(), other.as_name())
                        }
                        HostPattern::Matching(_) => true,
                        HostPattern::Exact(_) => false,
                    });
                    table.by_suffix.insert(name.as_str().into(), found);
                }
                HostPattern::Exact(_) | HostPattern::Subdomains(_) | HostPattern::Matching(_) => {}
            }
        }
        table.default = numbers(&|host| matches!(host, HostPattern::Matching(_)));
        table
    }

    /// The routes that may be for `host`; expressions are still to be held against it.
    pub fn candidates(&self, host: Name<'_>) -> &[u16] {
        if let Some(found) = self.exact.get(host.as_str()) {
            return found;
        }
        if !self.by_suffix.is_empty() {
            let mut parent = host.parent();
            while let Some(name) = parent {
                if let Some(found) = self.by_suffix.get(name.as_str()) {
                    return found;
                }
                parent = name.parent();
            }
        }
        &self.default
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    #[test]
    fn a_host_gets_its_routes_in_their_order() {
        let hosts = [
            Some("*.example"),
            None,
            Some("a.example"),
            Some("*.b.example"),
            Some(r"~^x\."),
            Some("a.example"),
        ];
        let parsed = hosts.map(|host| host.map(|text| HostPattern::parse(text).unwrap()));
        let table = HostTable::new(&parsed.each_ref().map(Option::as_ref));
        let candidates =
            |host: &str| table.candidates(Name::from_lowercase(host).unwrap()).to_vec();
        assert_eq!(candidates("a.example"), [0, 1, 2, 5]);
        assert_eq!(candidates("c.example"), [0, 1, 4]);
        assert_eq!(candidates("x.b.example"), [0, 1, 3, 4]);
        assert_eq!(candidates("b.example"), [0, 1, 4]);
        assert_eq!(candidates("example"), [1, 4]);
        assert_eq!(table.candidates(Name::ROOT), [1, 4]);
    }

    #[test]
    fn no_route_that_fits_is_left_out() {
        let texts = ["*.a.example", "a.example", "*.example", "~a", "b.a.example", "*.b.a.example"];
        let patterns = texts.map(|text| HostPattern::parse(text).unwrap());
        let table = HostTable::new(&patterns.each_ref().map(Some));
        for host in ["example", "a.example", "b.a.example", "c.b.a.example", "c.a.example", "z"] {
            let host = Name::from_lowercase(host).unwrap();
            let found = table.candidates(host);
            for (pattern, number) in patterns.iter().zip(0..) {
                assert!(!pattern.matches(host) || found.contains(&number), "{host} {pattern:?}");
            }
        }
    }
}
