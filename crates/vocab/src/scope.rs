//! Scopes of IP addresses: this machine, a network inside, or the internet.
//!
//! Whoever dials for others, or believes what a stranger says of a name, asks here, so that no two
//! of them draw the line differently. It follows the IANA registries of special-purpose addresses
//! (RFC 6890 and its updates): what they do not call globally reachable is no part of the internet.
//! An IPv6 address that a translator or a tunnel takes for an IPv4 one is judged as that one. Pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Part of the world that an address leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressScope {
    /// This machine: loopback, and the unspecified address, which systems take for it.
    Loopback,
    /// A network inside, or none at all: private (RFC 1918, RFC 4193), shared (RFC 6598),
    /// site-local, documentation, benchmarks, tunnels and whatever has no use on the internet.
    Private,
    /// The internet.
    Global,
    /// Link-local, multicast, broadcast and reserved addresses, and those at which clouds answer
    /// with credentials: nothing that anybody is to be led to.
    Reserved,
}

/// Addresses outside the ranges below at which clouds tell a machine its secrets: Alibaba's,
/// Oracle's and Azure's.
const METADATA_V4: [Ipv4Addr; 3] = [
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(192, 0, 0, 192),
    Ipv4Addr::new(168, 63, 129, 16),
];
/// The same over IPv6, in the middle of a private range: Amazon's and Google's.
const METADATA_V6: [Ipv6Addr; 2] = [
    Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254),
    Ipv6Addr::new(0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0x0254),
];

impl AddressScope {
    /// The scope of `address`.
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(v4) => of_v4(v4),
            IpAddr::V6(v6) => of_v6(v6),
        }
    }
}

/// True for an address of a network of one's own: private (RFC 1918), unique local (RFC 4193), or
/// link-local. A mapped IPv4 address (`::ffff:0:0/96`) is judged as that one.
pub fn is_own_network(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.is_private() || v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unique_local() || v6.is_unicast_link_local(),
    }
}

fn of_v4(v4: Ipv4Addr) -> AddressScope {
    if METADATA_V4.contains(&v4) {
        return AddressScope::Reserved;
    }
    match v4.octets() {
        // The rest of 0/8 leads nowhere.
        [127, ..] | [0, 0, 0, 0] => AddressScope::Loopback,
        [169, 254, ..] | [0 | 224..=255, ..] => AddressScope::Reserved,
        // Anycast addresses for everybody, in the middle of a range that is not (RFC 7723, RFC
        // 8155).
        [192, 0, 0, 9 | 10] => AddressScope::Global,
        [10, ..]
        | [172, 16..=31, ..]
        | [192, 168, ..]
        | [100, 64..=127, ..]
        // Protocol assignments (RFC 6890), documentation (RFC 5737), a relay of 6to4 (RFC 7526),
        // benchmarks (RFC 2544).
        | [192, 0, 0 | 2, _]
        | [198, 51, 100, _]
        | [203, 0, 113, _]
        | [192, 88, 99, _]
        | [198, 18 | 19, ..] => AddressScope::Private,
        _ => AddressScope::Global,
    }
}

fn of_v6(v6: Ipv6Addr) -> AddressScope {
    if METADATA_V6.contains(&v6) {
        return AddressScope::Reserved;
    }
    if v6.is_loopback() || v6.is_unspecified() {
        return AddressScope::Loopback;
    }
    if let Some(v4) = embedded_ipv4(v6) {
        return of_v4(v4);
    }
    match v6.segments() {
        [0xfe80..=0xfebf | 0xff00..=0xffff, ..] => AddressScope::Reserved,
        // Protocol assignments (RFC 2928), Teredo among them (RFC 4380), but for what is reachable:
        // anycast of PCP, TURN and DNS-SD, AMT, AS112, ORCHID and drone tags.
        [0x2001, 1, 0, 0, 0, 0, 0, 1..=3]
        | [0x2001, 3 | 0x20..=0x3f, ..]
        | [0x2001, 4, 0x112, ..] => AddressScope::Global,
        // Documentation: RFC 3849, RFC 9637.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => AddressScope::Private,
        [0x2000..=0x3fff, ..] => AddressScope::Global,
        // IANA has given nothing else to the internet: what is here is unique local (RFC 4193),
        // site-local, to be discarded, of local translators (RFC 8215), segments, or free.
        _ => AddressScope::Private,
    }
}

