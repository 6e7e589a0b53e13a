//! The `Date` field, written once a second (RFC 9110 §6.6.1).
//!
//! Each thread keeps the finished text of the present second: an answer costs a look at the clock
//! and a copy of 29 bytes. It judges no date and reads none; that is [`crate::conditional`]. Called
//! by the fast path and HTTP/2 for every answer, and by doors that write heads themselves.

use http::HeaderValue;
use std::cell::{Cell, RefCell};
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
    /// The same as the value of a field, for heads that are not written as text.
    static PRESENT_VALUE: RefCell<Option<(u64, HeaderValue)>> = const { RefCell::new(None) };
}

/// The present moment as the value of a `Date` field.
pub fn now_field() -> [u8; DATE_BYTES] {
    field_at(unix_secs())
}

/// The same for a map of fields.
pub(crate) fn now_value() -> HeaderValue {
    let now = unix_secs();
    PRESENT_VALUE.with_borrow_mut(|present| match present {
        Some((written, value)) if *written == now => value.clone(),
        Some(_) | None => {
            let value = HeaderValue::from_bytes(&field_at(now)).expect("a date is visible ASCII");
            present.insert((now, value)).1.clone()
        }
    })
}

#[allow(clippy::disallowed_methods, reason = "a date is of the moment in which it is sent")]
fn unix_secs() -> u64 {
    // A clock before 1970 is no clock: the epoch is as wrong as any other date.
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs()
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
        assert!(now_value().as_bytes().ends_with(b" GMT"));
    }
}
