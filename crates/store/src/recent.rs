//! Which keys were here lately: fingerprints with a stamp, eight bytes each, in a table that never
//! grows.
//!
//! Where a row is full the oldest goes. It may be wrong about one key in a thousand million, so
//! nobody may rely on it for more than speed. Called by the shards of the memory tier (what was
//! evicted lately) and by the collapser (keys whose answers cannot be shared).

/// Fingerprints in one row.
const ROW: usize = 4;

/// Fingerprints of keys, each with a stamp: any clock that counts up.
pub(crate) struct RecentKeys {
    /// Fingerprint above, stamp below; 0 is an empty place.
    slots: Box<[u64]>,
}

impl RecentKeys {
    /// A table for about `count` keys; rounded up to a power of two.
    pub(crate) fn new(count: usize) -> Self {
        Self { slots: vec![0; Self::slots(count)].into() }
    }

    /// Bytes it takes for `count` keys.
    pub(crate) fn cost(count: usize) -> u64 {
        (Self::slots(count) * size_of::<u64>()) as u64
    }

    fn slots(count: usize) -> usize {
        count.max(ROW).next_power_of_two()
    }

    fn row(&mut self, hash: u128) -> &mut [u64] {
        let rows = self.slots.len() / ROW;
        // Other bits than those that choose a shard, a place in a map, or make the fingerprint.
        let first = ((hash >> 32) as usize & (rows - 1)) * ROW;
        &mut self.slots[first..first + ROW]
    }

    /// Never 0.
    const fn fingerprint(hash: u128) -> u64 {
        (hash >> 96) as u64 | 1
    }

    /// Notes a key at a moment.
    pub(crate) fn note(&mut self, hash: u128, now: u32) {
        let new = Self::fingerprint(hash) << 32 | u64::from(now);
        let age = |place: u64| match place {
            0 => u32::MAX,
            place if place >> 32 == new >> 32 => u32::MAX,
            place => now.wrapping_sub(place as u32),
        };
        if let Some(oldest) = self.row(hash).iter_mut().max_by_key(|place| age(**place)) {
            *oldest = new;
        }
    }

    /// True if a key was noted at most `span` before `now`.
    pub(crate) fn contains(&mut self, hash: u128, now: u32, span: u32) -> bool {
        self.find(hash, now, span).is_some()
    }

    /// The same; it is forgotten by this.
    pub(crate) fn remove(&mut self, hash: u128, now: u32, span: u32) -> bool {
        self.find(hash, now, span).is_some_and(|place| std::mem::take(place) != 0)
    }

    fn find(&mut self, hash: u128, now: u32, span: u32) -> Option<&mut u64> {
        self.row(hash).iter_mut().find(|place| {
            **place >> 32 == Self::fingerprint(hash) && now.wrapping_sub(**place as u32) <= span
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_known_until_they_are_old_or_displaced() {
        let mut recent = RecentKeys::new(64);
        let hash = |number: u128| number << 97 | number << 33;
        (1..=20).for_each(|number| recent.note(hash(number), number as u32));
        assert!(recent.contains(hash(20), 21, 8) && recent.remove(hash(20), 21, 8));
        assert!(!recent.remove(hash(20), 21, 8), "forgotten");
        assert!(!recent.contains(hash(5), 21, 8) && recent.contains(hash(5), 21, 64), "long ago");
        assert!(!recent.contains(hash(21), 21, 64), "never noted");
        (100..300).for_each(|number| recent.note(hash(number), number as u32));
        assert!(recent.contains(hash(299), 300, 64) && !recent.contains(hash(6), 300, 1000));
        assert_eq!(RecentKeys::cost(60), 512);
    }

    #[test]
    fn one_key_takes_one_place() {
        let mut recent = RecentKeys::new(4);
        (0..100).for_each(|now| recent.note(7, now));
        recent.note(9 << 96, 100);
        assert!(recent.contains(7, 100, 1) && recent.contains(9 << 96, 100, 1));
    }
}
