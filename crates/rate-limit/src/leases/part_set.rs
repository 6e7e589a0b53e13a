//! Parts of the buckets of a fleet: 256 of them, by the first byte of a bucket's name.
//!
//! Where buckets lie at several servers, one that is away takes its parts with it and no more.

use super::BucketName;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Words of a set.
const WORDS: usize = 4;

/// Set of parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartSet([u64; WORDS]);

/// Set of parts that many threads look at.
#[derive(Debug, Default)]
pub(super) struct SharedParts([AtomicU64; WORDS]);

impl BucketName {
    /// The part that the bucket belongs to.
    pub fn part(self) -> u8 {
        (self.0 >> 120) as u8
    }
}

impl PartSet {
    /// Puts a part in.
    pub fn insert(&mut self, part: u8) {
        self.0[usize::from(part) / 64] |= 1 << (part % 64);
    }

    /// Takes a part out.
    pub fn remove(&mut self, part: u8) {
        self.0[usize::from(part) / 64] &= !(1 << (part % 64));
    }

    /// True if it is in.
    pub fn contains(&self, part: u8) -> bool {
        self.0[usize::from(part) / 64] >> (part % 64) & 1 == 1
    }

    /// Number of parts in it.
    pub fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// True if none is in.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl SharedParts {
    pub(super) fn contains(&self, part: u8) -> bool {
        self.0[usize::from(part) / 64].load(Relaxed) >> (part % 64) & 1 == 1
    }

    pub(super) fn set(&self, parts: PartSet) {
        for (held, new) in self.0.iter().zip(parts.0) {
            held.store(new, Relaxed);
        }
    }
}
