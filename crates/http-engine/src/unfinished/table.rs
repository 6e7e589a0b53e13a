//! Places for unfinished requests, counted by client; given back by being dropped.
//!
//! It knows no request and no body, so that a body may hold its place. Called by
//! [`crate::UnfinishedRequests`].

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The places of one door, and who holds them.
#[derive(Debug)]
pub(crate) struct UnfinishedTable {
    pub(crate) max: AtomicUsize,
    pub(crate) refused: AtomicU64,
    /// Only clients with unfinished requests are in it: the greatest `max` so far bounds it.
    held: Mutex<UnfinishedByClient>,
}

/// Unfinished requests, in sum and by client.
#[derive(Debug, Default)]
pub(crate) struct UnfinishedByClient {
    pub(crate) all: usize,
    pub(crate) by_client: HashMap<IpAddr, usize>,
}

/// One request's place, until its body has come or nobody reads it any more.
#[derive(Debug)]
pub(crate) struct UnfinishedPermit {
    table: Arc<UnfinishedTable>,
    client: IpAddr,
}

impl UnfinishedTable {
    /// A table of at most `max` at once.
    pub(crate) fn new(max: usize) -> Self {
        Self { max: max.into(), refused: AtomicU64::new(0), held: Mutex::default() }
    }

    pub(crate) fn held(&self) -> MutexGuard<'_, UnfinishedByClient> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a request of `client`; none while it has as many as are free for all others.
    pub(crate) fn place(self: &Arc<Self>, client: IpAddr) -> Option<UnfinishedPermit> {
        let max = self.max.load(Relaxed);
        let mut held = self.held();
        let free = max.saturating_sub(held.all);
        let mine = held.by_client.entry(client).or_insert(0);
        if *mine >= free {
            if *mine == 0 {
                held.by_client.remove(&client);
            }
            drop(held);
            self.refused.fetch_add(1, Relaxed);
            return None;
        }
        *mine += 1;
        held.all += 1;
        drop(held);
        Some(UnfinishedPermit { table: Arc::clone(self), client })
    }
}

impl Drop for UnfinishedPermit {
    fn drop(&mut self) {
        let mut held = self.table.held();
        held.all -= 1;
        if let Some(mine) = held.by_client.get_mut(&self.client) {
            *mine -= 1;
            if *mine == 0 {
                held.by_client.remove(&self.client);
            }
        }
    }
}
