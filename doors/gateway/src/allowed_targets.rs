//! Which hosts a server may have us ask in its place.
//!
//! A server of ours may be talked into naming any URL, so the address that is about to be used is
//! judged, after resolution. It connects to nobody. Called by
//! `reproxy`, and by the settings' check.

use origins::{ClientReach, DestinationScope, DialGuard, UrlHost};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use vocab::{DomainName, NameError, Network, NetworkError};

/// Hosts, networks, or the whole internet.
#[derive(Clone, Debug, Default)]
pub(crate) struct AllowedTargets {
    hosts: Vec<DomainName>,
    /// All below these.
    domains: Vec<DomainName>,
    networks: Vec<Network>,
    internet: InternetAccess,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum InternetAccess {
    #[default]
    Closed,
    Open,
}

/// Why a text allows nothing.
#[derive(Debug)]
pub(crate) enum NotAllowed {
    Network(NetworkError),
    Name(NameError),
}

/// Holds what one host may resolve to.
pub(crate) struct HostPermit<'a> {
    allowed: &'a AllowedTargets,
    trust: TargetTrust,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TargetTrust {
    /// The owner has named the host.
    Named,
    /// Address decides.
    ByAddress,
}

impl AllowedTargets {
    /// Adds what one line of the settings says.
    pub(crate) fn add(&mut self, text: &str) -> Result<(), NotAllowed> {
        if text == "public" {
            self.internet = InternetAccess::Open;
        } else if text.contains('/') || text.parse::<IpAddr>().is_ok() {
            self.networks.push(text.parse().map_err(NotAllowed::Network)?);
        } else if let Some(domain) = text.strip_prefix("*.") {
            self.domains.push(DomainName::parse(domain).map_err(NotAllowed::Name)?);
        } else {
            self.hosts.push(DomainName::parse(text).map_err(NotAllowed::Name)?);
        }
        Ok(())
    }

    /// Returns what `host` may resolve to.
    pub(crate) fn permit(&self, host: &UrlHost) -> HostPermit<'_> {
        let trust = match host {
            UrlHost::Name(name) if self.names(name) => TargetTrust::Named,
            UrlHost::Name(_) | UrlHost::Address(_) => TargetTrust::ByAddress,
        };
        HostPermit { allowed: self, trust }
    }

    fn names(&self, name: &DomainName) -> bool {
        let below =
            |domain: &DomainName| name != domain && name.as_name().is_at_or_below(domain.as_name());
        self.hosts.contains(name) || self.domains.iter().any(below)
    }
}

impl DialGuard for HostPermit<'_> {
    fn permits(&self, address: SocketAddr) -> bool {
        let reaches = |destinations| {
            let client = Ipv4Addr::UNSPECIFIED.into();
            ClientReach { client, destinations, off_limits: &[] }.permits(address)
        };
        if !reaches(DestinationScope::Any) {
            return false;
        }
        let ip = address.ip().to_canonical();
        self.trust == TargetTrust::Named
            || self.allowed.networks.iter().any(|network| network.contains(ip))
            || (self.allowed.internet == InternetAccess::Open && reaches(DestinationScope::Public))
    }
}

impl fmt::Display for NotAllowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(why) => why.fmt(f),
            Self::Name(why) => why.fmt(f),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    fn permits(lines: &[&str], host: &str, address: &str) -> bool {
        let mut allowed = AllowedTargets::default();
        for line in lines {
            allowed.add(line).unwrap();
        }
        let host: UrlHost = host.parse().unwrap();
        allowed.permit(&host).permits(address.parse().unwrap())
    }

    #[test]
    fn a_named_host_may_stand_anywhere_but_at_a_metadata_service() {
        let lines = &["media.example", "*.cdn.example"];
        assert!(permits(lines, "Media.example", "10.0.0.5:80"));
        assert!(permits(lines, "a.b.cdn.example", "9.9.9.9:80"));
        assert!(!permits(lines, "media.example", "169.254.169.254:80"));
        assert!(!permits(lines, "cdn.example", "9.9.9.9:80"));
        assert!(!permits(lines, "evilcdn.example", "9.9.9.9:80"));
        assert!(!permits(lines, "other.example", "10.0.0.5:80"));
    }

    #[test]
    fn other_hosts_are_judged_by_their_address() {
        assert!(permits(&["10.0.0.0/8"], "anything.example", "10.1.2.3:7500"));
        assert!(permits(&["127.0.0.1"], "127.0.0.1", "127.0.0.1:80"));
        assert!(!permits(&["10.0.0.0/8"], "anything.example", "192.168.0.1:80"));
        assert!(permits(&["public"], "anything.example", "9.9.9.9:80"));
        assert!(!permits(&["public"], "anything.example", "10.0.0.1:80"));
        assert!(!permits(&["public"], "127.0.0.1", "127.0.0.1:80"));
        assert!(!permits(&[], "9.9.9.9", "9.9.9.9:80"));
        assert!(!permits(&["0.0.0.0/0"], "169.254.169.254", "169.254.169.254:80"));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["10.0.0.0/33", "a..b", "*.", "http://a/"] {
            assert!(AllowedTargets::default().add(text).is_err(), "{text}");
        }
    }
}
