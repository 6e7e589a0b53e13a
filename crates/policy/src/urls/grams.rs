//! Four bytes in a row, by which patterns are found that hold no whole token: `-ad-banner`,
//! `/adx.`.
//!
//! A URL of a thousand bytes has a thousand places where such a pattern may begin, and to hold some
//! hundreds of patterns against each costs more than all else together. So each is filed under four
//! bytes that it must hold, and a URL is read once: a sieve of a few kilobytes settles nearly every
//! place. Used when an index is built and when one is asked.

use std::collections::HashMap;

/// Bytes of a gram.
const GRAM_BYTES: usize = 4;
/// Bits of the sieve for each gram: one place of so many is looked up in vain.
const BITS_A_GRAM: usize = 64;
/// Bounds of the sieve, as powers of two: from 512 bytes to 128 KiB.
const SIEVE_BITS: std::ops::RangeInclusive<u32> = 12..=20;
/// Slots of the memory of grams that a URL has shown already.
const SEEN_SLOTS: usize = 64;
/// Texts that stand in so many URLs that what is filed under a piece of one is tried for most.
const COMMON: [&str; 16] = [
    "https://www.",
    "http://",
    ".com/",
    ".net/",
    ".org/",
    ".html",
    ".php?",
    ".jpg",
    ".jpeg",
    ".png",
    ".gif",
    ".css",
    ".js?",
    "/images/",
    "/static/",
    "/assets/",
];
const COMMON_COUNT: u32 = 1_000_000;

/// Frequency of each gram in patterns.
#[derive(Default)]
pub(crate) struct GramHistogram(HashMap<u64, u32>);

impl GramHistogram {
    pub(crate) fn add(&mut self, pattern: &[u8]) {
        of_pattern(pattern, |hash| *self.0.entry(hash).or_default() += 1);
    }

    /// The rarest of a pattern's grams; none if it has none.
    pub(crate) fn rarest(&self, pattern: &[u8]) -> Option<u64> {
        let mut best: Option<(u32, u64)> = None;
        of_pattern(pattern, |hash| {
            let is_common = COMMON.iter().any(|text| {
                let mut windows = text.as_bytes().windows(GRAM_BYTES);
                windows.any(|window| hash_of(window) == hash)
            });
            let own = self.0.get(&hash).copied().unwrap_or(0);
            let count = if is_common { COMMON_COUNT } else { own };
            if best.is_none_or(|(least, _)| count < least) {
                best = Some((count, hash));
            }
        });
        best.map(|(_, hash)| hash)
    }
}

/// Calls `found` for each gram that a text in lower case which matches the pattern must hold.
fn of_pattern(pattern: &[u8], mut found: impl FnMut(u64)) {
    for window in pattern.windows(GRAM_BYTES) {
        if !window.iter().any(|byte| matches!(byte, b'*' | b'^')) {
            found(hash_of(&window.to_ascii_lowercase()));
        }
    }
}

/// The hash of four bytes: another one for any others.
#[inline]
fn hash_of(window: &[u8]) -> u64 {
    let word = window.iter().rev().fold(0, |word: u32, byte| word << 8 | u32::from(*byte));
    mixed(word)
}

#[inline]
fn mixed(word: u32) -> u64 {
    u64::from(word).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Which grams may be among those that patterns are filed under.
#[derive(Debug, Default)]
pub(crate) struct GramSieve {
    words: Vec<u64>,
    /// Shift that turns a hash into its bit.
    shift: u32,
}

impl GramSieve {
    pub(crate) fn of(hashes: &[u64]) -> Self {
        if hashes.is_empty() {
            return Self::default();
        }
        let bits = (hashes.len() * BITS_A_GRAM).next_power_of_two().ilog2();
        let bits = bits.clamp(*SIEVE_BITS.start(), *SIEVE_BITS.end());
        let mut sieve = Self { words: vec![0; 1 << (bits - 6)], shift: 64 - bits };
        for hash in hashes {
            let bit = hash >> sieve.shift;
            sieve.words[(bit / 64) as usize] |= 1 << (bit % 64);
        }
        sieve
    }

    #[inline]
    fn may_contain(&self, hash: u64) -> bool {
        let bit = hash >> self.shift;
        self.words.get((bit / 64) as usize).is_some_and(|word| word >> (bit % 64) & 1 == 1)
    }

    /// Calls `found` for each gram of a URL in lower case that patterns may be filed under, once or
    /// nearly once: the memory of what was seen is small and forgets.
    #[inline]
    pub(crate) fn for_each_gram(&self, text: &[u8], mut found: impl FnMut(u64)) {
        if self.words.is_empty() {
            return;
        }
        let mut seen = [0u64; SEEN_SLOTS];
        for window in text.array_windows::<GRAM_BYTES>() {
            let hash = mixed(u32::from_le_bytes(*window));
            if self.may_contain(hash) {
                let slot = &mut seen[(hash % SEEN_SLOTS as u64) as usize];
                if *slot != hash {
                    *slot = hash;
                    found(hash);
                }
            }
        }
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> u64 {
        (self.words.capacity() * 8) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_found_by_its_rarest_four_bytes() {
        let mut histogram = GramHistogram::default();
        for pattern in ["-ad-banner", "-ad-x", "-ad-y"] {
            histogram.add(pattern.as_bytes());
        }
        let hash = histogram.rarest(b"-Ad-banner").unwrap();
        assert_ne!(hash, hash_of(b"-ad-"), "two others have that");
        let sieve = GramSieve::of(&[hash]);
        let mut found = Vec::new();
        sieve.for_each_gram(b"https://a.example/x-ad-banner-ad-banner", |hash| found.push(hash));
        assert_eq!(found, [hash]);
        sieve.for_each_gram(b"abc", |_| panic!("too short to hold four bytes"));
        assert_eq!(histogram.rarest(b"ab*cd^e"), None);
        assert_eq!(histogram.rarest(b".com/"), Some(hash_of(b".com")), "nothing better");
    }
}
