//! When certificates end.

use crate::family::{FamilyHead, write_family};
use ledger::Collector;
use ledger::prometheus_client::encoding::DescriptorEncoder;
use std::fmt;

/// A certificate that is served.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServedCertificate {
    /// The door, or `authority` for our own authority.
    pub door: &'static str,
    /// The first name that it is for.
    pub name: String,
    /// When it ends, in seconds since 1970.
    pub not_after: u64,
}

/// The certificates of all doors, and the authority's.
#[derive(Debug, Default)]
pub struct CertificateEnds(pub Vec<ServedCertificate>);

impl Collector for CertificateEnds {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut sorted: Vec<_> = self.0.iter().collect();
        // Of several for one name, as at several listeners, the one that ends first is told.
        sorted.sort();
        sorted.dedup_by(|later, first| later.door == first.door && later.name == first.name);
        write_family(
            &mut encoder,
            FamilyHead::gauge(
                "tidegate_certificate_expiry_timestamp_seconds",
                "When a certificate ends, in seconds since 1970",
            ),
            sorted.iter().map(|it| ([("door", it.door), ("name", it.name.as_str())], it.not_after)),
        )
    }
}
