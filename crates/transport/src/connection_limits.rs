//! Caps on open connections: all of a door's together, and those of one client.
//!
//! It accepts nothing and closes nothing: it counts, and refuses a permit over a cap. Asked by the
//! accept loops and by QUIC servers.

use crate::drain::{Drain, DrainGuard};
use rate_limit::client_of;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// Connections at once by default: at some 30 KiB each under TLS, 300 MB when full.
pub const CONNECTIONS_MAX_DEFAULT: usize = 10_000;
/// Connections at once from one client by default.
pub const CONNECTIONS_PER_CLIENT_MAX_DEFAULT: usize = 512;
const SHARDS: usize = 16;

/// Caps on open connections. Clones share their counts, so one value bounds all listeners of a
/// door over all cores.
#[derive(Clone, Debug)]
pub struct ConnectionLimits(Arc<ConnectionTable>);

#[derive(Debug)]
struct ConnectionTable {
    max: AtomicUsize,
    per_client_max: AtomicUsize,
    open: AtomicUsize,
    clients: [Mutex<HashMap<IpAddr, u32>>; SHARDS],
    accepted: AtomicU64,
    refused_full: AtomicU64,
    refused_client: AtomicU64,
    exhausted: AtomicU64,
    received_bytes: AtomicU64,
    sent_bytes: AtomicU64,
}

/// Outcome of connections so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionCounts {
    /// Open now.
    pub open: usize,
    /// Accepted since the start.
    pub accepted: u64,
    /// Closed at once because the total was reached.
    pub refused_full: u64,
    /// Closed at once because their client had too many.
    pub refused_client: u64,
    /// Pauses of accepting because descriptors or memory had run out.
    pub exhausted: u64,
    /// Bytes that came over them, TLS included: told when a connection waits or closes.
    pub received_bytes: u64,
    /// Bytes that went out over them.
    pub sent_bytes: u64,
}

/// Bytes that moved over a connection and are not counted yet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MovedBytes {
    pub(crate) received: u64,
    pub(crate) sent: u64,
}

/// Permission of one connection to be open, under the caps and in the drain; dropping it gives it
/// back.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    table: Arc<ConnectionTable>,
    client: IpAddr,
    _held: DrainGuard,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self::new(CONNECTIONS_MAX_DEFAULT, CONNECTIONS_PER_CLIENT_MAX_DEFAULT)
    }
}

impl ConnectionLimits {
    /// At most `max` connections, and `per_client_max` from one client. A client is an IPv4
    /// address or an IPv6 /64.
    pub fn new(max: usize, per_client_max: usize) -> Self {
        Self(Arc::new(ConnectionTable {
            max: AtomicUsize::new(max),
            per_client_max: AtomicUsize::new(per_client_max),
            open: AtomicUsize::new(0),
            clients: Default::default(),
            accepted: AtomicU64::new(0),
            refused_full: AtomicU64::new(0),
            refused_client: AtomicU64::new(0),
            exhausted: AtomicU64::new(0),
            received_bytes: AtomicU64::new(0),
            sent_bytes: AtomicU64::new(0),
        }))
    }

    /// Other caps from now on, for all clones. Connections over them that are open stay open.
    pub fn set(&self, max: usize, per_client_max: usize) {
        self.0.max.store(max, Relaxed);
        self.0.per_client_max.store(per_client_max, Relaxed);
    }

    /// The counts so far.
    pub fn counts(&self) -> ConnectionCounts {
        ConnectionCounts {
            open: self.0.open.load(Relaxed),
            accepted: self.0.accepted.load(Relaxed),
            refused_full: self.0.refused_full.load(Relaxed),
            refused_client: self.0.refused_client.load(Relaxed),
            exhausted: self.0.exhausted.load(Relaxed),
            received_bytes: self.0.received_bytes.load(Relaxed),
            sent_bytes: self.0.sent_bytes.load(Relaxed),
        }
    }

    /// True if three quarters of all permits are given: idle connections should then end sooner.
    pub fn is_crowded(&self) -> bool {
        let max = self.0.max.load(Relaxed);
        self.0.open.load(Relaxed) >= max - max / 4
    }

    /// Counts that accepting paused because descriptors or memory had run out.
    pub(crate) fn count_exhausted(&self) {
        self.0.exhausted.fetch_add(1, Relaxed);
    }

