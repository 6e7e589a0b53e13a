//! Tells clients of plain DNS where this server speaks encrypted (RFC 9462, "DDR").
//!
//! The answers are made once, from the door's own listeners and names; nobody is asked and nothing
//! is guessed: without a name that a certificate could hold there is nothing to tell. Called by the
//! door for special names.

use crate::settings::ddr::DdrMode;
use dns_wire::svcb::{self, ServiceBinding};
use dns_wire::{CLASS_IN, DnsQuery, record_type, synthesize};
use std::net::IpAddr;
use vocab::{DomainName, Listen, Name, Scheme};

/// Time for which clients may keep it, in seconds: five minutes, so that a change of listeners is
/// seen soon.
pub(crate) const DDR_TTL_S: u32 = 300;
/// Bindings in one answer, at most; what is more is left out. About ten fit a datagram.
const BINDINGS_MAX: usize = 12;
/// The path of DNS over HTTPS where a listener names none (RFC 8484 §4.1.1 as everybody has it).
const PATH_DEFAULT: &str = "/dns-query";
/// The zone that every server answers for itself (RFC 9462 §6.4).
const ZONE: &str = "resolver.arpa";
const QUESTION: &str = "_dns.resolver.arpa";

/// Holds what clients are told.
#[derive(Debug, Default)]
pub(crate) struct DesignatedResolvers {
    /// Each of our names with its bindings.
    entries: Box<[(DomainName, Bindings)]>,
    /// All of them together, for those who do not know our names.
    all: Bindings,
}

/// The data of some records.
type Bindings = Box<[Box<[u8]>]>;

/// Tells whether a question was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DdrOutcome {
    /// It was.
    Answered,
    /// Asks for something else.
    NotOurs,
}

/// One protocol at one port.
struct DdrOffer {
    scheme: Scheme,
    port: u16,
    path: String,
    addresses: Vec<IpAddr>,
}

impl DesignatedResolvers {
    /// Returns what `listeners` offer under `names`; where one listens on every address, it is
    /// found at those of `addresses` that are of its family.
    pub(crate) fn new(
        ddr: DdrMode,
        names: &[DomainName],
        addresses: &[IpAddr],
        listeners: &[Listen],
    ) -> Self {
        if ddr == DdrMode::Off {
            return Self::default();
        }
        let offers = offers(addresses, listeners);
        let bindings = |name: &DomainName| -> Bindings {
            let ranked = (1..).zip(&offers);
            ranked.map(|(rank, offer)| offer.binding(rank, name)).take(BINDINGS_MAX).collect()
        };
        let each: Box<[_]> = names.iter().map(|name| (name.clone(), bindings(name))).collect();
        let all = each.iter().flat_map(|(_, bindings)| bindings).take(BINDINGS_MAX);
        Self { all: all.cloned().collect(), entries: each }
    }

    /// Answers `query` for `name`, if it asks for encrypted forms of this server (RFC 9462 §4 and
    /// §5), or for anything else in the zone that is ours alone.
    pub(crate) fn answer(
        &self,
        name: Name<'_>,
        query: &DnsQuery<'_>,
        out: &mut Vec<u8>,
    ) -> DdrOutcome {
        let Some(bindings) = self.bindings(name) else {
            let is_zone = name.as_str() == ZONE;
            if is_zone || name.as_str().strip_suffix(ZONE).is_some_and(|it| it.ends_with('.')) {
                let write = if is_zone { synthesize::nodata } else { synthesize::nxdomain };
                write(query, DDR_TTL_S, None, out);
                return DdrOutcome::Answered;
            }
            return DdrOutcome::NotOurs;
        };
        if query.qtype == record_type::SVCB && query.qclass == CLASS_IN && !bindings.is_empty() {
            svcb::answer(query, bindings, DDR_TTL_S, out);
        } else {
            synthesize::nodata(query, DDR_TTL_S, None, out);
        }
        DdrOutcome::Answered
    }

