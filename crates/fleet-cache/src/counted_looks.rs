//! Counts of looks into a cache that machines share, and of what it was told.
//!
//! They only ever grow. Kept by the caches, read for the metrics page.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[derive(Default)]
pub(crate) struct CountedLooks {
    pub(crate) hits: AtomicU64,
    pub(crate) misses: AtomicU64,
    pub(crate) late: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) told: AtomicU64,
    pub(crate) dropped: AtomicU64,
}

/// Counts since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Questions or requests that it answered.
    pub hits: u64,
    /// Questions or requests for which it had nothing in its time.
    pub misses: u64,
    /// Questions or requests that it did not answer within two milliseconds.
    pub late: u64,
    /// Values that were sealed by nobody of the fleet, or are older than a purge.
    pub refused: u64,
    /// Answers or responses that it was told of.
    pub told: u64,
    /// Answers or responses that were not told: the server was away or slow, or too many waited.
    pub dropped: u64,
}

impl CacheCounts {
    /// The counts by outcome, as metrics call them.
    pub fn by_outcome(&self) -> [(&'static str, u64); 6] {
        [
            ("hit", self.hits),
            ("miss", self.misses),
            ("late", self.late),
            ("refused", self.refused),
            ("told", self.told),
            ("dropped", self.dropped),
        ]
    }
}

impl CountedLooks {
    pub(crate) fn read(&self) -> CacheCounts {
        CacheCounts {
            hits: self.hits.load(Relaxed),
            misses: self.misses.load(Relaxed),
            late: self.late.load(Relaxed),
            refused: self.refused.load(Relaxed),
            told: self.told.load(Relaxed),
            dropped: self.dropped.load(Relaxed),
        }
    }
}
