//! Waiting for an event, with a deadline.

use std::time::Duration;
use test_support::TimeWaited;

/// How long any one event may take before the test fails: generous, for two busy cores.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// Asks `probe` until it answers, then returns the answer.
///
/// # Panics
/// When the deadline passes; `what` says what was being waited for.
pub fn until<T>(what: &str, mut probe: impl FnMut() -> Option<T>) -> T {
    let mut waited = TimeWaited::new();
    loop {
        if let Some(found) = probe() {
            return found;
        }
        assert!(waited.until_now() < DEADLINE, "waited {DEADLINE:?} for {what}");
        // Between two looks at something that cannot be awaited (another process's state).
        std::thread::park_timeout(Duration::from_millis(5));
    }
}