    fn bindings(&self, name: Name<'_>) -> Option<&[Box<[u8]>]> {
        if name.as_str() == QUESTION {
            return Some(&self.all);
        }
        let ours = name.as_str().strip_prefix("_dns.")?;
        self.entries
            .iter()
            .find(|(name, _)| name.as_str() == ours)
            .map(|(_, bindings)| &bindings[..])
    }
}

/// Returns what the listeners offer; those that differ in address only are one.
fn offers(addresses: &[IpAddr], listeners: &[Listen]) -> Vec<DdrOffer> {
    let mut offers: Vec<DdrOffer> = Vec::new();
    // What costs least is recommended first.
    for scheme in [Scheme::Tls, Scheme::Https, Scheme::Quic] {
        for listener in listeners.iter().filter(|it| it.scheme == scheme) {
            let path = match (scheme, listener.path.as_str()) {
                (Scheme::Https, "") => PATH_DEFAULT,
                (_, path) => path,
            };
            let port = listener.address.port();
            let same =
                |it: &&mut DdrOffer| it.scheme == scheme && it.port == port && it.path == path;
            let found = found_at(listener.address.ip(), addresses);
            if let Some(offer) = offers.iter_mut().find(same) {
                offer.addresses.extend(found);
            } else {
                let (path, addresses) = (path.to_owned(), found.collect());
                offers.push(DdrOffer { scheme, port, path, addresses });
            }
        }
    }
    for offer in &mut offers {
        offer.addresses.sort_unstable();
        offer.addresses.dedup();
    }
    offers
}

/// Where whoever listens at `bound` is found.
fn found_at(bound: IpAddr, addresses: &[IpAddr]) -> impl Iterator<Item = IpAddr> {
    let everywhere = bound.is_unspecified();
    let here = (!everywhere).then_some(bound);
    // `::` takes IPv4 too, on the systems that we run on.
    let fits = move |it: &IpAddr| everywhere && (bound.is_ipv6() || it.is_ipv4());
    here.into_iter().chain(addresses.iter().copied().filter(fits))
}

