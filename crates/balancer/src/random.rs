//! Random bits for choices that nobody gains by guessing: which of two servers, whose turn.
//!
//! Not for secrets. One generator a thread, seeded once. Called for every
//! request, and where look-ups and checks are spread.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};

thread_local! {
    static STATE: Cell<u64> = Cell::new(RandomState::new().hash_one(0) | 1);
}

/// 64 random bits (xorshift64*).
pub fn bits() -> u64 {
    STATE.with(|state| {
        let mut bits = state.get();
        bits ^= bits >> 12;
        bits ^= bits << 25;
        bits ^= bits >> 27;
        state.set(bits);
        bits.wrapping_mul(0x2545_f491_4f6c_dd1d)
    })
}
