//! The contents of a leaf certificate: which names it covers, and for how long it is valid.
//!
//! A wildcard is only planned where the policy permits all of what it would cover. Nothing here
//! holds a key or a cache. Called by the signer in the handshake, and by the issuer.

use crate::mint_policy::MintPolicy;
use rcgen::{
    CertificateParams, DistinguishedName, ExtendedKeyUsagePurpose, IsCa, KeyUsagePurpose, SanType,
    SerialNumber,
};
use std::net::IpAddr;
use time::OffsetDateTime;

/// A leaf is valid from so long before it is made: clients' clocks differ.
pub(crate) const BACKDATED_DAYS: u64 = 2;
/// A leaf is valid for so long, back-dating included. Far under every limit that browsers set.
pub(crate) const LEAF_DAYS: u64 = 90;
/// A cached leaf is replaced when two thirds of its life have passed.
pub(crate) const RENEW_AFTER_DAYS: u64 = LEAF_DAYS * 2 / 3 - BACKDATED_DAYS;
const DAY_SECONDS: u64 = 86_400;

const _: () = assert!(RENEW_AFTER_DAYS + BACKDATED_DAYS < LEAF_DAYS);

/// Names that one plan of a leaf covers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LeafCoverage {
    /// This name alone.
    Exact(String),
    /// This name and every name one label below it.
    WithWildcard(String),
}

/// Returns what may be certified so that `host` (a [`blockable_name`](crate::names::blockable_name)
/// that the policy permits) is covered.
///
/// One leaf for a registrable domain's whole level saves a handshake per tracker, and minting per
/// random name. But it certifies names nobody asked about, so it needs the policy's word for the
/// base and for every name directly below it.
pub(crate) fn plan(host: &str, policy: &dyn MintPolicy) -> LeafCoverage {
    match wildcard_base(host).filter(|base| is_wholly_permitted(base, policy)) {
        Some(base) => LeafCoverage::WithWildcard(base.to_owned()),
        None => LeafCoverage::Exact(host.to_owned()),
    }
}

/// True if the policy permits `base` and every name one label below it.
pub(crate) fn is_wholly_permitted(base: &str, policy: &dyn MintPolicy) -> bool {
    policy.may_mint(base) && policy.may_mint_below(base)
}

/// The name below which a wildcard would cover `host`: its registrable domain, or its parent
/// where that lies deeper. None where `host` is a public suffix or a single label.
pub(crate) fn wildcard_base(host: &str) -> Option<&str> {
    let registrable = psl::domain_str(host)?;
    // The list's default rule makes any unknown last label a suffix: `printer.lan` is not
    // somebody's registrable domain.
    if !psl::suffix(host.as_bytes()).is_some_and(|suffix| suffix.is_known()) {
        return None;
    }
    if host.len() == registrable.len() {
        return Some(host);
    }
    let (_, parent) = host.split_once('.')?;
    (parent.len() >= registrable.len()).then_some(parent)
}

impl LeafCoverage {
    /// Bytes that it takes in a leaf: a tag and a length for each name (RFC 5280 §4.2.1.6).
    pub(crate) fn bytes(&self) -> usize {
        // Lengths over 127 take a second byte.
        let field = |length: usize| length + 2 + usize::from(length > 127);
        match self {
            Self::Exact(name) => field(name.len()),
            Self::WithWildcard(base) => field(base.len()) + field(base.len() + "*.".len()),
        }
    }

    /// The names that the leaf carries.
    pub(crate) fn names(&self) -> Vec<String> {
        match self {
            Self::Exact(name) => vec![name.clone()],
            Self::WithWildcard(base) => vec![base.clone(), format!("*.{base}")],
        }
    }
}

/// A leaf's contents; `serial` is random. It ends with its authority, at `authority_until_secs`.
pub(crate) fn leaf(
    names: &[String],
    addresses: &[IpAddr],
    unix_secs: u64,
    authority_until_secs: u64,
    serial: [u8; 20],
) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::default();
    let names = names.iter().map(|name| Ok(SanType::DnsName(name.as_str().try_into()?)));
    params.subject_alt_names = names.collect::<Result<_, rcgen::Error>>()?;
    params.subject_alt_names.extend(addresses.iter().copied().map(SanType::IpAddress));
    // No common name: it is long deprecated, and capped at 64 bytes, which names exceed.
    params.distinguished_name = DistinguishedName::new();
    params.serial_number = Some(positive(serial));
    params.not_before = moment(unix_secs.saturating_sub(BACKDATED_DAYS * DAY_SECONDS));
    let until_secs = unix_secs + (LEAF_DAYS - BACKDATED_DAYS) * DAY_SECONDS;
    params.not_after = moment(until_secs.min(authority_until_secs));
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

/// RFC 5280 §4.1.2.2: serials are positive and of at most 20 bytes.
pub(crate) fn positive(mut serial: [u8; 20]) -> SerialNumber {
    serial[0] = serial[0] & 0x7F | 0x40;
    SerialNumber::from_slice(&serial)
}

pub(crate) fn moment(unix_secs: u64) -> OffsetDateTime {
    let secs = i64::try_from(unix_secs).unwrap_or(i64::MAX);
    OffsetDateTime::from_unix_timestamp(secs).unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Permits the names given and everything below those that begin with a dot.
    struct Permits(&'static [&'static str]);
    impl MintPolicy for Permits {
        fn may_mint(&self, name: &str) -> bool {
            self.0.iter().any(|it| name == *it || it.starts_with('.') && name.ends_with(it))
        }
        fn may_mint_below(&self, base: &str) -> bool {
            self.0.iter().any(|it| it.starts_with('.') && format!(".{base}").ends_with(it))
        }
    }

    fn check(host: &str, permitted: &'static [&'static str], expected: &[&str]) {
        assert_eq!(plan(host, &Permits(permitted)).names(), expected, "{host}");
    }

    #[test]
    fn a_blocked_domain_gets_a_wildcard() {
        let all = &["example.com", ".example.com"];
        check("example.com", all, &["example.com", "*.example.com"]);
        check("a.example.com", all, &["example.com", "*.example.com"]);
        check("a.b.example.com", all, &["b.example.com", "*.b.example.com"]);
    }

    #[test]
    fn what_is_not_blocked_is_not_covered() {
        check("ads.example.com", &["ads.example.com"], &["ads.example.com"]);
        check("ads.example.com", &["ads.example.com", "example.com"], &["ads.example.com"]);
        check("ads.example.com", &["ads.example.com", ".example.com"], &["ads.example.com"]);
    }

    #[test]
    fn a_public_suffix_never_gets_a_wildcard() {
        let all = &["co.uk", ".co.uk", "github.io", ".github.io", "lan", ".lan", "com"];
        check("co.uk", all, &["co.uk"]);
        check("ads.co.uk", all, &["ads.co.uk", "*.ads.co.uk"]);
        check("tracker.github.io", all, &["tracker.github.io", "*.tracker.github.io"]);
        check("printer.lan", all, &["printer.lan"]);
        check("com", all, &["com"]);
    }
}
