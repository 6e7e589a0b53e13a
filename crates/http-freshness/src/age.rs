//! Age of a response when it came (RFC 9111 §4.2.3, §5.1).
//!
//! Pure. Called when terms are worked out.

use super::control::delta_secs;
use super::rules::DELTA_SECS_MAX;
use crate::head::StoredHead;
use http::header::{self, HeaderMap};

/// `corrected_initial_age`, in milliseconds: what the caches before us counted and the way took, or
/// what the clocks say, whichever is more.
pub(crate) fn initial_ms(head: &StoredHead) -> u64 {
    let received_secs = head.received_ms / 1000;
    let apparent_secs = received_secs.saturating_sub(head.date_unix_secs());
    let response_delay_ms = head.received_ms.saturating_sub(head.requested_ms);
    let corrected_ms = u64::from(field_secs(&head.fields)) * 1000 + response_delay_ms;
    corrected_ms.max(apparent_secs * 1000).min(u64::from(DELTA_SECS_MAX) * 1000)
}

/// `Age` as received: the first value of the first line; 0 if that is not a whole number (§5.1).
fn field_secs(fields: &HeaderMap) -> u32 {
    let Some(line) = fields.get(header::AGE) else { return 0 };
    let first = line.as_bytes().split(|it| *it == b',').next().unwrap_or_default();
    delta_secs(first.trim_ascii()).unwrap_or(0)
}
