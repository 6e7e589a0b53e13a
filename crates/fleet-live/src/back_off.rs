//! Back-off before the next try to reach the server: from 100 ms to 30 s, doubled, with chance.
//!
//! It knows no clock and no randomness: chance is handed in. Called by the task that keeps the
//! connection.

use std::time::Duration;

/// First pause, in milliseconds.
const FIRST_MS: u64 = 100;
/// Longest pause.
const LONGEST_MS: u64 = 30_000;

/// Pause before the next try.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BackOff {
    next_ms: u64,
}

impl BackOff {
    pub(crate) const fn new() -> Self {
        Self { next_ms: FIRST_MS }
    }

    /// The pause after one more failure: between half of its length and the whole, so that a
    /// thousand edges that lost the server together do not come back together.
    pub(crate) fn next(&mut self, chance: u64) -> Duration {
        let whole = self.next_ms;
        self.next_ms = (whole * 2).min(LONGEST_MS);
        Duration::from_millis(whole / 2 + chance % (whole / 2 + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_half_a_minute() {
        let mut back_off = BackOff::new();
        let longest: Vec<u64> = (0..11)
            .map(|_| {
                let whole = back_off.next_ms;
                back_off.next(whole / 2).as_millis() as u64
            })
            .collect();
        assert_eq!(longest[..5], [100, 200, 400, 800, 1600]);
        assert_eq!(longest[8..], [25_600, 30_000, 30_000]);
    }

    #[test]
    fn chance_takes_away_half_at_most() {
        for chance in [0, 1, 49, 50, 51, 1000, u64::MAX] {
            let pause = BackOff::new().next(chance).as_millis();
            assert!((50..=100).contains(&pause), "{chance}: {pause}");
        }
    }
}
