//! Why the last answers for keys were not stored, for `tidegate why`: eight bytes each, in a table
//! that never grows.
//!
//! Each key has one place; another key that comes to it later takes it. It may be wrong about one
//! key in some hundred million, so nobody may rely on it for more than telling people. Atomics in
//! place of locks: written where an answer is not stored, read where somebody asks, and never by a
//! hit. Held by the store.

use crate::budget::{Budget, ByteCharge, ByteClass};
use disk_store::KeyHash;
use http_freshness::NotStored;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use vocab::Now;

/// Places at most.
const PLACES_MAX: u64 = 4096;
/// One place for so many bytes of the store's memory.
const PLACE_PART: u64 = 4 << 10;
/// Of a place, from below: the reason's number, then the second, then the key's fingerprint.
const CODE_BITS: u32 = 8;
const SECS_BITS: u32 = 28;
const SECS_MASK: u64 = (1 << SECS_BITS) - 1;

/// The table.
pub(crate) struct UncacheableTable {
    /// 0 is an empty place: no reason has the number 0.
    slots: Box<[AtomicU64]>,
    _table: ByteCharge,
}

impl UncacheableTable {
    /// An empty one.
    pub(crate) fn new(budget: &Arc<Budget>) -> Self {
        let count = (budget.limit() / PLACE_PART).clamp(1, PLACES_MAX);
        Self {
            slots: (0..count).map(|_| AtomicU64::new(0)).collect(),
            _table: budget.charge(ByteClass::Heads, count * size_of::<AtomicU64>() as u64),
        }
    }

    /// Notes why an answer for this key is not stored.
    pub(crate) fn note(&self, hash: KeyHash, why: NotStored, now: Now) {
        let note = (Self::fingerprint(hash) << SECS_BITS) | Self::secs(now);
        self.slot(hash).store((note << CODE_BITS) | u64::from(why.code()), Relaxed);
    }

    /// An answer for this key is stored: what was noted before is over.
    pub(crate) fn forget(&self, hash: KeyHash) {
        let place = self.slot(hash);
        if place.load(Relaxed) >> (CODE_BITS + SECS_BITS) == Self::fingerprint(hash) {
            place.store(0, Relaxed);
        }
    }

    /// Why the last answer for this key was not stored, if that is remembered, and how many seconds
    /// ago.
    pub(crate) fn find(&self, hash: KeyHash, now: Now) -> Option<(NotStored, u64)> {
        let found = self.slot(hash).load(Relaxed);
        if found >> (CODE_BITS + SECS_BITS) != Self::fingerprint(hash) {
            return None;
        }
        let then = (found >> CODE_BITS) & SECS_MASK;
        Some((NotStored::from_code(found as u8)?, Self::secs(now).saturating_sub(then)))
    }

    fn slot(&self, hash: KeyHash) -> &AtomicU64 {
        // Other bits than those that make the fingerprint.
        &self.slots[(hash.0 >> 32) as usize % self.slots.len()]
    }

    /// Returns what is left above the second.
    const fn fingerprint(hash: KeyHash) -> u64 {
        (hash.0 >> (64 + CODE_BITS + SECS_BITS)) as u64
    }

    const fn secs(now: Now) -> u64 {
        // Wraps after eight years without a restart.
        (now.mono_ms / 1000) & SECS_MASK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Now {
        Now { unix_ms: 0, mono_ms: secs * 1000 }
    }

    /// `place` is its place in a table of 4096; `print` tells it from others there.
    fn hash(place: u128, print: u128) -> KeyHash {
        KeyHash(print << 100 | place << 32)
    }

    #[test]
    fn every_reason_is_found_with_its_age_until_it_is_forgotten() {
        let uncacheable = UncacheableTable::new(&Budget::new(1 << 30));
        for (place, why) in (1..).zip(NotStored::ALL) {
            uncacheable.note(hash(place, place), *why, at(100));
        }
        for (place, why) in (1..).zip(NotStored::ALL) {
            assert_eq!(uncacheable.find(hash(place, place), at(105)), Some((*why, 5)));
            uncacheable.forget(hash(place, place));
            assert_eq!(uncacheable.find(hash(place, place), at(105)), None);
        }
    }

    #[test]
    fn a_place_is_the_last_keys_and_no_other_is_taken_for_it() {
        let uncacheable = UncacheableTable::new(&Budget::new(1 << 30));
        assert_eq!(uncacheable.find(hash(7, 0), at(1)), None, "an empty place is nobody's");
        uncacheable.note(hash(7, 1), NotStored::NoStore, at(1));
        assert_eq!(uncacheable.find(hash(7, 2), at(1)), None);
        uncacheable.note(hash(7, 2), NotStored::Private, at(2));
        assert_eq!(uncacheable.find(hash(7, 1), at(3)), None, "the older one gave way");
        uncacheable.forget(hash(7, 1));
        assert_eq!(uncacheable.find(hash(7, 2), at(3)), Some((NotStored::Private, 1)));
    }

    #[test]
    fn a_small_memory_has_a_small_table_that_is_counted() {
        for (memory, places) in [(256 << 10, 64), (16 << 20, 4096), (1 << 30, 4096)] {
            let budget = Budget::new(memory);
            let uncacheable = UncacheableTable::new(&budget);
            assert_eq!(uncacheable.slots.len(), places);
            assert_eq!(budget.held(ByteClass::Heads), places as u64 * 8);
        }
    }
}
