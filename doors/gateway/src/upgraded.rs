//! Connections that leave HTTP: how many there are, and what is kept with each.
//!
//! A connection that has left runs by itself: no reload and no removed route touches it, only its
//! ends and its idle time. It carries no byte here. Called by `passing`, `shape` and `request`.

use http_engine::upgrade::{BusyGuard, OnUpgrade};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Connections that have left HTTP or are about to, counted over all reloads.
#[derive(Clone, Debug, Default)]
pub(crate) struct LeftConnections(Arc<AtomicU32>);

/// A place among them, until it is dropped.
#[derive(Debug)]
pub(crate) struct UpgradePermit(Arc<AtomicU32>);

/// A client's connection that leaves HTTP.
pub(crate) struct LeavingConnection {
    pub(crate) client: OnUpgrade,
    /// Keeps a stream of HTTP/2 open.
    pub(crate) held: Option<BusyGuard>,
    pub(crate) permit: UpgradePermit,
}

impl LeftConnections {
    /// One more, unless there are `most` already.
    pub(crate) fn acquire(&self, most: u32) -> Option<UpgradePermit> {
        let place = UpgradePermit(Arc::clone(&self.0));
        // Counted first: two that come at once must not both take the last place.
        (self.0.fetch_add(1, Relaxed) < most).then_some(place)
    }

    /// Returns how many there are.
    pub(crate) fn count(&self) -> u32 {
        self.0.load(Relaxed)
    }
}

impl Drop for UpgradePermit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_given_back() {
        let left = LeftConnections::default();
        let first = left.acquire(1);
        assert!(first.is_some() && left.acquire(1).is_none());
        assert_eq!(left.count(), 1);
        drop(first);
        assert_eq!(left.count(), 0);
    }
}
