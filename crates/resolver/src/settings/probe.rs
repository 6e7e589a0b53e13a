//! How addresses are measured by the strategy `fastest_address`, as it is set.
//!
//! It connects to nothing; [`crate::engine::probes`] does. Read with a group's settings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::net::{IpAddr, Ipv6Addr};
use std::ops::RangeInclusive;
use std::time::Duration;
use vocab::{Complaint, TimeSpan};

/// Ports that an address is tried at, at most.
pub const PROBE_PORTS_MAX: usize = 4;
const WITHIN: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_secs(2);

/// Measuring for the strategy `fastest_address`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProbeSettings {
    /// TCP ports that an address is tried at, all at once: the first that opens counts. Default
    /// `[443, 80]`, 1 to 4 of them.
    pub ports: Vec<u16>,
    /// Time that all addresses of an answer together may take. Default 300ms, from 10ms to 2s.
    pub within: Text<TimeSpan>,
    /// Addresses that are tried: `public`, or `any`, private ones too. The owner of a name chooses
    /// its addresses, and with `any` could have this program connect to hosts inside. Default
    /// `public`.
    pub addresses: ProbeAddresses,
}

/// Which addresses are tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProbeAddresses {
    /// Those that mean the same everywhere.
    #[default]
    Public,
    /// Private ones and this machine's too.
    Any,
}

/// The same as it is used: small, and part of the key that times are remembered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProbeTarget {
    /// 0 is none.
    pub(crate) ports: [u16; PROBE_PORTS_MAX],
    pub(crate) timeout: Duration,
    addresses: ProbeAddresses,
}

impl Default for ProbeSettings {
    fn default() -> Self {
        Self {
            ports: vec![443, 80],
            within: Text(TimeSpan(Duration::from_millis(300))),
            addresses: ProbeAddresses::default(),
        }
    }
}

impl ProbeSettings {
    /// Every complaint about it; paths are relative to it.
    pub(crate) fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if self.ports.is_empty() || self.ports.len() > PROBE_PORTS_MAX || self.ports.contains(&0) {
            let message = format!("{:?} are no ports to try", self.ports);
            complaints.push(Complaint::new("ports", message).remedy("1 to 4 ports, as in [443]"));
        }
        if !WITHIN.contains(&self.within.0.0) {
            let message = format!("{} is out of bounds", self.within);
            complaints.push(Complaint::new("within", message).remedy("from 10ms to 2s"));
        }
        complaints
    }

    pub(crate) fn target(&self) -> ProbeTarget {
        let mut ports = [0; PROBE_PORTS_MAX];
        for (place, port) in ports.iter_mut().zip(&self.ports) {
            *place = *port;
        }
        ProbeTarget { ports, timeout: self.within.0.0, addresses: self.addresses }
    }
}

impl ProbeTarget {
    pub(crate) fn ports(&self) -> impl Iterator<Item = u16> + use<> {
        self.ports.into_iter().filter(|port| *port != 0)
    }

    /// True if `address` may be tried. Nobody listens at what is no address of one host.
    pub(crate) fn allows(&self, address: IpAddr) -> bool {
        match self.addresses {
            ProbeAddresses::Public => is_public_address(address),
            ProbeAddresses::Any => !address.is_unspecified() && !address.is_multicast(),
        }
    }
}

/// True if `address` means the same host everywhere (RFC 6890). What holds an IPv4 address within
/// an IPv6 one does not: it may be a way to a private one.
pub fn is_public_address(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let [a, b, c, _] = v4.octets();
            let is_shared = a == 100 && b & 0xc0 == 64; // RFC 6598
            let is_special = (a, b, c) == (192, 0, 0) || (a == 198 && b & 0xfe == 18);
            let is_local = v4.is_private() || v4.is_loopback() || v4.is_link_local();
            !(is_local
                || is_shared
                || is_special
                || v4.is_documentation()
                || matches!(a, 0 | 224..))
        }
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

/// Only `2000::/3` is given out; Teredo, 6to4 and what is for documents are not of one's own
/// network or are in truth another's.
fn is_public_v6(v6: Ipv6Addr) -> bool {
    let [first, second, ..] = v6.segments();
    first & 0xe000 == 0x2000
        && first != 0x2002
        && !(first == 0x2001 && (second == 0 || second == 0xdb8))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;

    fn aim(addresses: ProbeAddresses) -> ProbeTarget {
        ProbeSettings { addresses, ..ProbeSettings::default() }.target()
    }

    #[test]
    fn private_addresses_are_left_alone_unless_it_is_said() {
        let (public, any) = (aim(ProbeAddresses::Public), aim(ProbeAddresses::Any));
        for inside in [
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "127.0.0.1",
            "169.254.1.1",
            "100.64.0.1",
            "192.0.2.1",
            "198.18.0.1",
            "::1",
            "fe80::1",
            "fd00::1",
            "::ffff:1.1.1.1",
            "64:ff9b::a00:1",
            "2002:a00:1::",
            "2001::1",
            "2001:db8::1",
        ] {
            let address = inside.parse().unwrap();
            assert!(!public.allows(address) && any.allows(address), "{inside}");
        }
        for nobody in ["0.0.0.0", "::", "224.0.0.1", "ff02::1"] {
            let address = nobody.parse().unwrap();
            assert!(!public.allows(address) && !any.allows(address), "{nobody}");
        }
        for outside in ["1.1.1.1", "100.128.0.1", "2606:4700::1111", "2a00::1"] {
            assert!(public.allows(outside.parse().unwrap()), "{outside}");
        }
    }

    #[test]
    fn bounds_are_kept() {
        let said = |settings: ProbeSettings| {
            settings.check().into_iter().map(|it| it.path).collect::<Vec<_>>()
        };
        assert_eq!(said(ProbeSettings::default()), Vec::<String>::new());
        let usual = ProbeSettings::default;
        let within = Text(TimeSpan(Duration::from_secs(9)));
        assert_eq!(said(ProbeSettings { within, ..usual() }), ["within"]);
        for ports in [vec![], vec![0], vec![1, 2, 3, 4, 5]] {
            assert_eq!(said(ProbeSettings { ports, ..usual() }), ["ports"]);
        }
        assert_eq!(usual().target().ports().collect::<Vec<_>>(), [443, 80]);
    }
}
