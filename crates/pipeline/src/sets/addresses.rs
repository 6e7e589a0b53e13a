//! A set of addresses: single ones and networks, IPv4 and IPv6 apart.
//!
//! An IPv4 address that is written as IPv6 (`::ffff:192.0.2.1`) is the IPv4 address, in a rule and
//! in a question. Built by `mosdns-compat` from rules and files, asked by matchers.

use super::ranges::AddressRanges;
use super::rule::excerpt;
use std::fmt;
use std::net::IpAddr;

/// Networks of a set, at most. One more is refused.
pub const NETWORKS_MAX: usize = 1 << 25;

/// Bits of an IPv6 address before the IPv4 address that is written as one.
const MAPPED_BITS: u8 = 96;

/// A set of addresses.
///
/// ```
/// use pipeline::sets::IpSet;
///
/// let mut builder = IpSet::builder();
/// for line in ["192.0.2.0/24 # home", "2001:db8::1"] {
///     builder.add_line(line).unwrap();
/// }
/// let set = builder.build();
/// let holds = |address: &str| set.contains(address.parse().unwrap());
/// assert!(holds("192.0.2.77") && holds("::ffff:192.0.2.77") && holds("2001:db8::1"));
/// assert!(!holds("192.0.3.1") && !holds("2001:db8::2"));
/// ```
pub struct IpSet {
    v4: AddressRanges<u32>,
    v6: AddressRanges<u128>,
}

/// A set in the making.
#[derive(Clone, Debug, Default)]
pub struct IpSetBuilder {
    v4: Vec<(u32, u32)>,
    v6: Vec<(u128, u128)>,
}

/// A network of a `geoip.dat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GeoNetwork {
    /// An address in it.
    pub address: IpAddr,
    /// How many of its leading bits count.
    pub prefix: u8,
}

/// Why a text is no network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadNetwork {
    /// What stands there, or before the slash, is no IP address.
    Address(String),
    /// What follows the slash is no number of bits that this family has.
    Prefix(String),
    /// Is one network over [`NETWORKS_MAX`].
    TooMany,
}

impl IpSet {
    /// An empty set in the making.
    pub fn builder() -> IpSetBuilder {
        IpSetBuilder::default()
    }

    /// True if the set holds `address`.
    #[inline]
    pub fn contains(&self, address: IpAddr) -> bool {
        match address.to_canonical() {
            IpAddr::V4(v4) => self.v4.contains(v4.into()),
            IpAddr::V6(v6) => self.v6.contains(v6.into()),
        }
    }

    /// Returns how many ranges it holds; networks that meet or touch are one.
    pub fn len(&self) -> usize {
        self.v4.len() + self.v6.len()
    }

    /// True if it holds none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory.
    pub fn memory(&self) -> u64 {
        size_of::<Self>() as u64 + self.v4.bytes() + self.v6.bytes()
    }
}

impl IpSetBuilder {
    /// Adds the network of the addresses that share the first `prefix` bits with `address`; what
    /// follows those bits does not matter.
    pub fn add(&mut self, address: IpAddr, prefix: u8) -> Result<(), BadNetwork> {
        let bad = || BadNetwork::Prefix(prefix.to_string());
        if self.v4.len() + self.v6.len() == NETWORKS_MAX {
            return Err(BadNetwork::TooMany);
        }
        let (address, prefix) = match (address, address.to_canonical()) {
            (IpAddr::V6(_), v4 @ IpAddr::V4(_)) if (MAPPED_BITS..=128).contains(&prefix) => {
                (v4, prefix - MAPPED_BITS)
            }
            // A network that is wider than all mapped addresses is one of IPv6.
            (address, _) => (address, prefix),
        };
        match address {
            IpAddr::V4(v4) => {
                if prefix > 32 {
                    return Err(bad());
                }
                let rest = u32::MAX.checked_shr(u32::from(prefix)).unwrap_or(0);
                let start = u32::from(v4) & !rest;
                self.v4.push((start, start | rest));
            }
            IpAddr::V6(v6) => {
                if prefix > 128 {
                    return Err(bad());
                }
                let rest = u128::MAX.checked_shr(u32::from(prefix)).unwrap_or(0);
                let start = u128::from(v6) & !rest;
                self.v6.push((start, start | rest));
            }
        }
        Ok(())
    }

    /// Adds a network as it is written: `192.0.2.0/24`, `2001:db8::/32`, or an address alone.
    pub fn add_text(&mut self, text: &str) -> Result<(), BadNetwork> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| BadNetwork::Address(excerpt(address)))?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            None => longest,
            Some(bits) => bits
                .parse()
                .ok()
                .filter(|prefix| *prefix <= longest)
                .ok_or_else(|| BadNetwork::Prefix(excerpt(bits)))?,
        };
        self.add(address, prefix)
    }

    /// Adds the network of a line of a file: it ends at `#` or at the first blank, and may be
    /// blank.
    pub fn add_line(&mut self, line: &str) -> Result<(), BadNetwork> {
        let line = line.strip_prefix('\u{feff}').unwrap_or(line).trim();
        let word = line.split(|c: char| c == '#' || c.is_whitespace()).next().unwrap_or("");
        if word.is_empty() { Ok(()) } else { self.add_text(word) }
    }

    /// Adds a network of a `geoip.dat`.
    pub fn add_geo(&mut self, network: GeoNetwork) -> Result<(), BadNetwork> {
        self.add(network.address, network.prefix)
    }

    /// Adds all ranges of another set.
    pub fn merge(&mut self, other: &IpSet) -> Result<(), BadNetwork> {
        if self.v4.len() + self.v6.len() + other.len() > NETWORKS_MAX {
            return Err(BadNetwork::TooMany);
        }
        self.v4.extend(other.v4.iter());
        self.v6.extend(other.v6.iter());
        Ok(())
    }

    /// Returns how many networks were added.
    pub fn len(&self) -> usize {
        self.v4.len() + self.v6.len()
    }

    /// True if none was added.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The set.
    pub fn build(self) -> IpSet {
        IpSet { v4: AddressRanges::build(self.v4), v6: AddressRanges::build(self.v6) }
    }
}

impl Default for IpSet {
    /// The empty set.
    fn default() -> Self {
        Self::builder().build()
    }
}

impl fmt::Debug for IpSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IpSet({} ranges)", self.len())
    }
}

impl fmt::Display for BadNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(text) => {
                write!(f, "\"{text}\" is no IP address: write 192.0.2.1 or 192.0.2.0/24")
            }
            Self::Prefix(text) => {
                write!(f, "\"{text}\" is no prefix length: 0 to 32 for IPv4, 0 to 128 for IPv6")
            }
            Self::TooMany => write!(f, "more than {NETWORKS_MAX} networks: split the set"),
        }
    }
}

impl std::error::Error for BadNetwork {}
