//! Counts of everything that was to be exported, by signal and by what became of it.
//!
//! Counted from the start of the process on, whatever collectors come and go.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Spans.
pub(crate) static TRACES: SignalCounters = SignalCounters::new();
/// Figures.
pub(crate) static METRICS: SignalCounters = SignalCounters::new();
/// Log records.
pub(crate) static LOGS: SignalCounters = SignalCounters::new();

/// Counters of one signal.
#[derive(Debug)]
pub(crate) struct SignalCounters {
    exported: AtomicU64,
    dropped_full: AtomicU64,
    rejected: AtomicU64,
    failed: AtomicU64,
    retries: AtomicU64,
    waiting: AtomicU64,
}

/// Items of one signal (spans, points of metrics, log records) by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignalCounts {
    /// Taken by a collector.
    pub exported: u64,
    /// Dropped because too many waited.
    pub dropped_full: u64,
    /// Refused by a collector that took others of the same request.
    pub rejected: u64,
    /// Dropped because no collector took them.
    pub failed: u64,
    /// Requests that were sent again.
    pub retries: u64,
    /// Waiting now.
    pub waiting: u64,
}

impl SignalCounters {
    pub(crate) const fn new() -> Self {
        Self {
            exported: AtomicU64::new(0),
            dropped_full: AtomicU64::new(0),
            rejected: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            retries: AtomicU64::new(0),
            waiting: AtomicU64::new(0),
        }
    }

    pub(crate) fn dropped_full(&self, items: u64) {
        self.dropped_full.fetch_add(items, Relaxed);
    }

    pub(crate) fn waits(&self, items: usize) {
        self.waiting.store(items as u64, Relaxed);
    }

    pub(crate) fn retried(&self) {
        self.retries.fetch_add(1, Relaxed);
    }

    pub(crate) fn failed(&self, items: u64) {
        self.failed.fetch_add(items, Relaxed);
    }

    /// A collector took `items` but for those that it refused.
    pub(crate) fn taken(&self, items: u64, rejected: u64) {
        let rejected = rejected.min(items);
        self.exported.fetch_add(items - rejected, Relaxed);
        self.rejected.fetch_add(rejected, Relaxed);
    }

    pub(crate) fn read(&self) -> SignalCounts {
        SignalCounts {
            exported: self.exported.load(Relaxed),
            dropped_full: self.dropped_full.load(Relaxed),
            rejected: self.rejected.load(Relaxed),
            failed: self.failed.load(Relaxed),
            retries: self.retries.load(Relaxed),
            waiting: self.waiting.load(Relaxed),
        }
    }
}

/// Counts of all signals by their names.
pub fn counts() -> [(&'static str, SignalCounts); 3] {
    [("traces", TRACES.read()), ("metrics", METRICS.read()), ("logs", LOGS.read())]
}
