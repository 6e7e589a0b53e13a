//! The time of one round: what happens in it happens at one moment.

use std::time::Instant;
use transport::clock;
use vocab::Now;

/// One moment, as timers count it and as caches and records do.
#[derive(Clone, Copy)]
pub(crate) struct RoundTime {
    pub(crate) now: Instant,
    pub(crate) clock: Now,
}

impl RoundTime {
    /// Reads the clock.
    pub(crate) fn read() -> Self {
        Self { now: Instant::now(), clock: clock::now() }
    }
}
