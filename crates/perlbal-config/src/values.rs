//! Values of Perlbal's settings: switches, sizes, addresses, lists.

use std::net::Ipv4Addr;
use vocab::Network;

/// Port of a node that names none.
const NODE_PORT: u16 = 80;

/// A switch.
pub(crate) fn switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "on" | "yes" => Some(true),
        "0" | "false" | "off" | "no" => Some(false),
        _ => None,
    }
}

/// A size in bytes: digits, with `b`, `k` or `m` behind them.
pub(crate) fn size(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let (digits, factor) = match lower.strip_suffix(['b', 'k', 'm']) {
        Some(digits) if lower.ends_with('k') => (digits, 1 << 10),
        Some(digits) if lower.ends_with('m') => (digits, 1 << 20),
        Some(digits) => (digits, 1),
        None => (lower.as_str(), 1),
    };
    number(digits)?.checked_mul(factor)
}

/// A number of digits.
pub(crate) fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

/// A node of a pool as `IP:PORT`.
pub(crate) fn node(text: &str) -> Option<String> {
    let (ip, port) = match text.split_once(':') {
        Some((ip, port)) => (ip, port.parse().ok().filter(|port| *port != 0)?),
        None => (text, NODE_PORT),
    };
    let ip: Ipv4Addr = ip.parse().ok()?;
    Some(format!("{ip}:{port}"))
}

/// An address and port to listen at: `IP:PORT`, or a port at all addresses.
pub(crate) fn listen(text: &str) -> Option<(Ipv4Addr, u16)> {
    let (ip, port) = match text.rsplit_once(':') {
        Some((ip, port)) => (ip.parse().ok()?, port),
        None => (Ipv4Addr::UNSPECIFIED, text),
    };
    Some((ip, port.parse().ok()?))
}

/// An address or a network, as `10/8` and `10.0.0.0:255.0.0.0` too.
pub(crate) fn network(text: &str) -> Option<Network> {
    if let Ok(network) = text.parse() {
        return Some(network);
    }
    let (base, bits) = match text.split_once([':', '/']) {
        Some((base, mask)) => (base, mask_bits(mask)?),
        None => (text, 32),
    };
    let mut parts: Vec<&str> = base.split('.').collect();
    // 10/8 is 10.0.0.0/8.
    parts.resize(4, "0");
    let base: Ipv4Addr = parts.join(".").parse().ok()?;
    let host_bits = u32::MAX.checked_shr(bits).unwrap_or(0);
    format!("{}/{bits}", Ipv4Addr::from_bits(base.to_bits() & !host_bits)).parse().ok()
}

fn mask_bits(text: &str) -> Option<u32> {
    if let Some(bits) = number(text) {
        return u32::try_from(bits).ok().filter(|bits| *bits <= 32);
    }
    let mask = text.parse::<Ipv4Addr>().ok()?.to_bits();
    (mask.leading_ones() + mask.trailing_zeros() == 32).then_some(mask.leading_ones())
}

/// The parts of a list, parted by commas, or by blanks too.
pub(crate) fn list(text: &str) -> Vec<&str> {
    text.split([',', ' ']).map(str::trim).filter(|it| !it.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_switches_and_places_are_read_as_perlbal_reads_them() {
        assert_eq!(["100k", "2M", "7b", "0", "9"].map(size), [102_400, 2 << 20, 7, 0, 9].map(Some));
        assert_eq!(["", "k", "1g", "-1", "99999999999999999999m"].map(size), [None; 5]);
        assert_eq!(["On", "1", "no", "2"].map(switch), [Some(true), Some(true), Some(false), None]);
        assert_eq!(node("10.0.0.1").as_deref(), Some("10.0.0.1:80"));
        assert_eq!(node("10.0.0.1:8080").as_deref(), Some("10.0.0.1:8080"));
        assert!(["10.0.0", "a:1", "10.0.0.1:0", "10.0.0.1:x"].iter().all(|it| node(it).is_none()));
        assert_eq!(listen("81"), Some((Ipv4Addr::UNSPECIFIED, 81)));
        assert!(listen("127.0.0.1:99999").is_none());
    }

    #[test]
    fn networks_have_masks_in_bits_or_digits() {
        let read = |text: &str| network(text).map(|it| it.to_string());
        assert_eq!(read("10.0.0.0/24").as_deref(), Some("10.0.0.0/24"));
        assert_eq!(read("127.0.0.1/8").as_deref(), Some("127.0.0.1/8"));
        assert_eq!(read("10/8").as_deref(), Some("10.0.0.0/8"));
        assert_eq!(read("10.0.0.0:255.255.0.0").as_deref(), Some("10.0.0.0/16"));
        assert_eq!(read("0.0.0.0/0").as_deref(), Some("0.0.0.0/0"));
        assert!(["10.0.0.0/33", "10.0.0.0:255.0.255.0", "x"].iter().all(|it| read(it).is_none()));
    }
}
