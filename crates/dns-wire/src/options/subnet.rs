//! Client subnet: the network that an answer is wanted for (RFC 7871).
//!
//! It holds no more bits than it says, so two of one network are equal. It decides nothing about
//! who is told what, but that addresses which mean nothing outside are never told. Called by the
//! DNS door and by pipelines.

use super::OPTION_SUBNET;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Bytes of the longest one: family, two lengths, an IPv6 address.
const DATA_BYTES_MAX: usize = 20;
/// The same with code and length.
pub(super) const OPTION_BYTES_MAX: usize = 4 + DATA_BYTES_MAX;

/// A network, and for how much of it an answer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientSubnet {
    family: SubnetFamily,
    octets: [u8; 16],
    bits: u8,
    scope: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum SubnetFamily {
    /// None, as some write "nowhere".
    None,
    Ipv4,
    Ipv6,
}

impl SubnetFamily {
    /// Returns its number (IANA, "Address Family Numbers") and the bits of its addresses.
    const fn numbers(self) -> (u16, u8) {
        match self {
            Self::None => (0, 0),
            Self::Ipv4 => (1, 32),
            Self::Ipv6 => (2, 128),
        }
    }
}

impl ClientSubnet {
    /// The network of the first `bits` of `address`, which are at most all of it.
    pub fn of(address: IpAddr, bits: u8) -> Self {
        let mut octets = [0; 16];
        let family = match address.to_canonical() {
            IpAddr::V4(v4) => {
                octets[..4].copy_from_slice(&v4.octets());
                SubnetFamily::Ipv4
            }
            IpAddr::V6(v6) => {
                octets = v6.octets();
                SubnetFamily::Ipv6
            }
        };
        Self { family, octets, bits: 128, scope: 0 }.cut(bits)
    }

    /// The same, unless `address` is one that means nothing outside its own network: to tell those
    /// would only tell of the network (RFC 7871 §11.1 and §11.2).
    pub fn of_client(address: IpAddr, bits: u8) -> Option<Self> {
        is_public(address).then(|| Self::of(address, bits))
    }

    /// Reads the option's data; none if it is malformed (RFC 7871 §6).
    pub fn read(data: &[u8]) -> Option<Self> {
        let (head, address) = data.split_first_chunk::<4>()?;
        let family = match u16::from_be_bytes([head[0], head[1]]) {
            0 => SubnetFamily::None,
            1 => SubnetFamily::Ipv4,
            2 => SubnetFamily::Ipv6,
            _ => return None,
        };
        let (bits, scope, most) = (head[2], head[3], family.numbers().1);
        if bits > most || scope > most || address.len() != usize::from(bits.div_ceil(8)) {
            return None;
        }
        let mut octets = [0; 16];
        octets[..address.len()].copy_from_slice(address);
        let read = Self { family, octets, bits, scope };
        (read.cut(bits).octets == octets).then_some(read)
    }

    /// No more than `bits` of it.
    #[must_use]
    pub fn cut(mut self, bits: u8) -> Self {
        self.bits = self.bits.min(bits).min(self.family.numbers().1);
        let shift = 128 - u32::from(self.bits);
        let kept = u128::MAX.checked_shl(shift).unwrap_or(0) & u128::from_be_bytes(self.octets);
        self.octets = kept.to_be_bytes();
        self
    }

    /// No more than so many bits, by its family.
    #[must_use]
    pub fn cut_by_family(self, ipv4: u8, ipv6: u8) -> Self {
        match self.family {
            SubnetFamily::None => self,
            SubnetFamily::Ipv4 => self.cut(ipv4),
            SubnetFamily::Ipv6 => self.cut(ipv6),
        }
    }

    /// The same with a scope: an answer holds for so many leading bits of it.
    #[must_use]
    pub fn with_scope(mut self, scope: u8) -> Self {
        self.scope = scope.min(self.family.numbers().1);
        self
    }

    /// Returns its leading bits; 0 means that the client does not want to be told apart (RFC 7871
    /// §7.1.2).
    pub const fn bits(&self) -> u8 {
        self.bits
    }

    /// Returns how much of it an answer holds for; 0 in queries.
    pub const fn scope(&self) -> u8 {
        self.scope
    }

    /// Returns its address, bits behind the prefix being 0; none where it names no family.
    pub fn address(&self) -> Option<IpAddr> {
        match self.family {
            SubnetFamily::None => None,
            SubnetFamily::Ipv4 => {
                let [a, b, c, d, ..] = self.octets;
                Some(IpAddr::V4(Ipv4Addr::new(a, b, c, d)))
            }
            SubnetFamily::Ipv6 => Some(IpAddr::V6(Ipv6Addr::from(self.octets))),
        }
    }

