//! When a request that failed is sent again: back-off with jitter, and what the collector asks.
//!
//! Pure but for the jitter's bits.

use crate::random;
use http::StatusCode;
use std::time::{Duration, SystemTime};

/// Pause before the first repetition; each later one is twice as long.
const PAUSE_FIRST: Duration = Duration::from_secs(1);
/// Longest pause of the back-off.
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// Longest pause that a collector may ask for.
const ASKED_MAX: Duration = Duration::from_mins(5);
/// Repetitions of one request: with their pauses some three minutes.
pub(crate) const REPEATS_MAX: u32 = 8;

/// True for an answer after which the same request may be taken (OTLP §"Retryable Response Codes").
pub(crate) const fn is_retryable(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
    )
}

/// The pause before repetition `repeat`, counted from 0: what the collector asked for, else the
/// back-off with jitter.
pub(crate) fn pause_before(repeat: u32, asked: Option<Duration>) -> Duration {
    if let Some(asked) = asked {
        return asked.min(ASKED_MAX);
    }
    back_off::pause_before(repeat, PAUSE_FIRST, PAUSE_MAX, random::bits())
}

/// The pause that a `Retry-After` asks for: seconds, or a date (RFC 9110 §10.2.3).
pub(crate) fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<u32>() {
        return Some(Duration::from_secs(seconds.into()));
    }
    let at = httpdate::parse_http_date(value).ok()?;
    Some(at.duration_since(now).unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_have_bounds() {
        for repeat in 0..40 {
            let pause = pause_before(repeat, None);
            let longest = Duration::from_secs(1 << repeat.min(5)).min(PAUSE_MAX);
            assert!(pause >= longest / 2 && pause <= longest, "{repeat}: {pause:?}");
        }
        let asked = |secs| pause_before(0, Some(Duration::from_secs(secs)));
        assert_eq!((asked(7), asked(100_000)), (Duration::from_secs(7), ASKED_MAX));
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let date = "Sun, 06 Nov 1994 08:49:47 GMT";
        assert_eq!(retry_after(" 3 ", now), Some(Duration::from_secs(3)));
        assert_eq!(retry_after(date, now), Some(Duration::from_secs(10)));
        assert_eq!(retry_after(date, now + Duration::from_mins(1)), Some(Duration::ZERO));
        for wrong in ["", "soon", "-1", "99999999999999999999"] {
            assert_eq!(retry_after(wrong, now), None, "{wrong}");
        }
    }

    #[test]
    fn only_what_may_pass_is_sent_again() {
        let again: Vec<_> =
            (100..600).filter(|code| StatusCode::from_u16(*code).is_ok_and(is_retryable)).collect();
        assert_eq!(again, [429, 502, 503, 504]);
    }
}
