//! A sorted array of hashes with an index on their top bits: where equal hashes stand, in two looks.
//!
//! Filled to the last slot (a hash is eight bytes and its share of the index one), never changed
//! after it was built. It knows nothing of what the hashes stand for. Used by the table of names
//! and the indexes of patterns.

use std::ops::Range;

/// Hashes on average from four to eight to a bucket: one cache line of them.
const BUCKET_HASHES: usize = 4;

/// The sorted hashes and their index.
#[derive(Debug, Default)]
pub(crate) struct Buckets {
    /// For each bucket where it begins (lower half) and a bit for each of its hashes (upper half),
    /// then where the last one ends. The bits settle five of six misses by this word alone: the
    /// hashes of a million names are seldom in a cache, their index mostly is.
    index: Vec<u64>,
    hashes: Vec<u64>,
    /// How far a hash is shifted to give its bucket.
    shift: u32,
}

impl Buckets {
    /// Takes hashes in ascending order.
    pub(crate) fn build(hashes: Vec<u64>) -> Self {
        let bits = (hashes.len() / BUCKET_HASHES).max(1).ilog2();
        let shift = 64 - bits;
        let mut index = Vec::with_capacity((1 << bits) + 1);
        let mut at = 0;
        for bucket in 0..1u64 << bits {
            let mut word = at as u64;
            while at < hashes.len() && bucket_of(hashes[at], shift) == bucket {
                word |= 1 << filter_bit(hashes[at]);
                at += 1;
            }
            index.push(word);
        }
        index.push(at as u64);
        Self { index, hashes, shift }
    }

    /// Takes hashes that somebody else stored: none if they are not in order.
    pub(crate) fn from_stored(hashes: Vec<u64>) -> Option<Self> {
        hashes.is_sorted().then(|| Self::build(hashes))
    }

    /// Where this hash stands, if it does.
    #[inline]
    pub(crate) fn find(&self, hash: u64) -> Range<usize> {
        let bucket = bucket_of(hash, self.shift) as usize;
        let Some(&[word, next]) = self.index.get(bucket..bucket + 2) else { return 0..0 };
        if word >> filter_bit(hash) & 1 == 0 {
            return 0..0;
        }
        let (start, end) = (word as u32 as usize, next as u32 as usize);
        let hashes = &self.hashes[start..end];
        let Some(first) = hashes.iter().position(|other| *other == hash) else { return 0..0 };
        let equal = hashes[first..].iter().take_while(|other| **other == hash).count();
        start + first..start + first + equal
    }

    pub(crate) fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    pub(crate) fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> u64 {
        ((self.hashes.capacity() + self.index.capacity()) * 8) as u64
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
pub(crate) struct Multi {
    pub(crate) index: Buckets,
    pub(crate) values: Vec<u32>,
}

impl Multi {
    pub(crate) fn build(mut entries: Vec<(u64, u32)>) -> Self {
        entries.sort_unstable();
        entries.dedup();
        let values = entries.iter().map(|(_, value)| *value).collect();
        Self { index: Buckets::build(entries.iter().map(|(hash, _)| *hash).collect()), values }
    }

    /// The numbers that this hash stands for.
    #[inline]
    pub(crate) fn find(&self, hash: u64) -> &[u32] {
        &self.values[self.index.find(hash)]
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
            let multi = Multi::build(entries);
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
        assert!(Buckets::from_stored(vec![1, 3, 2]).is_none());
        assert!(Buckets::from_stored(vec![1, 2, 2, 3]).is_some());
    }
}
