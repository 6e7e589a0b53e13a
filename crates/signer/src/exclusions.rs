//! Names that no list can have certified, and addresses that may be certified at all.
//!
//! The signer refuses them whatever the policy says, and a new authority carries them as name
//! constraints (RFC 5280 §4.2.1.10), so that devices refuse them too. It knows no policy. Made from
//! the `signer` section; used by the issuer and the authority.

use rcgen::{CidrSubnet, GeneralSubtree, NameConstraints};
use std::net::IpAddr;

/// Domains excluded where nothing else is written: governments, armies and what is reserved for
/// banks and the like. A tracker list that names one of them is wrong.
pub const EXCLUDED_DEFAULT: &[&str] = &[
    "gov",
    "mil",
    "bank",
    "insurance",
    "pharmacy",
    "gov.uk",
    "police.uk",
    "nhs.uk",
    "gov.au",
    "gc.ca",
    "gouv.fr",
    "bund.de",
    "admin.ch",
    "gv.at",
    "gob.es",
    "gov.it",
    "gov.pl",
    "gov.in",
    "gov.br",
    "go.jp",
    "europa.eu",
];

/// Domains that can be excluded at most: the authority's certificate carries them all.
pub const EXCLUDED_MAX: usize = 128;

/// Addresses that a household's or an office's machines have, and those that lead nowhere: networks
/// as address and bits. Sources: RFC 1918, 3927, 4193, 4291, 6598, 5737, 2544, 3849.
const LOCAL: &[(&str, u8)] = &[
    ("127.0.0.0", 8),
    ("10.0.0.0", 8),
    ("172.16.0.0", 12),
    ("192.168.0.0", 16),
    ("169.254.0.0", 16),
    ("100.64.0.0", 10),
    ("192.0.2.0", 24),
    ("198.51.100.0", 24),
    ("203.0.113.0", 24),
    ("198.18.0.0", 15),
    ("::1", 128),
    ("fc00::", 7),
    ("fe80::", 10),
    ("2001:db8::", 32),
];

/// Holds what the authority must not vouch for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameExclusions {
    /// Domains with all below, lower-case.
    domains: Vec<String>,
    /// Addresses of ours that are not local.
    own_addresses: Vec<IpAddr>,
}

impl Default for NameExclusions {
    fn default() -> Self {
        let domains = EXCLUDED_DEFAULT.iter().map(|&it| it.to_owned());
        Self::new(domains, Vec::new())
    }
}

impl NameExclusions {
    /// These domains with all below them, [`EXCLUDED_MAX`] at most; of addresses all but local ones
    /// and `own_addresses`.
    pub fn new(domains: impl IntoIterator<Item = String>, own_addresses: Vec<IpAddr>) -> Self {
        let mut all: Vec<String> = Vec::new();
        for domain in domains.into_iter().take(EXCLUDED_MAX) {
            let domain = domain.trim_matches('.').to_ascii_lowercase();
            if !domain.is_empty() && !all.contains(&domain) {
                all.push(domain);
            }
        }
        Self { domains: all, own_addresses }
    }

    /// True if `host`, lower-case, is excluded.
    pub fn covers(&self, host: &str) -> bool {
        self.domains.iter().any(|domain| {
            host.strip_suffix(domain.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        })
    }

    /// True if something below `base`, lower-case, is excluded.
    pub(crate) fn covers_below(&self, base: &str) -> bool {
        self.domains.iter().any(|domain| {
            domain.strip_suffix(base).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        })
    }

    /// True if an address may be certified.
    pub fn permit(&self, address: IpAddr) -> bool {
        self.own_addresses.contains(&address)
            || local().any(|(network, bits)| is_within(address, network, bits))
    }

    /// The same as the authority's certificate says it.
    pub(crate) fn constraints(&self) -> NameConstraints {
        let subtree = |(network, bits)| {
            GeneralSubtree::IpAddress(CidrSubnet::from_addr_prefix(network, bits))
        };
        let own = self.own_addresses.iter().map(|&own| (own, if own.is_ipv4() { 32 } else { 128 }));
        NameConstraints {
            // Permitting some addresses says nothing about names (RFC 5280 §4.2.1.10), and is a
            // tenth of the complement's length.
            permitted_subtrees: local().chain(own).map(subtree).collect(),
            excluded_subtrees: self.domains.iter().cloned().map(GeneralSubtree::DnsName).collect(),
        }
    }
}

fn local() -> impl Iterator<Item = (IpAddr, u8)> {
    LOCAL.iter().filter_map(|(network, bits)| Some((network.parse().ok()?, *bits)))
}

fn is_within(address: IpAddr, network: IpAddr, bits: u8) -> bool {
    let shifted = |width: u8| u32::from(width - bits);
    match (address, network) {
        (IpAddr::V4(address), IpAddr::V4(network)) => {
            let differ = address.to_bits() ^ network.to_bits();
            differ.checked_shr(shifted(32)).unwrap_or(0) == 0
        }
        (IpAddr::V6(address), IpAddr::V6(network)) => {
            let differ = address.to_bits() ^ network.to_bits();
            differ.checked_shr(shifted(128)).unwrap_or(0) == 0
        }
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn a_domain_is_excluded_with_all_below_and_nothing_beside_it() {
        let all = NameExclusions::new(["Example.ORG.".to_owned(), "gov".to_owned()], Vec::new());
        for host in ["example.org", "www.example.org", "gov", "irs.gov"] {
            assert!(all.covers(host), "{host}");
        }
        for host in ["notexample.org", "org", "example.org.test", "mygov", "ads.example"] {
            assert!(!all.covers(host), "{host}");
        }
        assert!(
            all.covers_below("org")
                && all.covers_below("example.org")
                && !all.covers_below("ample.org")
        );
    }

    #[test]
    fn every_local_network_is_well_formed_and_strangers_are_out() {
        assert_eq!(local().count(), LOCAL.len());
        let all = NameExclusions::new([], vec!["198.41.0.4".parse().unwrap()]);
        for (address, expected) in [
            ("192.168.1.1", true),
            ("172.31.255.255", true),
            ("172.32.0.0", false),
            ("127.0.0.1", true),
            ("8.8.8.8", false),
            ("198.41.0.4", true),
            ("::1", true),
            ("fd00::1", true),
            ("2606:4700::1111", false),
        ] {
            assert_eq!(all.permit(address.parse().unwrap()), expected, "{address}");
        }
    }
}
