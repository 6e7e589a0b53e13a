//! Purges since a fetch began: its answer may be older than the purge, and is not kept as
//! if it came later.
//!
//! A purge by key marks the fetches of that key; there are as many marks as fetches. Purges by
//! pattern come from people, and the last few are remembered. Called by the store.

use crate::memory::FiledHead;
use disk_store::{CacheKey, KeyHash, Purge, PurgeStrength};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Purges by pattern that are remembered for the sake of fetches that began before them. Of a fetch
/// that saw more come, nothing is stored.
const PATTERNS_MAX: usize = 64;
/// Parts of the table of fetches, so that two cores seldom meet.
const PARTS: usize = 16;

const NOT_PURGED: u8 = 0;
const SOFT: u8 = 1;
const HARD: u8 = 2;

/// The purges that came lately.
#[derive(Default)]
pub(super) struct RecentPurges {
    patterns: Mutex<PurgePatterns>,
    /// The marks of all fetches under way.
    fetches: [Mutex<HashMap<KeyHash, Vec<Arc<AtomicU8>>>>; PARTS],
}

#[derive(Default)]
struct PurgePatterns {
    /// All that ever came.
    count: u64,
    last: VecDeque<(Purge, PurgeStrength)>,
}

/// A fetch, or a look at the disk, that hears of purges until it is dropped.
pub(super) struct PurgeWatch {
    purges: Arc<RecentPurges>,
    hash: KeyHash,
    mark: Arc<AtomicU8>,
    /// Purges by pattern before it.
    patterns: u64,
}

impl RecentPurges {
    /// From now on.
    pub(super) fn watch(self: &Arc<Self>, key: &CacheKey) -> PurgeWatch {
        let (hash, mark) = (key.hash(), Arc::new(AtomicU8::new(NOT_PURGED)));
        self.part(hash).entry(hash).or_default().push(Arc::clone(&mark));
        let patterns = lock(&self.patterns).count;
        PurgeWatch { purges: Arc::clone(self), hash, mark, patterns }
    }

    /// True if anything is fetched under a hash.
    pub(super) fn is_watched(&self, hash: KeyHash) -> bool {
        self.part(hash).contains_key(&hash)
    }

    /// Tells all who are concerned.
    pub(super) fn note(&self, what: &Purge, strength: PurgeStrength) {
        if let Purge::Key(hash) = what {
            let deep = match strength {
                PurgeStrength::Soft => SOFT,
                PurgeStrength::Hard => HARD,
            };
            for mark in self.part(*hash).get(hash).into_iter().flatten() {
                mark.fetch_max(deep, Ordering::SeqCst);
            }
            return;
        }
        let mut patterns = lock(&self.patterns);
        patterns.count += 1;
        patterns.last.push_back((what.clone(), strength));
        if patterns.last.len() > PATTERNS_MAX {
            patterns.last.pop_front();
        }
    }

    fn part(&self, hash: KeyHash) -> MutexGuard<'_, HashMap<KeyHash, Vec<Arc<AtomicU8>>>> {
        lock(&self.fetches[(hash.0 >> 64) as usize % PARTS])
    }
}

impl PurgeWatch {
    /// The deepest purge since then that concerns a head.
    pub(super) fn purged(&self, filed: &FiledHead) -> Option<PurgeStrength> {
        let by_key = match self.mark.load(Ordering::SeqCst) {
            NOT_PURGED => None,
            SOFT => Some(PurgeStrength::Soft),
            _ => Some(PurgeStrength::Hard),
        };
        let patterns = lock(&self.purges.patterns);
        let came = (patterns.count - self.patterns) as usize;
        if came > patterns.last.len() {
            return Some(PurgeStrength::Hard);
        }
        let last = patterns.last.iter().rev().take(came);
        let concerning = last.filter(|(what, _)| holds_filed(what, filed));
        concerning.map(|(_, strength)| *strength).max().max(by_key)
    }
}

impl Drop for PurgeWatch {
    fn drop(&mut self) {
        let mut part = self.purges.part(self.hash);
        if let Some(marks) = part.get_mut(&self.hash) {
            marks.retain(|mark| !Arc::ptr_eq(mark, &self.mark));
            if marks.is_empty() {
                part.remove(&self.hash);
            }
        }
    }
}

/// True if a purge concerns what has this head.
pub(super) fn holds_filed(what: &Purge, filed: &FiledHead) -> bool {
    holds(what, filed.key(), &filed.terms().tags)
}

/// True if it may concern what is asked for under a key, and is not known yet.
pub(super) fn may_hold(what: &Purge, key: &CacheKey) -> bool {
    matches!(what, Purge::Tag(_)) || holds(what, key, &[])
}

fn holds(what: &Purge, key: &CacheKey, tags: &[Box<str>]) -> bool {
    match what {
        Purge::Key(hash) => key.hash() == *hash,
        Purge::Prefix(it) => key.url().starts_with(it),
        Purge::Host(it) => host_of(key.url()).is_some_and(|host| host == it),
        Purge::Tag(it) => tags.iter().any(|tag| **tag == **it),
        Purge::Everything => true,
    }
}

/// The host of a canonical URL, without user and port.
pub fn host_of(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    match host.find(']') {
        Some(end) => host.get(..=end),
        None => host.split(':').next(),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing under these locks leaves what they guard half changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_a_url_is_without_user_and_port() {
        for (url, host) in [
            ("http://a.example/x", Some("a.example")),
            ("https://me@a.example:8443", Some("a.example")),
            ("http://[::1]:80/a@b", Some("[::1]")),
            ("http://a.example?x=@b", Some("a.example")),
            ("a.example/x", None),
        ] {
            assert_eq!(host_of(url), host, "{url}");
        }
    }
}
