//! Names that lead around a resolver, from the table beside this file; each stands for all below
//! it, and the longest that matches counts.

use crate::signal_kind::SignalKind;
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::sync::LazyLock;

const TABLE: &str = include_str!("known-names.txt");

static KNOWN: LazyLock<HashMap<&'static str, SignalKind, RandomState>> = LazyLock::new(|| {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    let entry = |line: &'static str| {
        let (kind, name) = line.split_once(' ')?;
        Some((name, kind.parse().ok()?))
    };
    lines.filter_map(entry).collect()
});

/// Kind of sign that a name is, in lower case and without its last dot; none for most.
pub fn known_name(name: &str) -> Option<SignalKind> {
    let mut rest = name.strip_suffix('.').unwrap_or(name);
    loop {
        if let Some(kind) = KNOWN.get(rest) {
            return Some(*kind);
        }
        (_, rest) = rest.split_once('.')?;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_a_name_of_a_kind_and_stands_once() {
        let lines: Vec<&str> = TABLE.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(KNOWN.len(), lines.len(), "each once, with a word that is known");
        for line in lines {
            let name = line.split_once(' ').unwrap().1;
            assert!(vocab::DomainName::parse(name).is_ok_and(|it| it.as_str() == name), "{line}");
        }
        for kind in SignalKind::ALL {
            let is_looked_for = KNOWN.values().any(|it| *it == kind);
            assert_ne!(is_looked_for, matches!(kind, SignalKind::NoDns | SignalKind::Silent));
        }
    }

    #[test]
    fn a_name_counts_for_itself_and_what_is_below_by_the_longest_match() {
        let check = |name, kind| assert_eq!(known_name(name), kind, "{name}");
        check("dns.google", Some(SignalKind::EncryptedDns));
        check("abc123.dns.nextdns.io.", Some(SignalKind::EncryptedDns));
        check("mask-h2.icloud.com", Some(SignalKind::Canary));
        check("_dns.resolver.arpa", Some(SignalKind::Canary));
        check("www.mullvad.net", Some(SignalKind::Vpn));
        check("dns.mullvad.net", Some(SignalKind::EncryptedDns));
        check("cloudflare-ech.com", Some(SignalKind::Ech));
        for plain in ["google", "www.google.com", "icloud.com", "notdns.google.example", "", "."] {
            check(plain, None);
        }
    }
}
