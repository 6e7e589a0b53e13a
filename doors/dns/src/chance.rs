//! Numbers by chance, for what no one gains by guessing: `random` matchers and the choice of a
//! core.
//!
//! A small generator a thread, seeded by the system; it guards nothing.

use std::cell::Cell;

/// Any number of 32 bits (xorshift64*, Vigna 2016).
pub(crate) fn number() -> u32 {
    thread_local!(static STATE: Cell<u64> = Cell::new(seed()));
    STATE.with(|state| {
        let mut x = state.get();
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        state.set(x);
        (x.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32
    })
}

fn seed() -> u64 {
    let mut bytes = [0; 8];
    // Without the system's chance, any number that is not 0 will do here.
    let _ = getrandom::fill(&mut bytes);
    u64::from_ne_bytes(bytes) | 1
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_are_spread() {
        let high = (0..10_000).filter(|_| super::number() >= 1 << 31).count();
        assert!((4_500..5_500).contains(&high), "{high}");
    }
}
