//! One revision as it is shown: its manifest without files and keys.

use fleet_api::{FleetCanary, FleetRevision};
use fleet_bundle::{BundleManifest, CanaryShare};
use vocab::iso;

/// A revision without what only edges need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RevisionLine {
    pub(crate) revision: u64,
    pub(crate) canary: Option<CanaryShare>,
    made: u64,
    not_after: Option<u64>,
    by: String,
    why: String,
    rolls_back_to: Option<u64>,
    checked_by: String,
    files: u32,
    bytes: u64,
}

impl RevisionLine {
    pub(crate) fn of(manifest: &BundleManifest) -> Self {
        Self {
            revision: manifest.revision,
            canary: manifest.canary.clone(),
            made: manifest.made,
            not_after: manifest.not_after,
            by: manifest.by.clone(),
            why: manifest.why.clone(),
            rolls_back_to: manifest.rolls_back_to,
            checked_by: manifest.checked_by.clone(),
            // A manifest has at most 4096 files.
            files: manifest.files.len() as u32,
            bytes: manifest.files.iter().map(|it| it.size).sum(),
        }
    }

    pub(crate) fn shown(&self) -> FleetRevision {
        let canary = |share: &CanaryShare| FleetCanary {
            percent: share.percent,
            labels: share.labels.clone(),
        };
        FleetRevision {
            revision: self.revision,
            made: seconds(self.made),
            by: self.by.clone(),
            why: self.why.clone(),
            rolls_back_to: self.rolls_back_to,
            not_after: self.not_after.map(seconds),
            checked_by: self.checked_by.clone(),
            files: self.files,
            bytes: self.bytes,
            canary: self.canary.as_ref().map(canary),
        }
    }
}

/// Time as the API writes it. What was signed may name any second.
pub(crate) fn seconds(unix: u64) -> String {
    const YEAR_9999: u64 = 253_402_300_799;
    iso(unix.min(YEAR_9999) * 1000)
}
