//! Rules by which an edge takes a revision over, waits, or refuses it. Pure: time and facts are
//! handed in.

use crate::digest::ContentDigest;
use crate::edge_entry::{EdgeEntry, EdgeState};
use crate::edge_name::EdgeName;
use crate::manifest::{BundleManifest, CanaryShare};
use std::collections::BTreeMap;
use std::fmt;

/// Facts that an edge knows of itself.
#[derive(Clone, Debug)]
pub struct EdgeFacts<'f> {
    /// Name.
    pub name: &'f EdgeName,
    /// Labels of its own configuration.
    pub labels: &'f BTreeMap<String, String>,
    /// The revision that it runs or has tried last, with the digest of its manifest.
    pub applied: Option<(u64, ContentDigest)>,
    /// Seconds of Unix time.
    pub now: u64,
}

/// Next step of an edge with a manifest that is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RolloutStep {
    /// Takes it over.
    TakeOver,
    /// Has it already.
    InForce,
    /// Others go first.
    WaitForCanary,
}

/// Refusal of a revision that is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevisionRefusal {
    /// An older one than is in force.
    Older {
        /// The one that is offered.
        offered: u64,
        /// The one in force.
        applied: u64,
    },
    /// Another manifest with the same number.
    Forked(u64),
    /// Past its time.
    Expired(u64),
    /// This edge is no longer part of the fleet.
    Revoked,
}

impl EdgeFacts<'_> {
    /// Labels that hold: those of the manifest outrank those of the edge's own configuration.
    pub fn labels(&self, entry: Option<&EdgeEntry>) -> BTreeMap<String, String> {
        let mut labels = self.labels.clone();
        labels.extend(entry.iter().flat_map(|it| it.labels.clone()));
        labels
    }

    /// Next step with a manifest of this digest.
    ///
    /// # Errors
    /// [`RevisionRefusal`].
    pub fn judge(
        &self,
        manifest: &BundleManifest,
        digest: &ContentDigest,
    ) -> Result<RolloutStep, RevisionRefusal> {
        let entry = manifest.edge(self.name);
        if entry.is_some_and(|it| it.state == EdgeState::Revoked) {
            return Err(RevisionRefusal::Revoked);
        }
        let offered = manifest.revision;
        match self.applied {
            Some((applied, known)) if offered == applied && known == *digest => {
                return Ok(RolloutStep::InForce);
            }
            Some((applied, _)) if offered == applied => {
                return Err(RevisionRefusal::Forked(offered));
            }
            Some((applied, _)) if offered < applied => {
                return Err(RevisionRefusal::Older { offered, applied });
            }
            Some(_) | None => {}
        }
        if let Some(end) = manifest.not_after.filter(|end| self.now >= *end) {
            return Err(RevisionRefusal::Expired(end));
        }
        match &manifest.canary {
            Some(share) if !share.has(self.name, &self.labels(entry), offered) => {
                Ok(RolloutStep::WaitForCanary)
            }
            Some(_) | None => Ok(RolloutStep::TakeOver),
        }
    }
}

impl CanaryShare {
    /// `true` for an edge that goes first.
    pub fn has(&self, name: &EdgeName, labels: &BTreeMap<String, String>, revision: u64) -> bool {
        let by_labels = !self.labels.is_empty()
            && self.labels.iter().all(|(key, value)| labels.get(key) == Some(value));
        by_labels || Self::rank(name, self.since.unwrap_or(revision)) < u64::from(self.percent)
    }

    /// Place of an edge from 0 to 99, another with each revision, so that the first are not always
    /// the same.
    fn rank(name: &EdgeName, revision: u64) -> u64 {
        let digest = ContentDigest::of(format!("{name} {revision}").as_bytes());
        let mut number = [0; 8];
        number.copy_from_slice(&digest.bytes()[..8]);
        u64::from_be_bytes(number) % 100
    }
}

impl fmt::Display for RevisionRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Older { offered, applied } => {
                write!(f, "revision {offered} is older than {applied}, which is in force")
            }
            Self::Forked(revision) => {
                write!(f, "another revision {revision} was in force before: one number has two")
            }
            Self::Expired(end) => {
                write!(f, "its time is over (not_after {end}); publish again, or see to the clock")
            }
            Self::Revoked => f.write_str("this edge was revoked"),
        }
    }
}

impl std::error::Error for RevisionRefusal {}
