//! A range of addresses as people write it: `192.168.0.0/16`, `fd00::/8`, or one address alone.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// A range of IP addresses: an address and how many of its leading bits count.
///
/// ```
/// let home: vocab::Network = "192.168.0.0/16".parse().unwrap();
/// assert!(home.contains("192.168.4.5".parse().unwrap()));
/// assert!(home.contains("::ffff:192.168.4.5".parse().unwrap()));
/// assert!(!home.contains("192.169.0.1".parse().unwrap()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

/// Why a text is no range of addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetworkError {
    /// What stands before the slash is no IP address.
    Address(String),
    /// What follows the slash is no number of bits that this family has.
    Prefix(String),
}

/// The networks of homes and offices: loopback, private (RFC 1918, RFC 4193) and link-local
/// addresses.
pub const NEAR_NETWORKS: [&str; 8] = [
    "127.0.0.0/8",
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "169.254.0.0/16",
    "::1/128",
    "fc00::/7",
    "fe80::/10",
];

impl Network {
    /// Returns its address, bits that do not count included as they were written.
    pub const fn address(&self) -> IpAddr {
        self.address
    }

    /// Returns how many leading bits count: up to 32 for IPv4, 128 for IPv6.
    pub const fn prefix(&self) -> u8 {
        self.prefix
    }

    /// True if `address` lies in it. An IPv4 address mapped into IPv6 counts as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(ours), IpAddr::V4(theirs)) => {
                let differ = u32::from(ours) ^ u32::from(theirs);
                differ.checked_shr(32 - u32::from(self.prefix)).unwrap_or(0) == 0
            }
            (IpAddr::V6(ours), IpAddr::V6(theirs)) => {
                let differ = u128::from(ours) ^ u128::from(theirs);
                differ.checked_shr(128 - u32::from(self.prefix)).unwrap_or(0) == 0
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

impl FromStr for Network {
    type Err = NetworkError;
    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let (before, bits) = match text.split_once('/') {
            Some((before, bits)) => (before, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr =
            before.parse().map_err(|_| NetworkError::Address(before.to_owned()))?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match bits {
            None => longest,
            Some(bits) => bits
                .parse()
                .ok()
                .filter(|prefix| *prefix <= longest)
                .ok_or_else(|| NetworkError::Prefix(bits.to_owned()))?,
        };
        Ok(Self { address, prefix })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(text) => write!(f, "{text:?} is no IP address"),
            Self::Prefix(text) => {
                write!(f, "{text:?} is no prefix length: 0 to 32 for IPv4, 0 to 128 for IPv6")
            }
        }
    }
}

impl std::error::Error for NetworkError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_holds_what_shares_its_leading_bits() {
        let holds = |network: &str, address: &str| {
            network.parse::<Network>().unwrap().contains(address.parse().unwrap())
        };
        assert!(holds("0.0.0.0/0", "203.0.113.9"));
        assert!(!holds("0.0.0.0/0", "2001:db8::1"));
        assert!(holds("::/0", "2001:db8::1"));
        assert!(holds("10.0.0.7", "10.0.0.7"));
        assert!(!holds("10.0.0.7", "10.0.0.8"));
        assert!(holds("10.1.2.3/8", "10.200.0.1"));
        assert!(holds("fd00::/8", "fdab::1"));
        assert!(!holds("fd00::/8", "fe80::1"));
    }

    #[test]
    fn what_is_no_network_says_why() {
        assert_eq!("home".parse::<Network>(), Err(NetworkError::Address("home".into())));
        assert_eq!("10.0.0.0/33".parse::<Network>(), Err(NetworkError::Prefix("33".into())));
        assert_eq!("10.0.0.0/".parse::<Network>(), Err(NetworkError::Prefix(String::new())));
    }
}
