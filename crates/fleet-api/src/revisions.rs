//! The JSON of a fleet's revisions: what an edge has in force, what is published, and what edges
//! say of themselves.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// The place of a fleet's bundles, as the API asks for it. Blocks for seconds at most where it is
/// an address.
pub trait RevisionSource: Send + Sync {
    /// Everything that is known at this second of Unix time.
    fn revisions(&self, now: u64) -> FleetRevisions;
}

/// Revisions of the fleet, and its edges by what they have signed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FleetRevisions {
    /// The edge that answers.
    pub own: OwnRevisions,
    /// Place of the bundles.
    pub place: String,
    /// Reason why nothing newer could be read there; null where it could. What was read before is
    /// shown.
    pub trouble: Option<String>,
    /// Time of the last reading.
    pub read: String,
    /// The newest revision; null before the first, or where none could be read yet.
    pub newest: Option<FleetRevision>,
    /// Revisions before it, the newest first: 19 at most, and none that was signed by keys that are
    /// no longer trusted.
    pub before: Vec<FleetRevision>,
    /// Progress of the newest.
    pub rollout: FleetRollout,
    /// Edges that have joined by a token, with those that are not shown.
    pub edges_joined: u64,
    /// Edges that have joined, by name, 2000 at most; and the one that answers.
    pub edges: Vec<FleetEdgeStatus>,
}

/// Revisions of the edge that answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OwnRevisions {
    /// Name.
    pub edge: String,
    /// `active`, `drained` or `revoked`, as the fleet wants it.
    pub wanted: String,
    /// The revision in force; null before the first.
    pub in_force: Option<u64>,
    /// Revisions before it whose files are kept here, the newest first.
    pub kept: Vec<u64>,
    /// The revision that is being taken over.
    pub tried: Option<u64>,
    /// The revision that it refused last, unless another was taken over since.
    pub refused: Option<RefusedFleetRevision>,
    /// The revision that it was offered last.
    pub offered: Option<u64>,
    /// `in_force`, `waits_for_canary`, `refused`, `unreached`, or `starting` before its first look.
    pub state: String,
    /// Reasons why it is refused or not reached.
    pub complaints: Vec<String>,
    /// Time of its last look.
    pub looked: Option<String>,
}

/// A revision that was refused.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RefusedFleetRevision {
    /// Number.
    pub revision: u64,
    /// Reasons.
    pub complaints: Vec<String>,
}

/// One revision, as it was signed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FleetRevision {
    /// Number.
    pub revision: u64,
    /// Time of publishing.
    pub made: String,
    /// Person who published it.
    pub by: String,
    /// Reason; empty where nobody said one.
    pub why: String,
    /// The revision whose files these are again.
    pub rolls_back_to: Option<u64>,
    /// Time from which no edge takes it over any more.
    pub not_after: Option<String>,
    /// Release that checked it.
    pub checked_by: String,
    /// Files.
    pub files: u32,
    /// Bytes of them.
    pub bytes: u64,
    /// Edges that go first; null where all take it over at once.
    pub canary: Option<FleetCanary>,
}

/// Edges that go first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FleetCanary {
    /// Percent of all edges.
    pub percent: u8,
    /// Labels, of which such an edge has all.
    pub labels: BTreeMap<String, String>,
}

/// Progress of the newest revision, by what edges have said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FleetRollout {
    /// Edges that are to have it: all but revoked ones.
    pub edges: u64,
    /// Number of them that have it in force.
    pub in_force: u64,
    /// Number of them that have refused it.
    pub refused: u64,
    /// Number of them that go first.
    pub first: u64,
    /// Number of canaries that have it in force.
    pub first_in_force: u64,
}

/// Program of an edge that takes programs from its fleet. Programs are named by the SHA-256 of
/// their files, in 64 hexadecimal digits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FleetProgram {
    /// Program that runs.
    pub runs: String,
    /// Program of the revision in force, which the next start runs; null where it brings none.
    pub in_force: Option<String>,
    /// Program that it gave up last; null where another revision was taken over since.
    pub failed: Option<FailedFleetProgram>,
}

/// A program that did not come up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FailedFleetProgram {
    /// Name.
    pub digest: String,
    /// Reason.
    pub fault: String,
}

/// An edge, and what it has said of itself and signed; null where it has said nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FleetEdgeStatus {
    /// Name.
    pub edge: String,
    /// Labels that the fleet gave it.
    pub labels: BTreeMap<String, String>,
    /// `active`, `drained` or `revoked`, as the fleet wants it.
    pub wanted: String,
    /// Membership by a token; none of the one that answers where nothing that it says is believed
    /// by others.
    pub is_joined: bool,
    /// Place among the canaries of the newest revision.
    pub goes_first: bool,
    /// The revision in force.
    pub revision: Option<u64>,
    /// The revision that it was offered last.
    pub offered: Option<u64>,
    /// `in_force`, `waits_for_canary`, `refused` or `unreached`: what became of that.
    pub state: Option<String>,
    /// Reasons why it is refused or not reached.
    pub complaints: Vec<String>,
    /// Release that it runs.
    pub version: Option<String>,
    /// Program, where it takes programs from the fleet; null where it runs what is installed, or
    /// does not say.
    pub program: Option<FleetProgram>,
    /// Seconds that its clock is ahead of the one at the place.
    pub clock_ahead_s: Option<i64>,
    /// Time when it said so.
    pub told: Option<String>,
    /// Seconds since then.
    pub told_s: Option<u64>,
    /// Requests of the hour before.
    pub requests: Option<u64>,
    /// Failures among them.
    pub failures: Option<u64>,
    /// Troubles: `untold`, `silent`, `clock`, `version`, `refused`, `unreached`,
    /// `waits_for_canary`.
    pub troubles: Vec<String>,
}
