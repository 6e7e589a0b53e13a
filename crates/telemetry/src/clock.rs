//! The time of spans: one anchor for many moments, so that those of one trace keep their order.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Time after which an anchor is set anew, so that spans follow a clock that was put right.
const ANCHOR_MAX: Duration = Duration::from_secs(30);

/// One moment on both clocks.
#[derive(Clone, Copy)]
struct ClockAnchor {
    instant: Instant,
    unix_ns: u64,
}

static ANCHOR: Mutex<Option<ClockAnchor>> = Mutex::new(None);

/// The system's time.
#[expect(clippy::disallowed_methods, reason = "spans and log records carry nanoseconds")]
pub(crate) fn system_now() -> SystemTime {
    SystemTime::now()
}

/// Nanoseconds since 1970.
pub(crate) fn unix_ns() -> u64 {
    let since = system_now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// `moment` in nanoseconds since 1970.
pub(crate) fn unix_ns_of(moment: Instant) -> u64 {
    let mut anchor = ANCHOR.lock().unwrap_or_else(PoisonError::into_inner);
    let fresh = anchor.filter(|it| it.instant.elapsed() < ANCHOR_MAX);
    let it = fresh.unwrap_or_else(|| ClockAnchor { instant: Instant::now(), unix_ns: unix_ns() });
    *anchor = Some(it);
    drop(anchor);
    let ns = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
    match moment.checked_duration_since(it.instant) {
        Some(later) => it.unix_ns.saturating_add(ns(later)),
        None => it.unix_ns.saturating_sub(ns(it.instant.saturating_duration_since(moment))),
    }
}
