//! Names that are answered by what they mean, not by looking them up.
//!
//! The special-use names of RFC 6761 and the private reverse zones of RFC 6303 must not leak to
//! upstreams; canary names tell programs not to go around this door. It knows no packets and no
//! settings beyond its two switches. Called by `request` before the policy is asked.

use crate::settings::canaries::CanaryAction;
use vocab::{DomainName, Name};

/// Tells what a special name gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpecialAnswer {
    /// The loopback addresses (RFC 6761 §6.3).
    Loopback,
    /// There is no such name.
    NxDomain,
    /// The name exists and has nothing of the type asked for.
    NoData,
}

/// Which special names are answered here.
#[derive(Debug)]
pub(crate) struct SpecialNames {
    canaries: CanaryAction,
    /// Names that some upstream is responsible for: what stands below them goes there.
    delegated: Vec<DomainName>,
}

/// Canary names and their answers: Mozilla's (support.mozilla.org, "Canary domain"), Apple's for
/// iCloud Private Relay (developer.apple.com, "Prepare your network"), and the one by which
/// resolvers announce encrypted forms of themselves (RFC 9462 §4), which we do not have yet.
const CANARIES: &[(&str, SpecialAnswer)] = &[
    ("use-application-dns.net", SpecialAnswer::NxDomain),
    ("mask.icloud.com", SpecialAnswer::NxDomain),
    ("mask-h2.icloud.com", SpecialAnswer::NxDomain),
    ("_dns.resolver.arpa", SpecialAnswer::NoData),
];

/// Reverse zones of addresses that mean nothing outside one network (RFC 6303 §4, RFC 7793 for
/// 100.64/10 apart), without their `in-addr.arpa`; 172.16/12 is told by its number instead.
const PRIVATE_IPV4: &[&str] = &[
    "10",
    "168.192",
    "127",
    "0",
    "254.169",
    "2.0.192",
    "100.51.198",
    "113.0.203",
    "255.255.255.255",
];

/// The same below `ip6.arpa`: local, link-local and documentation addresses.
const PRIVATE_IPV6: &[&str] = &["d.f", "8.e.f", "9.e.f", "a.e.f", "b.e.f", "8.b.d.0.1.0.0.2"];

/// What `::` and `::1` have between their first digit and `ip6.arpa`.
const ZEROES: &str = "0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0";

/// The reverse zones of private networks, whole: what a router or a domain controller knows.
pub(crate) fn private_zones() -> impl Iterator<Item = DomainName> {
    let networks = PRIVATE_IPV4.iter().map(|zone| format!("{zone}.in-addr.arpa"));
    let middle = (16..32).map(|octet| format!("{octet}.172.in-addr.arpa"));
    let ipv6 = PRIVATE_IPV6.iter().map(|zone| format!("{zone}.ip6.arpa"));
    networks
        .chain(middle)
        .chain(ipv6)
        .map(|zone| DomainName::parse(&zone).expect("the tables above hold names"))
}

impl SpecialNames {
    pub(crate) fn new(canaries: CanaryAction, delegated: Vec<DomainName>) -> Self {
        Self { canaries, delegated }
    }

    /// Returns what `name` gets, if it is special.
    pub(crate) fn find(&self, name: Name<'_>) -> Option<SpecialAnswer> {
        let text = name.as_str();
        // Nearly every name asked for ends otherwise, and is done here.
        let found = match text.rsplit('.').next() {
            Some("localhost") => SpecialAnswer::Loopback,
            Some("invalid") => SpecialAnswer::NxDomain,
            Some("arpa") if is_private_reverse(text) => SpecialAnswer::NxDomain,
            Some("arpa" | "com" | "net") => self.canary(text)?,
            _ => return None,
        };
        (!self.is_delegated(name)).then_some(found)
    }

    /// True if an upstream is responsible for `name` and nothing else.
    pub(crate) fn is_delegated(&self, name: Name<'_>) -> bool {
        self.delegated.iter().any(|zone| name.is_at_or_below(zone.as_name()))
    }

    fn canary(&self, text: &str) -> Option<SpecialAnswer> {
        match self.canaries {
            CanaryAction::Answer => CANARIES.iter().find(|(name, _)| *name == text).map(|it| it.1),
            CanaryAction::Pass => None,
        }
    }
}

fn is_private_reverse(text: &str) -> bool {
    if let Some(rest) = text.strip_suffix(".in-addr.arpa") {
        let within_172 = rest.strip_suffix(".172").and_then(|rest| rest.rsplit('.').next());
        return ends_with_any(rest, PRIVATE_IPV4)
            || within_172
                .and_then(|octet| octet.parse::<u8>().ok())
                .is_some_and(|octet| (16..32).contains(&octet));
    }
    text.strip_suffix(".ip6.arpa").is_some_and(|rest| {
        ends_with_any(rest, PRIVATE_IPV6)
            || matches!(rest.split_once('.'), Some(("0" | "1", zeroes)) if zeroes == ZEROES)
    })
}

fn ends_with_any(text: &str, zones: &[&str]) -> bool {
    zones.iter().any(|zone| {
        text.strip_suffix(zone).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;

    fn check(given: &str, expected: Option<SpecialAnswer>) {
        let names = SpecialNames::new(CanaryAction::Answer, vec![]);
        assert_eq!(names.find(Name::from_lowercase(given).unwrap()), expected, "{given}");
    }

    #[test]
    fn names_of_this_machine_and_no_machine_do_not_leak() {
        check("localhost", Some(SpecialAnswer::Loopback));
        check("a.b.localhost", Some(SpecialAnswer::Loopback));
        check("notlocalhost", None);
        check("x.invalid", Some(SpecialAnswer::NxDomain));
        check("localhost.example", None);
    }

    #[test]
    fn canaries_keep_programs_here() {
        check("use-application-dns.net", Some(SpecialAnswer::NxDomain));
        check("mask-h2.icloud.com", Some(SpecialAnswer::NxDomain));
        check("_dns.resolver.arpa", Some(SpecialAnswer::NoData));
        check("icloud.com", None);
        let passing = SpecialNames::new(CanaryAction::Pass, vec![]);
        assert_eq!(passing.find(Name::from_lowercase("mask.icloud.com").unwrap()), None);
    }

    #[test]
    fn private_reverse_zones_do_not_leak() {
        check("1.1.168.192.in-addr.arpa", Some(SpecialAnswer::NxDomain));
        check("168.192.in-addr.arpa", Some(SpecialAnswer::NxDomain));
        check("4.3.16.172.in-addr.arpa", Some(SpecialAnswer::NxDomain));
        check("4.3.32.172.in-addr.arpa", None);
        check("8.8.8.8.in-addr.arpa", None);
        check("1.110.in-addr.arpa", None);
        check(&format!("1.{ZEROES}.ip6.arpa"), Some(SpecialAnswer::NxDomain));
        check("1.0.d.f.ip6.arpa", Some(SpecialAnswer::NxDomain));
        check("1.0.0.0.8.f.4.0.1.0.0.2.ip6.arpa", None);
    }

    #[test]
    fn what_an_upstream_is_responsible_for_goes_there() {
        let zone = DomainName::parse("168.192.in-addr.arpa").unwrap();
        let names = SpecialNames::new(CanaryAction::Answer, vec![zone]);
        let find = |text| names.find(Name::from_lowercase(text).unwrap());
        assert_eq!(find("1.1.168.192.in-addr.arpa"), None);
        assert_eq!(find("1.10.in-addr.arpa"), Some(SpecialAnswer::NxDomain));
    }
}
