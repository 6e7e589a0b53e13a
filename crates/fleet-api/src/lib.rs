//! The JSON of the fleet: its edges and their requests over time, as its database knows them, its
//! revisions, as they lie at the place of the bundles, and what all machines say when asked.
//!
//! Plain data with its description for `OpenAPI`, and the traits that the admin API asks. Nothing
//! is read here. Implemented by the binary, where the fleet has a database, and by `fleet-view`.

mod questions;
mod revisions;

use serde::{Deserialize, Serialize};
use std::fmt;
use utoipa::{IntoParams, ToSchema};

pub use questions::{FleetReply, FleetVerdict, FleetWhy, MachineVerdict, VerdictRule};
pub use revisions::{
    FailedFleetProgram, FleetCanary, FleetEdgeStatus, FleetProgram, FleetRevision, FleetRevisions,
    FleetRollout, OwnRevisions, RefusedFleetRevision, RevisionSource,
};

/// Time after which an edge that was not heard of is silent, in seconds: it tells of itself every
/// ten.
pub const SILENT_SECONDS: u64 = 60;

/// Part of a fleet of which the API tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FleetPart {
    /// Revisions, where bundles are looked for: `/api/fleet/revisions`.
    Bundles,
    /// Rows, where a database gets them: `/api/fleet/edges`, `/api/fleet/statistics`.
    Rows,
}

/// The fleet's database, as the API asks it. Methods block for seconds at most.
pub trait FleetTables: Send + Sync {
    /// Every edge, by name.
    ///
    /// # Errors
    /// The database did not answer.
    fn edges(&self) -> Result<FleetEdges, FleetSilence>;

    /// Requests over time.
    ///
    /// # Errors
    /// The database did not answer.
    fn points(&self, span: &FleetSpan) -> Result<Vec<FleetPoint>, FleetSilence>;
}

/// Why the fleet's database did not answer, in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetSilence(pub String);

impl fmt::Display for FleetSilence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for FleetSilence {}

/// Time that is asked about, in steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetSpan {
    /// One edge; all of them where there is none.
    pub edge: Option<String>,
    /// Start of the first step, in milliseconds since 1970.
    pub from_ms: u64,
    /// Seconds of a step.
    pub step_s: u32,
    /// Steps.
    pub steps: u32,
}

/// Question for requests over time.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
pub struct FleetStatisticsQuery {
    /// Range: `1h`, `24h`, `7d` or `30d`; a day if left out.
    pub range: Option<String>,
    /// Name of one edge; all of them if left out.
    pub edge: Option<String>,
}

/// The edges of the fleet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FleetEdges {
    /// Name of the edge that answers.
    pub own: String,
    /// Whole minutes over which `per_minute` and `blocked_share` are counted.
    pub rate_minutes: u32,
    /// Every edge that has ever sent something, by name; 2000 at most.
    pub edges: Vec<FleetEdge>,
}

/// An edge as the fleet's database knows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FleetEdge {
    /// Name.
    pub edge: String,
    /// `up`, or `silent` where nothing was heard of it for a minute.
    pub state: String,
    /// Release that it runs.
    pub version: String,
    /// Start of its program.
    pub started: String,
    /// When it was heard of last, by the database's clock.
    pub seen: String,
    /// Seconds since then.
    pub silent_s: u64,
    /// The last whole minute in which it had a request; null where there was none for an hour.
    pub last_minute: Option<String>,
    /// Requests per minute.
    pub per_minute: f64,
    /// Share of them that was blocked, from 0 to 1.
    pub blocked_share: f64,
    /// Share of requests of which it sends a row: one of so many; 0 for none.
    pub sample: u32,
    /// Rows of its request log that wait, as it told last.
    pub waiting: u64,
    /// Rows that it has left out since it is known.
    pub dropped: u64,
}

/// Requests of the fleet, or of one of its edges, over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FleetStatistics {
    /// The range: `1h`, `24h`, `7d` or `30d`.
    pub range: String,
    /// Name of the edge; null for all of them.
    pub edge: Option<String>,
    /// Length of a step, in seconds.
    pub step_s: u32,
    /// Steps from old to new, those without requests too; the last is not over yet.
    pub points: Vec<FleetStep>,
}

/// One step over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FleetStep {
    /// Start of the step.
    pub at: String,
    /// Requests that passed.
    pub passed: u64,
    /// Requests that were blocked.
    pub blocked: u64,
}

/// Requests of one step, as the database counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FleetPoint {
    /// Start of the step, in milliseconds since 1970.
    pub at_ms: u64,
    /// Requests that passed.
    pub passed: u64,
    /// Requests that were blocked.
    pub blocked: u64,
}

impl FleetSpan {
    /// The steps as they are shown: those that the database has, and zeros between them.
    pub fn shown(&self, points: &[FleetPoint], iso: impl Fn(u64) -> String) -> Vec<FleetStep> {
        let starts = (0..self.steps)
            .map(|step| self.from_ms + u64::from(step) * u64::from(self.step_s) * 1000);
        let shown = |at_ms| {
            let found = points.iter().find(|point| point.at_ms == at_ms);
            let FleetPoint { passed, blocked, .. } = found.copied().unwrap_or_default();
            FleetStep { at: iso(at_ms), passed, blocked }
        };
        starts.map(shown).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_without_requests_are_shown_with_zeros() {
        let span = FleetSpan { edge: None, from_ms: 60_000, step_s: 60, steps: 3 };
        let found = [FleetPoint { at_ms: 120_000, passed: 4, blocked: 1 }];
        let shown = span.shown(&found, |at_ms| at_ms.to_string());
        let shown: Vec<_> =
            shown.iter().map(|it| (it.at.as_str(), it.passed, it.blocked)).collect();
        assert_eq!(shown, [("60000", 0, 0), ("120000", 4, 1), ("180000", 0, 0)]);
    }
}
