//! The `Date` field, written once a second (RFC 9110 §6.6.1).
//!
//! Each thread keeps the finished text of the present second: an answer costs a look at the clock
//! and a copy of 29 bytes. It judges no date and reads none; that is [`crate::conditional`]. Called
//! by the fast path for every answer, and by doors that write heads themselves.

use std::cell::Cell;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Bytes of a date in its preferred form (RFC 9110 §5.6.7).
pub const DATE_BYTES: usize = 29;

#[derive(Clone, Copy)]
struct DateText {
    unix_secs: u64,
    text: [u8; DATE_BYTES],
}

thread_local! {
    static PRESENT: Cell<DateText> =
        const { Cell::new(DateText { unix_secs: u64::MAX, text: [0; DATE_BYTES] }) };
}

/// The present moment as the value of a `Date` field.
#[allow(clippy::disallowed_methods, reason = "a date is of the moment in which it is sent")]
pub fn now_field() -> [u8; DATE_BYTES] {
    // A clock before 1970 is no clock: the epoch is as wrong as any other date.
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    field_at(since.as_secs())
}

/// True while the date was never set. hyper writes dates of its own, and panics over such a one.
#[allow(clippy::disallowed_methods, reason = "the clock that hyper reads itself")]
pub(crate) fn is_before_1970() -> bool {
    SystemTime::now() < UNIX_EPOCH
}

/// The same for a moment that is known already, in seconds since 1970.
pub fn field_at(unix_secs: u64) -> [u8; DATE_BYTES] {
    PRESENT.with(|present| {
        let written = present.get();
        if written.unix_secs == unix_secs {
            return written.text;
        }
        let mut text = [0; DATE_BYTES];
        let value = crate::conditional::format_date(unix_secs);
        // Every date up to the year 9999 has this length.
        text.copy_from_slice(value.as_bytes());
        present.set(DateText { unix_secs, text });
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_is_written_as_it_is_and_the_next_one_anew() {
        for _ in 0..2 {
            assert_eq!(&field_at(784_111_777), b"Sun, 06 Nov 1994 08:49:37 GMT");
            assert_eq!(&field_at(784_111_778), b"Sun, 06 Nov 1994 08:49:38 GMT");
        }
        assert_eq!(&field_at(u64::MAX - 1), b"Fri, 31 Dec 9999 23:59:59 GMT");
    }

    #[test]
    fn the_present_is_a_date() {
        assert!(now_field().ends_with(b" GMT"));
    }
}
