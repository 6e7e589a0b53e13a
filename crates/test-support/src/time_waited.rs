//! Time that a test has waited for an event.

use std::time::{Duration, Instant};

/// The most that counts between two looks, so that a machine that stood still for a minute does
/// not make a deadline pass.
const MOST_AT_ONCE: Duration = Duration::from_secs(1);

/// Time that a test has waited, from look to look.
#[derive(Debug)]
pub struct TimeWaited {
    before: Instant,
    waited: Duration,
}

impl TimeWaited {
    /// Nothing yet.
    #[expect(clippy::new_without_default, reason = "it begins to count, which is no default")]
    pub fn new() -> Self {
        Self { before: Instant::now(), waited: Duration::ZERO }
    }

    /// The time waited until now; at most a second is added at a look.
    pub fn until_now(&mut self) -> Duration {
        let now = Instant::now();
        self.waited += now.duration_since(self.before).min(MOST_AT_ONCE);
        self.before = now;
        self.waited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_counts_as_a_second() {
        let long_ago = Instant::now().checked_sub(Duration::from_mins(1)).unwrap();
        let mut waited = TimeWaited { before: long_ago, waited: Duration::ZERO };
        assert_eq!(waited.until_now(), MOST_AT_ONCE);
        waited.before = Instant::now().checked_sub(Duration::from_millis(500)).unwrap();
        assert!((1_500..2_000).contains(&waited.until_now().as_millis()));
    }
}
