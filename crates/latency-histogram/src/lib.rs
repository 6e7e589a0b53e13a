//! A histogram of how long something took, in few buckets that every thread may add to.
//!
//! It knows no clock and no metrics page: times are handed in, and figures handed out. Kept by the
//! resolver for each upstream and by the balancer for each server.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Upper bounds of the buckets, included, in microseconds; one more bucket holds what is longer.
pub const BOUNDS_US: [u64; 14] = [
    500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000,
    2_000_000, 5_000_000, 10_000_000,
];
/// Number of buckets.
pub const BUCKETS: usize = BOUNDS_US.len() + 1;

/// The histogram.
#[derive(Debug, Default)]
pub struct LatencyHistogram {
    buckets: [AtomicU64; BUCKETS],
    sum_us: AtomicU64,
}

/// Figures of a histogram at about one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LatencyFigures {
    /// Values of each bucket alone.
    pub buckets: [u64; BUCKETS],
    /// All values added up, in microseconds.
    pub sum_us: u64,
}

impl LatencyHistogram {
    /// Adds one value.
    pub fn add(&self, took: Duration) {
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS_US.partition_point(|bound| *bound < us);
        self.buckets[bucket].fetch_add(1, Relaxed);
        self.sum_us.fetch_add(us, Relaxed);
    }

    /// The figures now.
    pub fn figures(&self) -> LatencyFigures {
        let buckets = std::array::from_fn(|bucket| self.buckets[bucket].load(Relaxed));
        LatencyFigures { buckets, sum_us: self.sum_us.load(Relaxed) }
    }
}

impl LatencyFigures {
    /// Number of values.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_falls_into_the_first_bucket_that_holds_it() {
        let histogram = LatencyHistogram::default();
        for us in [0, 500, 501, 10_000_000, 10_000_001] {
            histogram.add(Duration::from_micros(us));
        }
        let figures = histogram.figures();
        assert_eq!((figures.buckets[0], figures.buckets[1]), (2, 1));
        assert_eq!((figures.buckets[BUCKETS - 2], figures.buckets[BUCKETS - 1]), (1, 1));
        assert_eq!((figures.count(), figures.sum_us), (5, 20_001_002));
    }
}
