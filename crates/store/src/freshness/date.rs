//! Dates in fields: the three forms of RFC 9110 §5.6.7, and nothing that merely looks like one.
//!
//! Letters may have any case (§5.6.7 asks recipients to be robust); another zone, a missing comma or
//! a lost digit makes it no date. Pure. Called by the rules and by the head.

use http::header::{HeaderMap, HeaderName, HeaderValue};
use std::time::{Duration, UNIX_EPOCH};

/// The longest form, with room for spaces around: `Wednesday, 06-Nov-94 08:49:37 GMT`.
const DATE_BYTES_MAX: usize = 48;

/// Seconds since 1970 of the first line of a field; `None` if it is missing, no date, or before 1970.
pub(crate) fn field(fields: &HeaderMap, name: &HeaderName) -> Option<u64> {
    parse(fields.get(name)?)
}

/// Seconds since 1970.
pub(crate) fn parse(value: &HeaderValue) -> Option<u64> {
    let text = value.to_str().ok().filter(|text| text.len() <= DATE_BYTES_MAX)?;
    // As they should be written almost all are: the exact reading is tried first.
    let moment = httpdate::parse_http_date(text)
        .or_else(|_| httpdate::parse_http_date(&in_right_case(text)))
        .ok()?;
    moment.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs())
}

/// `THU, 18 aug` as `Thu, 18 Aug`, and the zone in capitals.
fn in_right_case(text: &str) -> String {
    let mut right = String::with_capacity(text.len());
    let mut before = ' ';
    for letter in text.chars() {
        let small = before.is_ascii_alphabetic();
        right.push(if small { letter.to_ascii_lowercase() } else { letter.to_ascii_uppercase() });
        before = letter;
    }
    match right.strip_suffix(" Gmt") {
        Some(day) => format!("{day} GMT"),
        None => right,
    }
}

/// A moment as a field value; beyond the year 9999, which the form cannot say, its last second.
pub(crate) fn value(unix_secs: u64) -> HeaderValue {
    const LAST: u64 = 253_402_300_799;
    let moment = UNIX_EPOCH + Duration::from_secs(unix_secs.min(LAST));
    HeaderValue::from_str(&httpdate::fmt_http_date(moment)).expect("a date is visible ASCII")
}
