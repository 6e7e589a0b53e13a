//! Looks into a cache that machines share, each over within its budget, and counts of what came of
//! them and of what the cache was told.
//!
//! Counts only ever grow. Kept by the caches, read for the metrics page.

use fleet_live::ValueTold;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Time for which a question or a request waits for the cache.
const BUDGET: Duration = Duration::from_millis(2);

#[derive(Default)]
pub(crate) struct CountedLooks {
    hits: AtomicU64,
    misses: AtomicU64,
    late: AtomicU64,
    refused: AtomicU64,
    told: AtomicU64,
    dropped: AtomicU64,
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
    /// Waits for a value within the budget; `believe` makes of it what is used.
    pub(crate) async fn look<T, E>(
        &self,
        answer: impl Future<Output = Result<Option<Vec<u8>>, E>>,
        believe: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Option<T> {
        let Ok(Ok(value)) = tokio::time::timeout(BUDGET, answer).await else {
            self.late.fetch_add(1, Relaxed);
            return None;
        };
        let Some(value) = value else {
            self.misses.fetch_add(1, Relaxed);
            return None;
        };
        let found = believe(&value);
        let count = if found.is_some() { &self.hits } else { &self.refused };
        count.fetch_add(1, Relaxed);
        found
    }

    /// Counts a value that was told, or was not.
    pub(crate) fn note(&self, told: ValueTold) {
        let count = match told {
            ValueTold::Waits => &self.told,
            ValueTold::Dropped => &self.dropped,
        };
        count.fetch_add(1, Relaxed);
    }

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
