//! Standing of the shared state: whether the server is there, since when not, and why.
//!
//! Written by the task that keeps the connection; read by the metrics page, and for each request
//! whose limit is shared, which costs two loads.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Standing at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveHealth {
    /// Moment at which the server or a node of the cluster was lost, or was not there at the start,
    /// in milliseconds since 1970; none while all is there.
    pub degraded_since_ms: Option<u64>,
    /// Edges that the server saw lately, this one with them; the last known number while it is
    /// away.
    pub edges: u32,
    /// Number of times that the server was reached.
    pub connected: u64,
    /// Entries, purges and leases that were exchanged with it.
    pub exchanged: u64,
    /// Purges and entries that wait to be told.
    pub waiting: u64,
    /// Purges and entries that were dropped because too many waited.
    pub dropped: u64,
    /// Reason why it is away, or was last.
    pub trouble: Option<String>,
}

/// The standing as it changes.
#[derive(Debug)]
pub(crate) struct HealthRecord {
    degraded: AtomicBool,
    since_ms: AtomicU64,
    edges: AtomicU32,
    /// Parts of the buckets whose node is away, and since when.
    parts_away: AtomicU32,
    parts_since_ms: AtomicU64,
    connected: AtomicU64,
    exchanged: AtomicU64,
    dropped: AtomicU64,
    trouble: Mutex<Option<String>>,
}

impl HealthRecord {
    /// Not connected yet, with the number of edges known last.
    pub(crate) fn new(edges: u32, now_ms: u64) -> Self {
        Self {
            degraded: AtomicBool::new(true),
            since_ms: AtomicU64::new(now_ms),
            edges: AtomicU32::new(edges.max(1)),
            parts_away: AtomicU32::new(0),
            parts_since_ms: AtomicU64::new(0),
            connected: AtomicU64::new(0),
            exchanged: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            trouble: Mutex::new(None),
        }
    }

    pub(crate) fn is_degraded(&self) -> bool {
        self.degraded.load(Relaxed)
    }

    pub(crate) fn edges(&self) -> u32 {
        self.edges.load(Relaxed)
    }

    pub(crate) fn reached(&self) {
        self.degraded.store(false, Relaxed);
        self.connected.fetch_add(1, Relaxed);
    }

    /// Notes that the server is away; true if it was there until now, or for another reason.
    pub(crate) fn lost(&self, trouble: &str, now_ms: u64) -> bool {
        let was_there = !self.degraded.swap(true, Relaxed);
        if was_there {
            self.since_ms.store(now_ms, Relaxed);
        }
        self.note_trouble(trouble) || was_there
    }

    /// Notes how many parts of the buckets have no node that answers.
    pub(crate) fn parts_are_away(&self, parts: u32, now_ms: u64) {
        if self.parts_away.swap(parts, Relaxed) == 0 {
            self.parts_since_ms.store(now_ms, Relaxed);
        }
    }

    /// Moment since which the server, or a node of the cluster, is away.
    fn since_ms(&self) -> Option<u64> {
        match (self.is_degraded(), self.parts_away.load(Relaxed)) {
            (true, _) => Some(self.since_ms.load(Relaxed)),
            (false, 0) => None,
            (false, _) => Some(self.parts_since_ms.load(Relaxed)),
        }
    }

    /// Notes a trouble; true if it is another than the last.
    pub(crate) fn note_trouble(&self, trouble: &str) -> bool {
        let mut held = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = held.as_deref() != Some(trouble);
        *held = Some(trouble.to_owned());
        is_new
    }

    pub(crate) fn saw_edges(&self, edges: u32) {
        self.edges.store(edges.max(1), Relaxed);
    }

    pub(crate) fn count_exchange(&self, count: u64) {
        self.exchanged.fetch_add(count, Relaxed);
    }

    pub(crate) fn count_dropped(&self) {
        self.dropped.fetch_add(1, Relaxed);
    }

    pub(crate) fn read(&self, waiting: usize) -> LiveHealth {
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone();
        LiveHealth {
            degraded_since_ms: self.since_ms(),
            edges: self.edges(),
            connected: self.connected.load(Relaxed),
            exchanged: self.exchanged.load(Relaxed),
            waiting: waiting as u64,
            dropped: self.dropped.load(Relaxed),
            trouble,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_is_told_once_for_each_reason() {
        let health = HealthRecord::new(0, 7);
        assert_eq!(health.read(0).degraded_since_ms, Some(7));
        assert_eq!(health.edges(), 1, "this one at least");
        health.reached();
        assert_eq!(health.read(0).degraded_since_ms, None);
        assert!(health.lost("refused", 50));
        assert!(!health.lost("refused", 60));
        assert!(health.lost("no answer", 70));
        assert_eq!(health.read(2).degraded_since_ms, Some(50));
    }
}
