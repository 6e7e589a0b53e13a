//! Random bits for trace and span identifiers, which nobody gains by guessing.
//!
//! Not for secrets. One generator a thread, seeded once by the system's randomness.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};

thread_local! {
    static STATE: Cell<[u64; 2]> = Cell::new(seed());
}

fn seed() -> [u64; 2] {
    let state = RandomState::new();
    [state.hash_one(0) | 1, state.hash_one(1)]
}

/// 64 random bits (xoroshiro128+).
pub(crate) fn bits() -> u64 {
    STATE.with(|state| {
        let [a, b] = state.get();
        let mixed = a ^ b;
        state.set([a.rotate_left(24) ^ mixed ^ (mixed << 16), mixed.rotate_left(37)]);
        a.wrapping_add(b)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_do_not_repeat() {
        let mut seen: Vec<u64> = (0..10_000).map(|_| bits()).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 10_000);
    }
}
