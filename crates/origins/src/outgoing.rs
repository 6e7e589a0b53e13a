//! Addresses that connections to origins leave from, and families that they go to.
//!
//! It opens nothing. Held by [`super::dialer`]; what is written in settings becomes it in the
//! proxy door.

use super::error::DialError;
use resolver::FamilyChoice;
use std::net::{IpAddr, SocketAddr};
use transport::DialOptions;

/// The addresses that connections leave from, one a family, and the families that they go to. The
/// default leaves both to the system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutgoingAddresses {
    ipv4: DialOptions,
    ipv6: DialOptions,
    family: FamilyChoice,
}

impl OutgoingAddresses {
    /// Connections from these addresses, the last of each family, to `family`. To a family that has
    /// none the system chooses.
    pub fn new(sources: impl IntoIterator<Item = IpAddr>, family: FamilyChoice) -> Self {
        let mut outgoing = Self { family, ..Self::default() };
        for source in sources {
            let options = match source {
                IpAddr::V4(_) => &mut outgoing.ipv4,
                IpAddr::V6(_) => &mut outgoing.ipv6,
            };
            options.source = Some(source);
        }
        outgoing
    }

    /// The addresses of a host that are connected to.
    pub(super) fn usable(&self, mut found: Vec<IpAddr>) -> Result<Vec<IpAddr>, DialError> {
        let had_some = !found.is_empty();
        found.retain(|address| self.family.accepts(*address));
        if found.is_empty() && had_some {
            let why = "it has no address of the family that is connected to";
            return Err(DialError::NoAddress(why.into()));
        }
        Ok(found)
    }

    /// Options of a connection to `peer`.
    pub(super) fn to(&self, peer: SocketAddr) -> &DialOptions {
        if peer.is_ipv4() { &self.ipv4 } else { &self.ipv6 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn each_family_leaves_from_its_own_address() {
        let outgoing =
            OutgoingAddresses::new([ip("192.0.2.1"), ip("2001:db8::1")], FamilyChoice::Any);
        let source = |peer: &str| outgoing.to(SocketAddr::new(ip(peer), 80)).source;
        assert_eq!(source("198.51.100.1"), Some(ip("192.0.2.1")));
        assert_eq!(source("2001:db8::2"), Some(ip("2001:db8::1")));
        let one = OutgoingAddresses::new([ip("192.0.2.1")], FamilyChoice::Any);
        assert_eq!(one.to(SocketAddr::new(ip("2001:db8::2"), 80)).source, None);
    }

    #[test]
    fn addresses_of_the_other_family_are_left_out() {
        let both = vec![ip("2001:db8::2"), ip("198.51.100.1")];
        let usable =
            |family| OutgoingAddresses::new([], family).usable(both.clone()).unwrap_or_default();
        assert_eq!(usable(FamilyChoice::Any), both);
        assert_eq!(usable(FamilyChoice::Ipv4), [ip("198.51.100.1")]);
        assert_eq!(usable(FamilyChoice::Ipv6), [ip("2001:db8::2")]);
        let only_ipv4 = OutgoingAddresses::new([], FamilyChoice::Ipv4);
        assert!(only_ipv4.usable(vec![ip("2001:db8::2")]).is_err());
        assert_eq!(only_ipv4.usable(Vec::new()).ok(), Some(Vec::new()));
    }
}
