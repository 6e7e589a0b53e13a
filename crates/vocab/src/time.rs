//! The time, handed in: rules and caches know no clock.

/// One moment on both clocks. Whoever stands at the rim (a door, a test) makes it; everything
/// below takes it as an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Now {
    /// Milliseconds since 1970-01-01T00:00:00Z, for schedules, dates and the ledger.
    pub unix_ms: u64,
    /// Milliseconds on a clock that never goes back, for ages and timeouts.
    pub mono_ms: u64,
}

impl Now {
    /// Whole seconds since 1970.
    pub const fn unix_secs(self) -> u64 {
        self.unix_ms / 1000
    }
}
