//! Where one client may be led by the name of one host.
//!
//! The owner of a public name may have it lead inside for a moment, so that a page of his talks to what stands
//! there ("DNS rebinding"). So a private address is for hosts that are given by it, for names that only a network
//! of its own knows, and for those that the settings spare. It is asked with the address about to be used, and
//! looks at the name only where that is not a public one. Made by `door`.

use settings::Text;
use std::net::SocketAddr;
use upstream::origins::{Destinations, Guard, Host, Reach};
use vocab::DomainName;

/// The bounds of one request.
pub(crate) struct Within<'d> {
    pub(crate) reach: Reach<'d>,
    /// Whom it is for; none where it is for the proxy itself.
    pub(crate) host: Option<&'d Host>,
    /// Public names that may lead inside, with all below them.
    pub(crate) spared: &'d [Text<DomainName>],
}

impl Guard for Within<'_> {
    fn permits(&self, address: SocketAddr) -> bool {
        let is_public = Reach { destinations: Destinations::Public, ..self.reach }.permits(address);
        self.reach.permits(address)
            && (is_public || self.reach.destinations == Destinations::Any || self.may_lead_inside())
    }
}

impl Within<'_> {
    fn may_lead_inside(&self) -> bool {
        match self.host {
            Some(Host::Name(name)) => {
                let is_spared =
                    |above: &Text<DomainName>| name.as_name().is_within(above.as_name());
                !is_public(name) || self.spared.iter().any(is_spared)
            }
            Some(Host::Address(_)) | None => true,
        }
    }
}

/// Whether a name stands below a suffix of the public DNS. One without a dot, or below `.lan`, `.internal` or
/// `home.arpa` (RFC 8375), does not: only a network of its own knows it.
fn is_public(name: &DomainName) -> bool {
    let name = name.as_str();
    let is_of_a_home = name == "home.arpa" || name.ends_with(".home.arpa");
    !is_of_a_home && psl::suffix(name.as_bytes()).is_some_and(|suffix| suffix.is_known())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    fn permits(destinations: Destinations, client: &str, host: &str, to: &str) -> bool {
        let reach = Reach { client: client.parse().unwrap(), destinations, off_limits: &[] };
        let spared = ["home.com".parse().map(Text).unwrap()];
        let host: Host = host.parse().unwrap();
        Within { reach, host: Some(&host), spared: &spared }.permits(to.parse().unwrap())
    }

    #[test]
    fn a_public_name_leads_nobody_inside() {
        for client in ["127.0.0.1", "192.168.1.5"] {
            let permits = |destinations, to| permits(destinations, client, "www.rebound.com", to);
            assert!(permits(Destinations::Guarded, "198.51.100.1:80"));
            for to in ["192.168.1.1:80", "127.0.0.1:80", "[fd00::1]:80", "[::ffff:10.0.0.1]:80"] {
                assert!(!permits(Destinations::Guarded, to), "{client} {to}");
                assert!(permits(Destinations::Any, to), "{client} {to}");
            }
        }
    }

    #[test]
    fn literals_names_of_a_home_and_spared_ones_do() {
        let permits = |host: &str, to| permits(Destinations::Guarded, "192.168.1.5", host, to);
        for host in ["192.168.1.1", "nas", "nas.lan", "nas.home.arpa", "home.com", "app.home.com"] {
            assert!(permits(host, "192.168.1.1:80"), "{host}");
            assert!(!permits(host, "127.0.0.1:80"), "no nearer than the client is: {host}");
        }
        assert!(!permits("nothome.com", "192.168.1.1:80"));
    }
}
