//! Servers that serve the same, taken in turn, those that fail set aside for a while.
//!
//! A server is judged by what real requests meet: one that takes no connection is left alone for
//! 1 s, then 2 s, up to 30 s, and is back with the first answer. It opens no connection itself; the
//! request path picks, tries and reports.

use crate::settings::{PoolSettings, SERVERS_MAX};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use upstream::origins::{Host, Origin};
use vocab::Now;

/// Longest time a failing server is left alone.
const ASIDE_MAX_MS: u64 = 30_000;

/// The servers of one pool.
#[derive(Debug)]
pub(crate) struct Pool {
    servers: Vec<Server>,
    next: AtomicUsize,
}

#[derive(Debug)]
struct Server {
    origin: Origin,
    failures: AtomicU32,
    aside_until_ms: AtomicU64,
}

/// The servers that one request has tried.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tried([u64; SERVERS_MAX / 64]);

impl Tried {
    fn has(&self, index: usize) -> bool {
        self.0[index / 64] & (1 << (index % 64)) != 0
    }

    fn add(&mut self, index: usize) {
        self.0[index / 64] |= 1 << (index % 64);
    }
}

impl Pool {
    /// A pool of settings that were checked; what is no server is left out, as are those over the
    /// cap.
    pub(crate) fn new(settings: &PoolSettings) -> Self {
        let servers = settings
            .servers
            .iter()
            .filter_map(|text| text.parse().ok())
            .take(SERVERS_MAX)
            .map(|origin| Server {
                origin,
                failures: AtomicU32::new(0),
                aside_until_ms: AtomicU64::new(0),
            })
            .collect();
        Self { servers, next: AtomicUsize::new(0) }
    }

    /// The next server that was not tried and is not set aside. Where all are set aside, the one
    /// whose time ends first is tried, once: a wrong guess costs less than a refusal.
    pub(crate) fn pick(&self, tried: &mut Tried, now: Now) -> Option<usize> {
        let count = self.servers.len();
        let turn = self.next.fetch_add(1, Relaxed);
        let untouched = tried.0 == [0; SERVERS_MAX / 64];
        let picked = (0..count)
            .map(|step| (turn + step) % count)
            .find(|&index| !tried.has(index) && !self.servers[index].is_aside(now))
            .or_else(|| {
                let soonest = (0..count)
                    .min_by_key(|&index| self.servers[index].aside_until_ms.load(Relaxed));
                soonest.filter(|_| untouched)
            })?;
        tried.add(picked);
        Some(picked)
    }

    /// Whether a server stands there.
    pub(crate) fn stands_at(&self, origin: &Origin) -> bool {
        self.servers.iter().any(|server| server.origin == *origin)
    }

    /// Whether a server has this host.
    pub(crate) fn has_host(&self, host: &Host) -> bool {
        self.servers.iter().any(|server| server.origin.host == *host)
    }

    /// Where a server stands.
    pub(crate) fn origin(&self, server: usize) -> &Origin {
        &self.servers[server].origin
    }

    /// A server took no connection.
    pub(crate) fn failed(&self, server: usize, now: Now) {
        let server = &self.servers[server];
        let before = server.failures.fetch_add(1, Relaxed);
        let aside =
            1_000_u64.checked_shl(before.min(16)).map_or(ASIDE_MAX_MS, |ms| ms.min(ASIDE_MAX_MS));
        server.aside_until_ms.store(now.mono_ms + aside, Relaxed);
    }

    /// A server answered.
    pub(crate) fn answered(&self, server: usize) {
        let server = &self.servers[server];
        // Reading first keeps the line shared among cores while all is well.
        if server.failures.load(Relaxed) != 0 {
            server.failures.store(0, Relaxed);
            server.aside_until_ms.store(0, Relaxed);
        }
    }
}

impl Server {
    fn is_aside(&self, now: Now) -> bool {
        self.aside_until_ms.load(Relaxed) > now.mono_ms
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    fn pool(count: usize) -> Pool {
        let servers = (0..count).map(|index| format!("http://10.0.0.{}", index + 1)).collect();
        Pool::new(&PoolSettings { servers, ..Default::default() })
    }

    fn at(mono_ms: u64) -> Now {
        Now { unix_ms: 0, mono_ms }
    }

    fn pick(pool: &Pool, now: Now) -> usize {
        pool.pick(&mut Tried::default(), now).unwrap()
    }

    #[test]
    fn servers_are_taken_in_turn() {
        let pool = pool(3);
        let turns: Vec<_> = (0..6).map(|_| pick(&pool, at(0))).collect();
        assert_eq!(turns, [0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn a_failing_server_is_set_aside_longer_each_time_and_comes_back() {
        let pool = pool(2);
        let mut now = 0;
        for aside in [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000] {
            pool.failed(0, at(now));
            assert!((0..4).all(|_| pick(&pool, at(now + aside - 1)) == 1));
            now += aside;
            assert!((0..4).any(|_| pick(&pool, at(now)) == 0));
        }
        pool.answered(0);
        pool.failed(0, at(now));
        assert!((0..4).any(|_| pick(&pool, at(now + 1_000)) == 0));
    }

    #[test]
    fn one_request_tries_each_server_once() {
        let pool = pool(3);
        let mut tried = Tried::default();
        let mut picked: Vec<_> = std::iter::from_fn(|| pool.pick(&mut tried, at(0))).collect();
        picked.sort_unstable();
        assert_eq!(picked, [0, 1, 2]);
    }

    #[test]
    fn where_all_are_set_aside_the_soonest_is_tried_once() {
        let pool = pool(2);
        pool.failed(1, at(0));
        pool.failed(0, at(500));
        let mut tried = Tried::default();
        assert_eq!(pool.pick(&mut tried, at(600)), Some(1));
        assert_eq!(pool.pick(&mut tried, at(600)), None);
    }

    #[test]
    fn an_empty_pool_has_nobody() {
        assert_eq!(pool(0).pick(&mut Tried::default(), at(0)), None);
    }
}
