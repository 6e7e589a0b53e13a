//! Answers from outside that point inside: a page of some name could then talk to a router as if it
//! were its own ("DNS rebinding").
//!
//! It knows addresses only; that an upstream is responsible for a name, and so may say what it
//! likes about it, is the caller's to know. Called by the door for what public upstreams answer.

use crate::settings::guard_defaults::GuardDefaults;
use crate::settings::rebinding::RebindingSettings;
use dns_wire::reply::{self, MessageSection};
use dns_wire::{CLASS_IN, EdeCode, record_type, svcb};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use vocab::{DomainName, Name};

/// The extended error of answers that were emptied: 15, "blocked" (RFC 8914 §4.16), since the
/// operator decided so; 17 would say that the client asked for it.
pub(crate) const REBINDING_ERROR: EdeCode = EdeCode::Blocked;

/// The same in words, for people who look at their queries.
pub(crate) const REBINDING_WORDS: &str = "points at a private address (dns.rebinding)";

/// Names that no public zone has, so that whoever answers for them is inside: those of RFC 8375, of
/// ICANN (2024) and of RFC 6762 appendix G, and what programs for home networks use.
const INSIDE: [&str; 10] = [
    "home.arpa",
    "internal",
    "lan",
    "local",
    "localdomain",
    "localhost",
    "intranet",
    "private",
    "corp",
    "home",
];

/// The protection, ready.
#[derive(Debug, Default)]
pub(super) struct RebindingGuard {
    /// None: no protection.
    allow: Option<Box<[DomainName]>>,
}

impl RebindingGuard {
    /// `unless_said` is whether there is protection where the settings leave it open.
    pub(super) fn new(settings: &RebindingSettings, unless_said: GuardDefaults) -> Self {
        let protect = settings.protect.unwrap_or(unless_said == GuardDefaults::Guarded);
        let inside = |name: &&str| DomainName::parse(name).expect("the table above holds names");
        let allowed = settings.allow.iter().map(|it| it.0.clone());
        let allow = || INSIDE.iter().map(inside).chain(allowed).collect();
        Self { allow: protect.then(allow) }
    }

    /// True if `message`, a public upstream's answer for `name`, must not be passed on.
    pub(super) fn forbids(&self, name: Name<'_>, message: &[u8]) -> bool {
        let Some(allow) = &self.allow else { return false };
        violates(message) && !allow.iter().any(|it| name.is_at_or_below(it.as_name()))
    }
}

/// True if an answer holds an address that means something inside only, as its address or as a hint
/// of a service binding. What stands in its other sections is no answer, but glue leads clients
/// too.
pub(crate) fn violates(message: &[u8]) -> bool {
    reply::records(message)
        .filter(|record| record.section != MessageSection::Authority && record.class == CLASS_IN)
        .any(|record| match record.rtype {
            record_type::A => <[u8; 4]>::try_from(record.data)
                .is_ok_and(|it| is_inside(Ipv4Addr::from(it).into())),
            record_type::AAAA => <[u8; 16]>::try_from(record.data)
                .is_ok_and(|it| is_inside(Ipv6Addr::from(it).into())),
            record_type::SVCB | record_type::HTTPS => svcb::hints(record.data).any(is_inside),
            _ => false,
        })
}

/// True if an address leads to this machine or its network. 100.64/10 (RFC 6598) is not among them:
/// it is the provider's, and public names of overlay networks hold such addresses.
fn is_inside(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            v4.is_private() || v4.is_loopback() || v4.is_link_local() || v4.octets()[0] == 0
        }
        IpAddr::V6(v6) => {
            v6.is_loopback()
                || v6.is_unspecified()
                || v6.is_unique_local()
                || v6.is_unicast_link_local()
                // Site-local, which some networks still have (RFC 3879).
                || v6.segments()[0] & 0xffc0 == 0xfec0
                || embedded_ipv4(v6).is_some_and(|v4| is_inside(v4.into()))
        }
    }
}

