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

/// True while the date was never set, or set to nonsense: libraries that reckon in seconds since
/// 1970 must not be asked then.
#[allow(clippy::disallowed_methods, reason = "the clock that those libraries read themselves")]
pub fn is_before_1970() -> bool {
    std::time::SystemTime::now() < std::time::UNIX_EPOCH
}

fn millis(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    // A date before 1970 is one that was never set: it is taken for 1970.
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
