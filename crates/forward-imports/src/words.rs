//! Words that these configurations share: names, addresses, spans of time.

use std::net::IpAddr;
use vocab::{DomainName, MacAddress, Network};

/// A name as our settings take it: lower case, without a final dot; none for what is no name.
pub(crate) fn name(text: &str) -> Option<String> {
    let text = text.trim().trim_end_matches('.').to_ascii_lowercase();
    if text.is_empty() || text.parse::<IpAddr>().is_ok() {
        return None;
    }
    text.parse::<DomainName>().ok().map(|it| it.to_string())
}

/// An address or a network, as it is written.
pub(crate) fn network(text: &str) -> Option<String> {
    let text = text.trim();
    text.parse::<Network>().ok().map(|_| text.to_owned())
}

/// An entry of `match` for a client: a network, a hardware address.
pub(crate) fn device(text: &str) -> Option<String> {
    network(text).or_else(|| {
        let dotted = text.trim().replace('-', ":").to_ascii_lowercase();
        dotted.parse::<MacAddress>().ok().map(|_| dotted)
    })
}

/// A record of an address: `NAME A 192.0.2.1`.
pub(crate) fn address_record(name: &str, ip: IpAddr) -> String {
    format!("{name} {} {ip}", if ip.is_ipv4() { "A" } else { "AAAA" })
}

/// A span as Go writes it (`1h30m`, `500ms`), in milliseconds.
pub(crate) fn go_span_ms(text: &str) -> Option<u64> {
    let (mut total, mut rest) = (0_u64, text.trim());
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        let unit_end =
            rest[digits..].find(|c: char| c.is_ascii_digit()).map_or(rest.len(), |it| it + digits);
        let unit = match &rest[digits..unit_end] {
            "ms" => 1.0,
            "s" => 1e3,
            "m" => 60e3,
            "h" => 3_600e3,
            "d" => 86_400e3,
            "w" => 604_800e3,
            _ => return None,
        };
        if number > 1e12 {
            return None;
        }
        #[allow(clippy::cast_sign_loss, reason = "digits and a point are no negative number")]
        let span = (number * unit) as u64;
        total = total.checked_add(span)?;
        rest = &rest[unit_end..];
    }
    Some(total)
}

/// A span in our words, the largest unit that says it exactly.
pub(crate) fn span(ms: u64) -> String {
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")];
    let unit = units.iter().find(|(unit, _)| ms > 0 && ms.is_multiple_of(*unit));
    unit.map_or_else(|| format!("{ms}ms"), |(unit, word)| format!("{}{word}", ms / unit))
}

/// A span between two bounds, and whether it was moved into them.
pub(crate) fn bounded(ms: u64, least: u64, most: u64) -> (String, bool) {
    let held = ms.clamp(least, most);
    (span(held), held != ms)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    #[test]
    fn spans_of_go_are_ours() {
        assert_eq!(go_span_ms("1h30m").map(span).unwrap(), "90m");
        assert_eq!(go_span_ms("2160h").map(span).unwrap(), "90d");
        assert_eq!(go_span_ms("500ms").map(span).unwrap(), "500ms");
        assert_eq!(go_span_ms("1.5s").map(span).unwrap(), "1500ms");
        assert!(["", "5", "h", "1x", "99999999999999h"].iter().all(|it| go_span_ms(it).is_none()));
    }

    #[test]
    fn names_and_devices_are_told_apart() {
        assert_eq!(name("Example.COM.").unwrap(), "example.com");
        assert!(name("192.0.2.1").is_none() && name("a b").is_none() && name("").is_none());
        assert_eq!(device("AA-BB-CC-00-11-22").unwrap(), "aa:bb:cc:00:11:22");
        assert!(device("tablet").is_none());
    }
}
