//! Pauses between tries that failed one after another: doubled up to a bound, and spread by chance,
//! so that a thousand machines that lost a server together do not come back together.
//!
//! It knows no clock and no randomness: chance is handed in. Called by whoever keeps a connection.

use std::time::Duration;

/// Doublings at most: with them every pause is at its bound.
const DOUBLINGS_MAX: u32 = 16;

/// Pauses after failures that follow one another.
#[derive(Clone, Copy, Debug)]
pub struct BackOff {
    first: Duration,
    longest: Duration,
    repeat: u32,
}

impl BackOff {
    /// Pauses from `first` on, up to `longest`.
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, repeat: 0 }
    }

    /// Begins again with the shortest.
    pub const fn reset(&mut self) {
        self.repeat = 0;
    }

    /// The pause after one more failure.
    pub fn pause(&mut self, chance: u64) -> Duration {
        let pause = pause_before(self.repeat, self.first, self.longest, chance);
        self.repeat = self.repeat.saturating_add(1);
        pause
    }
}

/// Pause before repetition `repeat`, counted from 0: by chance, from half of its length to the
/// whole, in steps of a millisecond.
pub fn pause_before(repeat: u32, first: Duration, longest: Duration, chance: u64) -> Duration {
    let whole = first.saturating_mul(1 << repeat.min(DOUBLINGS_MAX)).min(longest);
    let half = whole / 2;
    let steps = u64::try_from(half.as_millis()).unwrap_or(u64::MAX - 1);
    half + Duration::from_millis(chance % (steps + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Duration = Duration::from_millis(100);
    const LONGEST: Duration = Duration::from_secs(30);

    #[test]
    fn pauses_double_up_to_the_longest_and_begin_again() {
        let mut back_off = BackOff::new(FIRST, LONGEST);
        let mut pauses = Vec::new();
        for repeat in 0..11 {
            let whole = (100 << repeat).min(30_000);
            // Chance that takes nothing away.
            pauses.push(back_off.pause(whole / 2).as_millis());
        }
        assert_eq!(pauses[..5], [100, 200, 400, 800, 1600]);
        assert_eq!(pauses[8..], [25_600, 30_000, 30_000]);
        back_off.reset();
        assert!(back_off.pause(7) <= FIRST);
    }

    #[test]
    fn chance_takes_away_half_at_most() {
        for chance in [0, 1, 49, 50, 51, 1000, u64::MAX] {
            let pause = BackOff::new(FIRST, LONGEST).pause(chance).as_millis();
            assert!((50..=100).contains(&pause), "{chance}: {pause}");
        }
    }
}