/// The IPv4 address to which an IPv6 one leads: mapped (RFC 4291 §2.5.5.2), IPv4-compatible
/// (§2.5.5.1), translated (RFC 2765 §2.1), by NAT64 (RFC 6052 §2.1) or by 6to4 (RFC 3056 §2).
fn embedded_ipv4(v6: Ipv6Addr) -> Option<Ipv4Addr> {
    let ([0, 0, 0, 0, 0, 0 | 0xffff, high, low]
    | [0, 0, 0, 0, 0xffff, 0, high, low]
    | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
    | [0x2002, high, low, ..]) = v6.segments()
    else {
        return None;
    };
    Some(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Network;
    use AddressScope::{Global, Loopback, Private, Reserved};

    /// The IANA registries, a row a block: `iana-ipv4-special-registry`,
    /// `iana-ipv6-special-registry`.
    const REGISTRIES: &[(&str, AddressScope)] = &[
        ("0.0.0.0/32", Loopback),
        ("10.0.0.0/8", Private),
        ("100.64.0.0/10", Private),
        ("127.0.0.0/8", Loopback),
        ("169.254.0.0/16", Reserved),
        ("172.16.0.0/12", Private),
        ("192.0.0.0/29", Private),
        ("192.0.0.8/32", Private),
        ("192.0.0.9/32", Global),
        ("192.0.0.10/32", Global),
        ("192.0.0.170/31", Private),
        ("192.0.2.0/24", Private),
        ("192.31.196.0/24", Global),
        ("192.52.193.0/24", Global),
        ("192.88.99.0/24", Private),
        ("192.168.0.0/16", Private),
        ("192.175.48.0/24", Global),
        ("198.18.0.0/15", Private),
        ("198.51.100.0/24", Private),
        ("203.0.113.0/24", Private),
        ("224.0.0.0/4", Reserved),
        ("240.0.0.0/4", Reserved),
        ("255.255.255.255/32", Reserved),
        ("::1/128", Loopback),
        ("::/128", Loopback),
        ("64:ff9b:1::/48", Private),
        ("100::/64", Private),
        ("100:0:0:1::/64", Private),
        ("2001::/32", Private),
        ("2001:1::1/128", Global),
        ("2001:1::2/128", Global),
        ("2001:1::3/128", Global),
        ("2001:1::4/126", Private),
        ("2001:2::/48", Private),
        ("2001:3::/32", Global),
        ("2001:4:112::/48", Global),
        ("2001:10::/28", Private),
        ("2001:20::/28", Global),
        ("2001:30::/28", Global),
        ("2001:40::/26", Private),
        ("2001:db8::/32", Private),
        ("2620:4f:8000::/48", Global),
        ("3fff::/20", Private),
        ("5f00::/16", Private),
        ("fc00::/8", Private),
        ("fd80::/9", Private),
        ("fe80::/10", Reserved),
        ("fec0::/10", Private),
        ("ff00::/8", Reserved),
        // Not in them: allocated to the internet, and to nobody.
        ("8.8.8.0/24", Global),
        ("172.32.0.0/11", Global),
        ("198.20.0.0/14", Global),
        ("203.0.114.0/23", Global),
        ("2001:200::/23", Global),
        ("2a00::/12", Global),
        ("3fff:1000::/20", Global),
        ("4000::/3", Private),
    ];

    /// The first and the last address of a network.
    fn ends(network: &str) -> [IpAddr; 2] {
        let parsed: Network = network.parse().unwrap();
        let (first, bits) = network.split_once('/').unwrap();
        let bits: u32 = bits.parse().unwrap();
        let first: IpAddr = first.parse().unwrap();
        let last: IpAddr = match first {
            IpAddr::V4(v4) => {
                let hosts = u32::MAX.checked_shr(bits).unwrap_or(0);
                Ipv4Addr::from_bits(v4.to_bits() | hosts).into()
            }
            IpAddr::V6(v6) => {
                let hosts = u128::MAX.checked_shr(bits).unwrap_or(0);
                Ipv6Addr::from_bits(v6.to_bits() | hosts).into()
            }
        };
        assert!(parsed.contains(first) && parsed.contains(last), "{network}");
        [first, last]
    }

    #[test]
    fn the_line_is_where_the_registries_draw_it() {
        for (network, expected) in REGISTRIES {
            for address in ends(network) {
                assert_eq!(AddressScope::of(address), *expected, "{address} of {network}");
            }
        }
    }

    #[test]
    fn an_address_in_disguise_is_the_one_that_it_carries() {
        for (network, expected) in REGISTRIES {
            for address in ends(network) {
                let IpAddr::V4(v4) = address else { continue };
                let [a, b, c, d] = v4.octets().map(u16::from);
                let (high, low) = (a << 8 | b, c << 8 | d);
                let mut disguises = vec![
                    Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, high, low),
                    Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, high, low),
                    Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
                    Ipv6Addr::new(0x2002, high, low, 7, 0, 0, 0, 1),
                ];
                if high > 0 {
                    disguises.push(Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low));
                }
                for v6 in disguises {
                    assert_eq!(AddressScope::of(v6.into()), *expected, "{v6} for {v4}");
                }
            }
        }
    }

    #[test]
    fn nobody_is_led_to_the_secrets_of_a_cloud() {
        for address in [
            "169.254.169.254",
            "100.100.100.200",
            "192.0.0.192",
            "168.63.129.16",
            "fd00:ec2::254",
            "fd20:ce::254",
            "::ffff:100.100.100.200",
            "64:ff9b::a9fe:a9fe",
        ] {
            assert_eq!(AddressScope::of(address.parse().unwrap()), Reserved, "{address}");
        }
    }

    #[test]
    fn own_networks_have_addresses_that_no_registry_gives() {
        for (address, is) in [
            ("192.168.1.7", true),
            ("10.0.0.1", true),
            ("169.254.7.7", true),
            ("::ffff:10.0.0.1", true),
            ("fd00::1", true),
            ("fe80::1", true),
            ("192.0.2.1", false),
            ("100.64.0.1", false),
            ("127.0.0.1", false),
            ("2001:db8::1", false),
        ] {
            assert_eq!(is_own_network(address.parse().unwrap()), is, "{address}");
        }
    }
}
