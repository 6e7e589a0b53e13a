//! Pauses between two tries: twice as long each time, up to a bound, and never at one moment for
//! all edges of a fleet.

use std::time::Duration;

/// The first pause and the longest.
const FIRST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(30);

/// Pauses after failures that follow one another.
#[derive(Debug)]
pub(crate) struct BackOff {
    next: Duration,
}

impl BackOff {
    pub(crate) const fn new() -> Self {
        Self { next: FIRST }
    }

    /// Begins again with the shortest.
    pub(crate) const fn reset(&mut self) {
        self.next = FIRST;
    }

    /// The next pause; `chance` (all of its range) moves it between half of it and all of it.
    pub(crate) fn pause(&mut self, chance: u32) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(LONGEST);
        pause / 2 + (pause / 2).mul_f64(f64::from(chance) / f64::from(u32::MAX))
    }
}

/// A number by chance; a middle one where the system gives none.
pub(crate) fn chance() -> u32 {
    getrandom::u32().unwrap_or(u32::MAX / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_bound_and_are_spread() {
        let mut back_off = BackOff::new();
        assert_eq!(back_off.pause(0), FIRST / 2);
        assert_eq!(back_off.pause(u32::MAX), FIRST * 2);
        for _ in 0..20 {
            back_off.pause(7);
        }
        assert_eq!(back_off.pause(u32::MAX), LONGEST);
        back_off.reset();
        assert!(back_off.pause(chance()) <= FIRST);
    }
}
