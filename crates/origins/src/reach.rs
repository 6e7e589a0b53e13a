//! Where a client may be taken that chooses the host itself.
//!
//! Whoever dials for it stands inside: it must not thereby reach what its own address could not.
//! Judged on the address about to be used, after resolution, so that a name that changes its answer
//! gains nothing. It resolves nothing. The dialer calls it, for new connections and for kept ones;
//! the proxy and pixel doors make it.

use super::dialer::DialGuard;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};
use vocab::AddressScope;

/// Where clients may be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DestinationScope {
    /// The internet for all, private networks for private clients, loopback for loopback.
    Guarded,
    /// The internet only.
    Public,
    /// Everywhere but link-local and the admin listener.
    Any,
}

/// The bounds of one client.
#[derive(Clone, Copy, Debug)]
pub struct ClientReach<'s> {
    /// The client.
    pub client: IpAddr,
    /// How far it is taken.
    pub destinations: DestinationScope,
    /// Listeners that are never reached: the admin's.
    pub off_limits: &'s [SocketAddr],
}

impl DialGuard for ClientReach<'_> {
    fn permits(&self, address: SocketAddr) -> bool {
        let to = AddressScope::of(address.ip());
        if to == AddressScope::Reserved || self.is_off_limits(address, to) {
            return false;
        }
        match (self.destinations, to) {
            (DestinationScope::Any, _) | (_, AddressScope::Global) => true,
            (DestinationScope::Public, _) => false,
            (DestinationScope::Guarded, _) => match AddressScope::of(self.client) {
                AddressScope::Loopback => true,
                // A link-local client is as near as a private one.
                AddressScope::Private | AddressScope::Reserved => to == AddressScope::Private,
                AddressScope::Global => false,
            },
        }
    }
}

impl ClientReach<'_> {
    fn is_off_limits(&self, address: SocketAddr, to: AddressScope) -> bool {
        self.off_limits.iter().any(|listener| {
            let ours = listener.ip().to_canonical();
            listener.port() == address.port()
                && (to == AddressScope::Loopback
                    || ours.is_unspecified()
                    || ours == address.ip().to_canonical())
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    fn permits(destinations: DestinationScope, client: &str, to: &str) -> bool {
        let off_limits = ["127.0.0.1:9053".parse().unwrap()];
        ClientReach { client: client.parse().unwrap(), destinations, off_limits: &off_limits }
            .permits(to.parse().unwrap())
    }

    #[test]
    fn a_guarded_client_goes_no_nearer_than_it_is() {
        let permits = |client, to| permits(DestinationScope::Guarded, client, to);
        for client in ["127.0.0.1", "192.168.1.5", "9.9.9.9", "::1"] {
            assert!(permits(client, "8.8.8.8:80"), "{client}");
        }
        assert!(permits("127.0.0.1", "127.0.0.1:8000"));
        assert!(permits("127.0.0.1", "10.0.0.1:80"));
        assert!(permits("192.168.1.5", "192.168.1.1:80"));
        assert!(permits("fe80::5", "192.168.1.1:80"));
        assert!(!permits("192.168.1.5", "127.0.0.1:8000"));
        assert!(!permits("192.168.1.5", "0.0.0.0:8000"));
        assert!(!permits("192.168.1.5", "[::ffff:127.0.0.1]:8000"));
        assert!(!permits("192.168.1.5", "[::1]:8000"));
        assert!(!permits("9.9.9.9", "192.168.1.1:80"));
        assert!(!permits("9.9.9.9", "[64:ff9b::10.0.0.1]:80"));
        assert!(!permits("9.9.9.9", "100.64.0.1:80"));
        for inside in [
            "[::7f00:1]:80",
            "[2002:7f00:1::1]:80",
            "[2002:a4d:1::1]:80",
            "[fec0::1]:80",
            "198.18.0.1:80",
            "192.0.2.1:80",
            "[2001:db8::1]:80",
            "[64:ff9b:1::a00:1]:80",
            "[2001:0:a00:1::]:80",
        ] {
            assert!(!permits("9.9.9.9", inside), "{inside}");
        }
        assert!(permits("192.168.1.5", "198.18.0.1:80"), "names of a tunnel on this network");
        assert!(
            !permits("192.168.1.5", "[2002:7f00:1::1]:80")
                && permits("9.9.9.9", "[2002:808:808::]:80")
        );
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
            assert!(!permits(DestinationScope::Any, "127.0.0.1", to), "{to}");
        }
        assert!(permits(DestinationScope::Any, "9.9.9.9", "127.0.0.1:8000"));
    }

    #[test]
    fn public_means_public() {
        assert!(!permits(DestinationScope::Public, "127.0.0.1", "127.0.0.1:8000"));
        assert!(!permits(DestinationScope::Public, "127.0.0.1", "10.0.0.1:80"));
        assert!(permits(DestinationScope::Public, "127.0.0.1", "8.8.8.8:80"));
    }
}
