//! Addresses as Squid writes them: networks, masks, ranges.

use std::net::{IpAddr, Ipv4Addr};
use vocab::Network;

/// Networks that a range comes to, at most.
const PIECES_MAX: usize = 64;

/// Networks of an entry of `acl … src`; none for a host name and what is none.
pub(super) fn networks(text: &str) -> Option<Vec<String>> {
    match text {
        "all" => return Some(vec!["0.0.0.0/0".into(), "::/0".into()]),
        "ipv4" => return Some(vec!["0.0.0.0/0".into()]),
        "ipv6" => return Some(vec!["::/0".into()]),
        _ => {}
    }
    if let Some((first, last)) = text.split_once('-') {
        let (last, _) = last.split_once('/').unwrap_or((last, ""));
        return range(first.parse().ok()?, last.parse().ok()?);
    }
    if let Some((address, mask)) = text.split_once('/')
        && let Ok(mask) = mask.parse::<Ipv4Addr>()
    {
        let bits = u32::from(mask);
        let prefix = bits.leading_ones();
        // A mask with holes is no network.
        return (bits.count_ones() == prefix)
            .then_some(())
            .and_then(|()| address.parse::<Ipv4Addr>().ok())
            .map(|address| vec![format!("{address}/{prefix}")]);
    }
    text.parse::<Network>().ok().map(|_| vec![text.to_owned()])
}

/// The networks that a range of IPv4 addresses comes to.
fn range(first: IpAddr, last: IpAddr) -> Option<Vec<String>> {
    let (IpAddr::V4(first), IpAddr::V4(last)) = (first, last) else { return None };
    let (mut at, end) = (u64::from(u32::from(first)), u64::from(u32::from(last)));
    let mut pieces = Vec::new();
    while at <= end {
        // The largest network that begins here and does not go beyond the end.
        let fits = (end - at + 1).ilog2();
        let bits = if at == 0 { fits } else { fits.min(at.trailing_zeros()) }.min(32);
        let address = Ipv4Addr::from(u32::try_from(at).ok()?);
        pieces.push(format!("{address}/{}", 32 - bits));
        if pieces.len() > PIECES_MAX {
            return None;
        }
        at += 1 << bits;
    }
    (!pieces.is_empty()).then_some(pieces)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    #[test]
    fn masks_and_ranges_are_networks() {
        assert_eq!(networks("192.168.1.0/255.255.255.0").unwrap(), ["192.168.1.0/24"]);
        assert_eq!(
            networks("10.0.0.1-10.0.0.4").unwrap(),
            ["10.0.0.1/32", "10.0.0.2/31", "10.0.0.4/32"]
        );
        assert_eq!(networks("0.0.0.0-255.255.255.255").unwrap(), ["0.0.0.0/0"]);
        assert_eq!(networks("fc00::/7").unwrap(), ["fc00::/7"]);
        assert!(networks("host.example").is_none() && networks("10.0.0.9-10.0.0.1").is_none());
        assert!(networks("10.0.0.0/255.0.255.0").is_none());
    }
}
