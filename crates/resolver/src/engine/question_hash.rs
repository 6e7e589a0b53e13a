//! Keyed hashes of questions, computed once a question and used in place of it as a key.

use std::hash::Hasher;

/// The keyed hash of a question. Two questions may share one by chance: compare the questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct QuestionHash(pub(super) u64);

/// The hasher of tables whose keys are hashes already.
#[derive(Default)]
pub(crate) struct HashIsKey(u64);

impl Hasher for HashIsKey {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}
