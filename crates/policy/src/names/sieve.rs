//! A few bits of each hash, by which most names that are in no list are known without a look at the
//! table.
//!
//! A Bloom filter in words of 64 bits: all bits of a hash stand in one word, so that a look is one
//! read. It never denies what was added. Used by the table of names alone.

use super::records::{RecordArray, RecordWriter};
use std::ops::Range;

/// Hashes to a word on average: 12.8 bits each, by which 98 of 100 strangers are told. Five million
/// names are 7.6 MiB of words.
const HASHES_PER_WORD: usize = 5;
/// Bits of a word, in bits of a hash.
const BIT_BITS: u32 = 6;

/// The words.
#[derive(Debug, Default)]
pub(super) struct NameSieve(RecordArray<8>);

/// Words on their way into a sieve.
pub(super) struct SieveBuilder(RecordWriter<8>);

impl SieveBuilder {
    /// An empty one for so many hashes.
    pub(super) fn of(count: usize) -> Self {
        let words = count.div_ceil(HASHES_PER_WORD);
        let mut writer = RecordWriter::of(words);
        writer.push_empty(words);
        Self(writer)
    }

    pub(super) fn add(&mut self, hash: u64) {
        let at = place(hash, self.0.len() as u64);
        if let Some(word) = self.0.get_mut(at) {
            *word = (u64::from_le_bytes(*word) | bits(hash)).to_le_bytes();
        }
    }

    pub(super) fn finish(self) -> NameSieve {
        NameSieve(self.0.finish())
    }
}

impl NameSieve {
    /// The word of a hash.
    #[inline]
    pub(super) fn word(&self, hash: u64) -> u64 {
        let words = self.0.all();
        words.get(place(hash, words.len() as u64)).map_or(0, |word| u64::from_le_bytes(*word))
    }

    /// True if the hash may have been added, by its word.
    #[inline]
    pub(super) fn may_contain(word: u64, hash: u64) -> bool {
        let bits = bits(hash);
        word & bits == bits
    }

    /// The words, as they are stored.
    pub(super) fn records(&self) -> &RecordArray<8> {
        &self.0
    }

    /// A sieve of these words.
    pub(super) fn of(words: RecordArray<8>) -> Self {
        Self(words)
    }

    /// Where it lies in memory.
    pub(super) fn place(&self) -> Range<usize> {
        self.0.place()
    }
}

/// The place of a hash among so many: the order of the places is that of the hashes.
#[inline]
pub(super) fn place(hash: u64, places: u64) -> usize {
    ((u128::from(hash) * u128::from(places)) >> 64) as usize
}

/// Three bits, one of them perhaps twice. Words are told apart by the top bits of a hash, so these
/// are its lowest.
#[inline]
fn bits(hash: u64) -> u64 {
    let bit = |which: u32| 1 << (hash >> (which * BIT_BITS) & 63);
    bit(0) | bit(1) | bit(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::split_mix;

    #[test]
    fn nothing_added_is_denied_and_few_strangers_pass() {
        let mut word = 5;
        let hashes: Vec<u64> = (0..100_000).map(|_| split_mix(&mut word)).collect();
        let mut builder = SieveBuilder::of(hashes.len());
        for hash in &hashes {
            builder.add(*hash);
        }
        let sieve = builder.finish();
        let passes = |hash: u64| NameSieve::may_contain(sieve.word(hash), hash);
        assert!(hashes.iter().all(|hash| passes(*hash)));
        let strangers = (0..100_000).filter(|_| passes(split_mix(&mut word))).count();
        assert!(strangers < 3_000, "{strangers} of 100,000");
        assert!(!NameSieve::may_contain(NameSieve::default().word(7), 7));
    }
}