    /// Counts a connection of `peer`, unless a cap is reached.
    pub(crate) fn permit(&self, peer: IpAddr, drain: &Drain) -> Option<ConnectionPermit> {
        let table = &self.0;
        if table.open.fetch_add(1, Relaxed) >= table.max.load(Relaxed) {
            table.open.fetch_sub(1, Relaxed);
            table.refused_full.fetch_add(1, Relaxed);
            return None;
        }
        let client = client_of(peer);
        if !table.add(client) {
            table.open.fetch_sub(1, Relaxed);
            return None;
        }
        table.accepted.fetch_add(1, Relaxed);
        Some(ConnectionPermit { table: Arc::clone(table), client, _held: drain.hold() })
    }
}

impl ConnectionTable {
    /// Counts a connection of `client`, unless it has too many.
    fn add(&self, client: IpAddr) -> bool {
        let mut clients =
            self.clients[shard(client)].lock().unwrap_or_else(PoisonError::into_inner);
        let count = clients.entry(client).or_insert(0);
        if *count as usize >= self.per_client_max.load(Relaxed) {
            if *count == 0 {
                clients.remove(&client);
            }
            self.refused_client.fetch_add(1, Relaxed);
            return false;
        }
        *count += 1;
        true
    }

    fn remove(&self, client: IpAddr) {
        let mut clients =
            self.clients[shard(client)].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = clients.get_mut(&client) {
            *count -= 1;
            if *count == 0 {
                // Only clients with open connections are in the table: the greatest `max` so far
                // bounds it.
                clients.remove(&client);
            }
        }
    }
}

impl ConnectionPermit {
    /// Adds what has moved over the connection.
    pub(crate) fn count_bytes(&self, moved: MovedBytes) {
        if moved.received > 0 {
            self.table.received_bytes.fetch_add(moved.received, Relaxed);
        }
        if moved.sent > 0 {
            self.table.sent_bytes.fetch_add(moved.sent, Relaxed);
        }
    }

    /// Counts from now on as a connection of `peer`, unless that has too many.
    pub(crate) fn reassign(&mut self, peer: IpAddr) -> bool {
        let client = client_of(peer);
        let may = client == self.client || self.table.add(client);
        if may && client != self.client {
            self.table.remove(self.client);
            self.client = client;
        }
        may
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.table.open.fetch_sub(1, Relaxed);
        self.table.remove(self.client);
    }
}

fn shard(client: IpAddr) -> usize {
    let folded = match client {
        IpAddr::V4(address) => u64::from(address.to_bits()),
        IpAddr::V6(address) => (address.to_bits() >> 64) as u64,
    };
    // Fibonacci hashing: the high bits of the product depend on all of the address.
    (folded.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 60) as usize % SHARDS
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn a_permit_given_up_is_free_again() {
        let (limits, drain) = (ConnectionLimits::new(3, 2), Drain::new());
        let permit = |text: &str| limits.permit(text.parse().unwrap(), &drain);
        let first = permit("192.0.2.1").unwrap();
        let mut second = permit("192.0.2.1").unwrap();
        assert!(permit("192.0.2.1").is_none());
        let _third = permit("192.0.2.2").unwrap();
        assert!(permit("192.0.2.3").is_none());
        assert_eq!(drain.open(), 3);
        drop(first);
        let mut again = permit("192.0.2.1").unwrap();
        let counts = limits.counts();
        assert_eq!((counts.open, counts.accepted), (3, 4));
        assert_eq!((counts.refused_client, counts.refused_full), (1, 1));
        // Behind a proxy it turns out to be somebody else's.
        assert!(again.reassign("192.0.2.2".parse().unwrap()));
        assert!(again.reassign("192.0.2.2".parse().unwrap()));
        assert!(!second.reassign("192.0.2.2".parse().unwrap()));
        assert!(second.reassign("192.0.2.1".parse().unwrap()));
        drop((second, again));
        assert_eq!(drain.open(), 1);
    }

    #[test]
    fn caps_that_change_count_for_what_comes() {
        let (limits, drain) = (ConnectionLimits::new(2, 2), Drain::new());
        let permit = |text: &str| limits.permit(text.parse().unwrap(), &drain);
        let _held = [permit("192.0.2.1").unwrap(), permit("192.0.2.1").unwrap()];
        let listener = limits.clone();
        listener.set(3, 1);
        assert_eq!(limits.counts().open, 2, "what is open stays");
        assert!(permit("192.0.2.1").is_none());
        let _other = permit("192.0.2.2").unwrap();
        assert!(permit("192.0.2.3").is_none());
        let counts = limits.counts();
        assert_eq!((counts.refused_client, counts.refused_full), (1, 1));
    }
}