impl DdrOffer {
    fn binding(&self, priority: u16, target: &DomainName) -> Box<[u8]> {
        let alpn = match self.scheme {
            Scheme::Tls => "dot",
            Scheme::Quic => "doq",
            // Others are never offered.
            Scheme::Https
            | Scheme::Http
            | Scheme::Tcp
            | Scheme::Udp
            | Scheme::Redirect
            | Scheme::Tproxy => "h2",
        };
        let path = format!("{}{{?dns}}", self.path);
        ServiceBinding {
            priority,
            target,
            alpn,
            port: self.port,
            addresses: &self.addresses,
            dohpath: (self.scheme == Scheme::Https).then_some(path.as_str()),
        }
        .data()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;
    use dns_wire::reply;
    use vocab::NameBuffer;

    fn designated(names: &[&str], listeners: &[&str]) -> DesignatedResolvers {
        let names: Vec<_> = names.iter().map(|it| DomainName::parse(it).unwrap()).collect();
        let listeners: Vec<Listen> = listeners.iter().map(|it| it.parse().unwrap()).collect();
        let addresses = ["192.0.2.1", "2001:db8::1"].map(|it| it.parse().unwrap());
        DesignatedResolvers::new(DdrMode::Auto, &names, &addresses, &listeners)
    }

    /// The answer to a question for `name`: none if it is not ours, else its code and the data of
    /// its records.
    fn ask(designated: &DesignatedResolvers, name: &str, qtype: u8) -> Option<(u16, Vec<Vec<u8>>)> {
        let mut packet = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0".to_vec();
        for label in name.split('.') {
            packet.push(label.len() as u8);
            packet.extend(label.as_bytes());
        }
        packet.extend([0, 0, qtype, 0, 1]);
        let mut text = NameBuffer::new();
        let query = DnsQuery::parse(&packet, &mut text).unwrap();
        let mut out = Vec::new();
        match designated.answer(text.as_name(), &query, &mut out) {
            DdrOutcome::NotOurs => None,
            DdrOutcome::Answered => {
                let records = reply::records(&out).filter(|it| it.rtype == record_type::SVCB);
                Some((reply::rcode(&out), records.map(|it| it.data.to_vec()).collect()))
            }
        }
    }

    const ALL: &[&str] = &[
        "udp://0.0.0.0:53",
        "quic://[::]:853",
        "https://192.0.2.7:8443/q",
        "http://127.0.0.1:80/dns-query",
        "tls://0.0.0.0:853",
        "https://0.0.0.0:443",
        "tls://[::1]:853",
    ];

    #[test]
    fn every_encrypted_listener_is_offered_with_all_that_it_takes_to_reach_it() {
        let (rcode, bindings) = ask(&designated(&["dns.example"], ALL), QUESTION, 64).unwrap();
        let ipv6 = b"\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01";
        let loopback = b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01";
        let target = b"\x03dns\x07example\0";
        let expected: [Vec<u8>; 4] = [
            [
                &b"\0\x01"[..],
                target,
                b"\0\x01\0\x04\x03dot\0\x03\0\x02\x03\x55",
                b"\0\x04\0\x04\xc0\0\x02\x01",
                b"\0\x06\0\x10",
                loopback,
            ]
            .concat(),
            [
                &b"\0\x02"[..],
                target,
                b"\0\x01\0\x03\x02h2\0\x03\0\x02\x20\xfb",
                b"\0\x04\0\x04\xc0\0\x02\x07",
                b"\0\x07\0\x08/q{?dns}",
            ]
            .concat(),
            [
                &b"\0\x03"[..],
                target,
                b"\0\x01\0\x03\x02h2\0\x03\0\x02\x01\xbb",
                b"\0\x04\0\x04\xc0\0\x02\x01",
                b"\0\x07\0\x10/dns-query{?dns}",
            ]
            .concat(),
            [
                &b"\0\x04"[..],
                target,
                b"\0\x01\0\x04\x03doq\0\x03\0\x02\x03\x55",
                b"\0\x04\0\x04\xc0\0\x02\x01",
                b"\0\x06\0\x10",
                ipv6,
            ]
            .concat(),
        ];
        assert_eq!((rcode, bindings), (0, expected.to_vec()));
    }

    #[test]
    fn without_a_name_or_a_listener_there_is_nothing() {
        assert_eq!(ask(&designated(&[], ALL), QUESTION, 64), Some((0, vec![])));
        assert_eq!(
            ask(&designated(&["dns.example"], &["udp://0.0.0.0"]), QUESTION, 64),
            Some((0, vec![]))
        );
        assert_eq!(ask(&designated(&["dns.example"], ALL), QUESTION, 1), Some((0, vec![])));
        let names = [DomainName::parse("dns.example").unwrap()];
        let listeners = ["tls://192.0.2.1".parse().unwrap()];
        let off = DesignatedResolvers::new(DdrMode::Off, &names, &[], &listeners);
        assert_eq!(ask(&off, QUESTION, 64), Some((0, vec![])));
    }

    #[test]
    fn a_name_of_ours_has_its_own_bindings() {
        let both = designated(&["dns.example", "other.example"], ALL);
        assert_eq!(ask(&both, QUESTION, 64).unwrap().1.len(), 8);
        let (_, bindings) = ask(&both, "_dns.other.example", 64).unwrap();
        assert_eq!(bindings.len(), 4);
        assert!(bindings.iter().all(|it| it[2..].starts_with(b"\x05other\x07example\0")));
        assert_eq!(ask(&both, "_dns.third.example", 64), None);
        assert_eq!(ask(&both, "dns.example", 64), None);
    }

    #[test]
    fn the_zone_never_leaks() {
        let ours = designated(&["dns.example"], ALL);
        assert_eq!(ask(&ours, "resolver.arpa", 6), Some((0, vec![])));
        assert_eq!(ask(&ours, "x.resolver.arpa", 1), Some((3, vec![])));
        assert_eq!(ask(&ours, "myresolver.arpa", 1), None);
    }
}
