//! The writer's clock.
//!
//! Requests carry their own time. Only the writer, which no request calls, has to know by itself
//! when a minute is over and when a row is past its time. Tests hand in another clock.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970.
pub(crate) type Clock = fn() -> u64;

/// The system's clock; a time before 1970 reads as 1970.
#[allow(clippy::disallowed_methods, reason = "the writer thread is a rim of its own, see above")]
pub(crate) fn system() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