/// The IPv4 address to which an IPv6 address leads: compatible or mapped (RFC 4291 §2.5.5), by
/// NAT64 (RFC 6052 §2.1) or by 6to4 (RFC 3056 §2).
fn embedded_ipv4(v6: Ipv6Addr) -> Option<Ipv4Addr> {
    let join = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    match v6.segments() {
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            Some(join(high, low))
        }
        [0x2002, high, low, ..] => Some(join(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;
    use settings::Text;

    fn answer(rtype: u16, data: &[u8]) -> Vec<u8> {
        let mut message =
            b"\0\x01\x81\x80\0\x01\0\x01\0\0\0\0\x01a\x07example\0\0\x01\0\x01".to_vec();
        message.extend(b"\xc0\x0c");
        message.extend(rtype.to_be_bytes());
        message.extend(b"\0\x01\0\0\0\x3c");
        message.extend((data.len() as u16).to_be_bytes());
        message.extend(data);
        message
    }

    fn of(address: &str) -> Vec<u8> {
        match address.parse().unwrap() {
            IpAddr::V4(v4) => answer(record_type::A, &v4.octets()),
            IpAddr::V6(v6) => answer(record_type::AAAA, &v6.octets()),
        }
    }

    #[test]
    fn addresses_inside_are_told_from_those_outside() {
        for address in [
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "0.0.0.0",
            "0.1.2.3",
            "::",
            "::1",
            "fd00::1",
            "fc00::1",
            "fe80::1",
            "fec0::1",
            "::7f00:1",
            "::ffff:192.168.1.1",
            "64:ff9b::c0a8:101",
            "2002:7f00:1::",
        ] {
            assert!(violates(&of(address)), "{address}");
        }
        for address in [
            "9.255.255.255",
            "11.0.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.169.0.1",
            "100.64.0.1",
            "8.8.8.8",
            "2001:db8::1",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::",
        ] {
            assert!(!violates(&of(address)), "{address}");
        }
    }

    #[test]
    fn hints_of_service_bindings_count() {
        let binding = |key: u8, address: &[u8]| {
            [&[0, 1, 0, 0, key, 0, address.len() as u8][..], address].concat()
        };
        for rtype in [record_type::SVCB, record_type::HTTPS] {
            assert!(violates(&answer(rtype, &binding(4, &[8, 8, 8, 8, 192, 168, 0, 1]))));
            assert!(violates(&answer(rtype, &binding(6, &Ipv6Addr::LOCALHOST.octets()))));
            assert!(!violates(&answer(rtype, &binding(4, &[8, 8, 8, 8]))));
        }
        assert!(!violates(&answer(record_type::TXT, &binding(4, &[10, 0, 0, 1]))));
    }

    #[test]
    fn malformed_answers_are_no_danger_by_themselves() {
        let whole = of("10.0.0.1");
        for cut in 0..whole.len() {
            violates(&whole[..cut]);
        }
        assert!(!violates(&answer(record_type::A, &[10, 0, 0])));
    }

    #[test]
    fn protection_is_there_unless_said_otherwise_and_has_exceptions() {
        let forbids = |protect, name: &str| {
            let allow = vec![Text(DomainName::parse("plex.direct").unwrap())];
            let rebinding =
                RebindingGuard::new(&RebindingSettings { protect, allow }, GuardDefaults::Guarded);
            rebinding.forbids(Name::from_lowercase(name).unwrap(), &of("192.168.1.1"))
        };
        for protect in [None, Some(true)] {
            assert!(forbids(protect, "evil.example"));
            assert!(!forbids(protect, "x.plex.direct"));
            assert!(forbids(protect, "notplex.direct"));
            assert!(!forbids(protect, "nas.lan") && !forbids(protect, "printer.home.arpa"));
            assert!(forbids(protect, "lan.example"));
        }
        assert!(!forbids(Some(false), "evil.example"));
        let of_pipeline =
            RebindingGuard::new(&RebindingSettings::default(), GuardDefaults::Unguarded);
        assert!(!of_pipeline.forbids(Name::ROOT, &of("192.168.1.1")));
    }

    #[test]
    fn services_that_point_inside_by_design_may_do_so() {
        let rebinding = RebindingGuard::new(&RebindingSettings::default(), GuardDefaults::Guarded);
        let forbids = |name: &str, address: &str| {
            rebinding.forbids(Name::from_lowercase(name).unwrap(), &of(address))
        };
        assert!(!forbids("2.0.0.127.zen.spamhaus.org", "127.0.0.4"));
        assert!(!forbids("192-168-1-1.abc.plex.direct", "192.168.1.1"));
        assert!(!forbids("dns.msftncsi.com", "fd3e:4f5a:5b81::1"));
        assert!(forbids("1.0.0.127.evil.example", "127.0.0.1"));
    }
}
