//! Where a client may be taken that chooses the host itself.
//!
//! Whoever dials for it stands inside: it must not thereby reach what its own address could not.
//! Judged on the address about to be used, after resolution, so that a name that changes its answer
//! gains nothing. It resolves nothing. The dialer calls it, for new connections and for kept ones;
//! the proxy and pixel doors make it.

use super::dialer::Guard;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Where clients may be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Destinations {
    /// The internet for all, private networks for private clients, loopback for loopback.
    Guarded,
    /// The internet only.
    Public,
    /// Everywhere but link-local and the admin listener.
    Any,
}

/// How near an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Distance {
    /// This machine.
    Loopback,
    /// A private network: RFC 1918, RFC 4193, RFC 6598.
    Private,
    /// The internet.
    Public,
    /// Link-local, multicast, broadcast, a cloud's metadata: nothing that a client is led to.
    Never,
}

/// The bounds of one client.
#[derive(Clone, Copy, Debug)]
pub struct Reach<'s> {
    /// The client.
    pub client: IpAddr,
    /// How far it is taken.
    pub destinations: Destinations,
    /// Listeners that are never reached: the admin's.
    pub off_limits: &'s [SocketAddr],
}

/// What AWS answers metadata requests on over IPv6, in the middle of a private range.
const METADATA_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254);

/// How near `address` is.
fn distance(address: IpAddr) -> Distance {
    match address.to_canonical() {
        IpAddr::V4(v4) => distance_v4(v4),
        IpAddr::V6(v6) => match v6.segments() {
            // NAT64 (RFC 6052 §2.1) leads to the IPv4 address in its last 32 bits.
            [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
                distance_v4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)))
            }
            _ if v6.is_loopback() || v6.is_unspecified() => Distance::Loopback,
            _ if v6.is_unicast_link_local() || v6.is_multicast() || v6 == METADATA_V6 => {
                Distance::Never
            }
            _ if v6.is_unique_local() => Distance::Private,
            _ => Distance::Public,
        },
    }
}

fn distance_v4(v4: Ipv4Addr) -> Distance {
    match v4.octets() {
        // The system takes 0.0.0.0 for this machine; the rest of 0/8 leads nowhere.
        [127, ..] | [0, 0, 0, 0] => Distance::Loopback,
        [169, 254, ..] | [0 | 224..=255, ..] => Distance::Never,
        // RFC 6598: shared address space behind a carrier's NAT.
        [100, 64..=127, ..] => Distance::Private,
        _ if v4.is_private() => Distance::Private,
        _ => Distance::Public,
    }
}

impl Guard for Reach<'_> {
    fn permits(&self, address: SocketAddr) -> bool {
        let to = distance(address.ip());
        if to == Distance::Never || self.is_off_limits(address, to) {
            return false;
        }
        match (self.destinations, to) {
            (Destinations::Any, _) | (_, Distance::Public) => true,
            (Destinations::Public, _) => false,
            (Destinations::Guarded, _) => match distance(self.client) {
                Distance::Loopback => true,
                // A link-local client is as near as a private one.
                Distance::Private | Distance::Never => to == Distance::Private,
                Distance::Public => false,
            },
        }
    }
}

impl Reach<'_> {
    fn is_off_limits(&self, address: SocketAddr, to: Distance) -> bool {
        self.off_limits.iter().any(|listener| {
            let ours = listener.ip().to_canonical();
            listener.port() == address.port()
                && (to == Distance::Loopback
                    || ours.is_unspecified()
                    || ours == address.ip().to_canonical())
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    fn permits(destinations: Destinations, client: &str, to: &str) -> bool {
        let off_limits = ["127.0.0.1:9053".parse().unwrap()];
        Reach { client: client.parse().unwrap(), destinations, off_limits: &off_limits }
            .permits(to.parse().unwrap())
    }

    #[test]
    fn a_guarded_client_goes_no_nearer_than_it_is() {
        let permits = |client, to| permits(Destinations::Guarded, client, to);
        for client in ["127.0.0.1", "192.168.1.5", "203.0.113.5", "::1"] {
            assert!(permits(client, "198.51.100.1:80"), "{client}");
        }
        assert!(permits("127.0.0.1", "127.0.0.1:8000"));
        assert!(permits("127.0.0.1", "10.0.0.1:80"));
        assert!(permits("192.168.1.5", "192.168.1.1:80"));
        assert!(permits("fe80::5", "192.168.1.1:80"));
        assert!(!permits("192.168.1.5", "127.0.0.1:8000"));
        assert!(!permits("192.168.1.5", "0.0.0.0:8000"));
        assert!(!permits("192.168.1.5", "[::ffff:127.0.0.1]:8000"));
        assert!(!permits("192.168.1.5", "[::1]:8000"));
        assert!(!permits("203.0.113.5", "192.168.1.1:80"));
        assert!(!permits("203.0.113.5", "[64:ff9b::10.0.0.1]:80"));
        assert!(!permits("203.0.113.5", "100.64.0.1:80"));
    }

    #[test]
    fn metadata_and_the_admin_are_never_reached() {
        for to in [
            "169.254.169.254:80",
            "[fe80::1]:80",
            "[fd00:ec2::254]:80",
            "[::ffff:169.254.169.254]:80",
            "[64:ff9b::169.254.169.254]:80",
            "224.0.0.1:80",
            "255.255.255.255:80",
            "127.0.0.1:9053",
            "0.0.0.0:9053",
            "[::1]:9053",
        ] {
            assert!(!permits(Destinations::Any, "127.0.0.1", to), "{to}");
        }
        assert!(permits(Destinations::Any, "203.0.113.5", "127.0.0.1:8000"));
    }

    #[test]
    fn public_means_public() {
        assert!(!permits(Destinations::Public, "127.0.0.1", "127.0.0.1:8000"));
        assert!(!permits(Destinations::Public, "127.0.0.1", "10.0.0.1:80"));
        assert!(permits(Destinations::Public, "127.0.0.1", "198.51.100.1:80"));
    }
}