    /// Appends the whole option, code and length too: to be sent, or to tell two questions apart.
    pub fn write(&self, out: &mut Vec<u8>) {
        let (bytes, len) = self.option();
        out.extend_from_slice(&bytes[..len]);
    }

    /// The whole option and its length.
    pub(super) fn option(&self) -> ([u8; OPTION_BYTES_MAX], usize) {
        let address = usize::from(self.bits.div_ceil(8));
        let mut bytes = [0; OPTION_BYTES_MAX];
        bytes[..2].copy_from_slice(&OPTION_SUBNET.to_be_bytes());
        bytes[2..4].copy_from_slice(&(4 + address as u16).to_be_bytes());
        bytes[4..6].copy_from_slice(&self.family.numbers().0.to_be_bytes());
        bytes[6] = self.bits;
        bytes[7] = self.scope;
        bytes[8..8 + address].copy_from_slice(&self.octets[..address]);
        (bytes, 8 + address)
    }
}

/// True if `address` means anything outside its own network (RFC 6890).
fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            let [a, b, ..] = v4.octets();
            // 100.64/10 is the shared space of providers (RFC 6598).
            let is_shared = a == 100 && b & 0xc0 == 64;
            let is_local = v4.is_private() || v4.is_loopback() || v4.is_link_local();
            !(is_local || is_shared || v4.is_documentation() || matches!(a, 0 | 224..))
        }
        IpAddr::V6(v6) => {
            let [first, second, ..] = v6.segments();
            // Only 2000::/3 is given out; 2001:db8::/32 of it is for documents.
            first & 0xe000 == 0x2000 && (first, second) != (0x2001, 0xdb8)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(address: &str, bits: u8) -> ClientSubnet {
        ClientSubnet::of(address.parse().unwrap(), bits)
    }

    fn written(subnet: ClientSubnet) -> Vec<u8> {
        let mut out = Vec::new();
        subnet.write(&mut out);
        out
    }

    #[test]
    fn bits_behind_the_prefix_are_never_told() {
        assert_eq!(written(of("192.0.2.255", 24)), b"\0\x08\0\x07\0\x01\x18\0\xc0\0\x02");
        assert_eq!(written(of("192.0.2.255", 20)), b"\0\x08\0\x07\0\x01\x14\0\xc0\0\0");
        assert_eq!(written(of("192.0.2.255", 0)), b"\0\x08\0\x04\0\x01\0\0");
        assert_eq!(
            written(of("2001:db8:1:2::3", 48)),
            b"\0\x08\0\x0a\0\x02\x30\0\x20\x01\x0d\xb8\0\x01"
        );
        assert_eq!(written(of("2001:db8::3", 255)).len(), OPTION_BYTES_MAX);
        assert_eq!(of("::ffff:192.0.2.1", 24), of("192.0.2.9", 24));
    }

    #[test]
    fn what_was_written_is_read_again() {
        for bits in 0..=128 {
            for address in ["203.0.113.255", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"] {
                let subnet = of(address, bits);
                assert_eq!(ClientSubnet::read(&written(subnet)[4..]), Some(subnet), "{subnet:?}");
            }
        }
        let answered = of("203.0.113.255", 24).with_scope(20);
        assert_eq!(ClientSubnet::read(&written(answered)[4..]), Some(answered));
        assert_eq!(ClientSubnet::read(b"\0\0\0\0").unwrap().address(), None);
    }

    #[test]
    fn malformed_ones_are_refused() {
        for data in [
            &b""[..],
            b"\0\x01\x18",
            b"\0\x03\0\0",
            b"\0\x01\x18\0\xc0\0",
            b"\0\x01\x18\0\xc0\0\x02\0",
            b"\0\x01\x14\0\xc0\0\x02",
            b"\0\x01\x21\0\xc0\0\x02\x01\0",
            b"\0\x01\0\x21",
            b"\0\0\x01\0\x80",
        ] {
            assert_eq!(ClientSubnet::read(data), None, "{data:02x?}");
        }
    }

    #[test]
    fn addresses_that_mean_nothing_outside_are_never_told() {
        let told = |address: &str| ClientSubnet::of_client(address.parse().unwrap(), 24).is_some();
        for address in [
            "10.1.2.3",
            "172.20.0.1",
            "192.168.1.1",
            "127.0.0.1",
            "169.254.1.1",
            "100.64.0.1",
            "0.1.2.3",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "fe80::1",
            "fd00::1",
            "ff02::1",
            "::ffff:10.0.0.1",
            "2001:db8::1",
            "64:ff9b::a00:1",
        ] {
            assert!(!told(address), "{address}");
        }
        for address in ["8.8.8.8", "100.128.0.1", "172.32.0.1", "2a00:1450::1", "2001:4860::8888"] {
            assert!(told(address), "{address}");
        }
    }
}
