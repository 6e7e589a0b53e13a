//! Where the time comes from.
//!
//! Read once per request at the door and handed down from there. Both clocks are the kernel's
//! coarse ones (a tick of 1–10 ms, read without a system call); measure how long a request took
//! with `std::time::Instant` instead.

use rustix::time::{ClockId, clock_gettime};
use vocab::Now;

/// The moment.
pub fn now() -> Now {
    Now { unix_ms: millis(ClockId::RealtimeCoarse), mono_ms: millis(ClockId::MonotonicCoarse) }
}

fn millis(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    // Neither clock is before its own zero on a machine whose date was ever set.
    let secs = u64::try_from(time.tv_sec).unwrap_or(0);
    secs * 1000 + u64::try_from(time.tv_nsec).unwrap_or(0) / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_clocks_run_forward() {
        let earlier = now();
        let later = now();
        assert!(later.mono_ms >= earlier.mono_ms);
        assert!(later.unix_ms > 1_700_000_000_000);
    }
}
