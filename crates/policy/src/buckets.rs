//! A sorted array of hashes with an index on their top bits: where equal hashes stand, in two
//! looks.
//!
//! Filled to the last slot, never changed after it was built. It knows nothing of what the hashes
//! stand for. Used by the table of names and the indexes of patterns.

use crate::places::place_of;
use std::ops::Range;

/// Hashes on average from four to eight to a bucket: one cache line of them.
const BUCKET_HASHES: usize = 4;

/// An index on the top bits of hashes that stand elsewhere, in ascending order.
#[derive(Debug, Default)]
pub(crate) struct BucketDirectory {
    /// For each bucket where it begins (lower half) and a bit for each of its hashes (upper half),
    /// then where the last one ends. The bits settle most misses by this word alone: the hashes of
    /// a million names are seldom in a cache, their index mostly is.
    words: Vec<u64>,
    /// How far a hash is shifted to give its bucket.
    shift: u32,
}

impl BucketDirectory {
    /// An index of so many hashes on average, or up to twice as many, to a bucket.
    pub(crate) fn build(hashes: impl ExactSizeIterator<Item = u64>, per_bucket: usize) -> Self {
        let count = hashes.len();
        let bits = (count / per_bucket).max(1).ilog2();
        let shift = 64 - bits;
        let mut words = Vec::with_capacity((1 << bits) + 1);
        let mut hashes = hashes.enumerate().peekable();
        for bucket in 0..1u64 << bits {
            let mut word = hashes.peek().map_or(count, |(at, _)| *at) as u64;
            while let Some((_, hash)) = hashes.next_if(|(_, it)| bucket_of(*it, shift) == bucket) {
                word |= 1 << filter_bit(hash);
            }
            words.push(word);
        }
        words.push(count as u64);
        Self { words, shift }
    }

    /// Returns what is known of a hash without looking at the hashes themselves.
    #[inline]
    pub(crate) fn look(&self, hash: u64) -> BucketLook {
        let bucket = bucket_of(hash, self.shift) as usize;
        BucketLook(self.words.get(bucket).copied().unwrap_or(0))
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> u64 {
        (self.words.capacity() * 8) as u64
    }
}

/// The word of a hash's bucket.
#[derive(Clone, Copy, Default)]
pub(crate) struct BucketLook(u64);

impl BucketLook {
    /// Where the bucket begins; none if the hash is surely not there.
    #[inline]
    pub(crate) fn start(self, hash: u64) -> Option<usize> {
        (self.0 >> filter_bit(hash) & 1 == 1).then_some(self.0 as u32 as usize)
    }
}

/// Sorted hashes and their index.
#[derive(Debug, Default)]
pub(crate) struct HashBuckets {
    directory: BucketDirectory,
    hashes: Vec<u64>,
}

impl HashBuckets {
    /// Takes hashes in ascending order.
    pub(crate) fn build(hashes: Vec<u64>) -> Self {
        Self { directory: BucketDirectory::build(hashes.iter().copied(), BUCKET_HASHES), hashes }
    }

    /// Takes hashes that somebody else stored: none if they are not in order.
    pub(crate) fn from_stored(hashes: Vec<u64>) -> Option<Self> {
        hashes.is_sorted().then(|| Self::build(hashes))
    }

    /// Where this hash stands, if it does.
    #[inline]
    pub(crate) fn find(&self, hash: u64) -> Range<usize> {
        let Some(start) = self.directory.look(hash).start(hash) else { return 0..0 };
        let hashes = &self.hashes[start..];
        let before = hashes.iter().take_while(|other| **other < hash).count();
        let equal = hashes[before..].iter().take_while(|other| **other == hash).count();
        start + before..start + before + equal
    }

    pub(crate) fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    pub(crate) fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> u64 {
        self.directory.bytes() + (self.hashes.capacity() * 8) as u64
    }
}

#[inline]
fn bucket_of(hash: u64, shift: u32) -> u64 {
    hash.checked_shr(shift).unwrap_or(0)
}

/// The bit of a hash in the upper half of its bucket's word. Buckets are told apart by the top bits
/// of a hash, so this takes the lowest.
#[inline]
fn filter_bit(hash: u64) -> u32 {
    32 + (hash & 31) as u32
}

/// Hashes that each stand for some numbers: those of rules.
#[derive(Debug, Default)]
pub(crate) struct MultiHashes {
    pub(crate) index: HashBuckets,
    pub(crate) values: Vec<u32>,
}

impl MultiHashes {
    pub(crate) fn build(mut entries: Vec<(u64, u32)>) -> Self {
        entries.sort_unstable();
        entries.dedup();
        let values = entries.iter().map(|(_, value)| *value).collect();
        Self { index: HashBuckets::build(entries.iter().map(|(hash, _)| *hash).collect()), values }
    }

    /// The numbers that this hash stands for.
    #[inline]
    pub(crate) fn find(&self, hash: u64) -> &[u32] {
        &self.values[self.index.find(hash)]
    }

    /// Where its parts lie in memory.
    pub(crate) fn places(&self) -> [Range<usize>; 3] {
        let HashBuckets { directory, hashes } = &self.index;
        [place_of(&directory.words), place_of(hashes), place_of(&self.values)]
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.index.bytes() + (self.values.capacity() * 4) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hash_is_found_and_no_other() {
        for count in [0u64, 1, 2, 7, 8, 9, 1000] {
            let hash = |n: u64| (n / 2).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let entries: Vec<_> = (0..count).map(|n| (hash(n), n as u32)).collect();
            let multi = MultiHashes::build(entries);
            for n in 0..count {
                assert!(multi.find(hash(n)).contains(&(n as u32)), "{n} of {count}");
                assert!(multi.find(hash(n)).len() <= 2);
            }
            assert!(multi.find(12345).is_empty());
            assert!(multi.find(u64::MAX).is_empty());
        }
    }

    #[test]
    fn stored_hashes_out_of_order_are_refused() {
        assert!(HashBuckets::from_stored(vec![1, 3, 2]).is_none());
        assert!(HashBuckets::from_stored(vec![1, 2, 2, 3]).is_some());
    }
}
