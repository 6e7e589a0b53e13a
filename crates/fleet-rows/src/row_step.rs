//! Steps along a request log: the rows of one, and where an edge has come to.

use ledger::{FollowPlace, LogRow};
use std::time::Duration;

/// Facts that an edge tells of itself.
#[derive(Clone, Debug)]
pub(crate) struct EdgeFacts {
    pub(crate) edge: String,
    pub(crate) version: &'static str,
    pub(crate) started_ms: u64,
    pub(crate) sample: u32,
}

/// Position that an edge has come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EdgePosition {
    /// In its request log.
    pub(crate) place: FollowPlace,
    /// In its counts by the minute.
    pub(crate) minute: u64,
}

/// Rows to be stored, and the step along the log that they stand for.
pub(crate) struct RowStep<'r> {
    pub(crate) rows: &'r [LogRow],
    pub(crate) from: FollowPlace,
    pub(crate) to: FollowPlace,
    pub(crate) dropped: u64,
    /// Rows of the log behind it.
    pub(crate) waiting: u64,
    pub(crate) way: CopyWay,
}

/// Way of rows into their table, where a row must be there once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyWay {
    /// Straight, which takes none that is there already.
    Straight,
    /// Through a table of this connection's own, so that those are passed over.
    Aside,
}

/// The moment before which nothing is kept.
pub(crate) fn before(now_ms: u64, keep: Duration) -> u64 {
    now_ms.saturating_sub(u64::try_from(keep.as_millis()).unwrap_or(u64::MAX))
}
