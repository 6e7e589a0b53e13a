//! Parts of a representation: the `Range` field for bytes (RFC 9110 §14).
//!
//! One range is served; several at once are answered with the whole, which the RFC allows
//! (§14.2) and which closes the door to overlapping-range abuse. Pure. Called by the web door, and
//! by every cache.

use http::{HeaderMap, HeaderValue, Method, header};

/// A part: bytes `first` to `last`, both included, of `total`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRange {
    /// The first byte, from 0.
    pub first: u64,
    /// The last byte; at least `first`, less than `total`.
    pub last: u64,
    /// The length of the whole.
    pub total: u64,
}

/// What to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// All of it, with 200.
    Whole,
    /// This part, with 206 and `Content-Range`.
    Part(ByteRange),
    /// Nothing: 416 with [`unsatisfied`].
    Unsatisfiable,
}

impl ByteRange {
    /// How many bytes it is.
    #[allow(clippy::len_without_is_empty, reason = "a range is never empty")]
    pub const fn len(&self) -> u64 {
        self.last - self.first + 1
    }

    /// The `Content-Range` of a 206.
    pub fn content_range(&self) -> HeaderValue {
        visible(&format!("bytes {}-{}/{}", self.first, self.last, self.total))
    }
}

/// The `Content-Range` of a 416 (RFC 9110 §15.5.17).
pub fn unsatisfied(total: u64) -> HeaderValue {
    visible(&format!("bytes */{total}"))
}

fn visible(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("digits and punctuation are visible ASCII")
}

/// What a request asks for of a representation of `total` bytes. `If-Range` must have been judged
/// before: [`crate::conditional::if_range`].
pub fn select(method: &Method, headers: &HeaderMap, total: u64) -> Selection {
    // Range is defined for GET only (§14.2); a server must ignore it elsewhere.
    if *method != Method::GET {
        return Selection::Whole;
    }
    let mut fields = headers.get_all(header::RANGE).iter();
    match (fields.next().and_then(|value| value.to_str().ok()), fields.next()) {
        (Some(text), None) => parse(text, total),
        (None, _) | (Some(_), Some(_)) => Selection::Whole,
    }
}

/// Reads one `Range` value. What is malformed, of another unit, or several ranges selects the
/// whole.
pub fn parse(text: &str, total: u64) -> Selection {
    let Some((unit, set)) = text.split_once('=') else { return Selection::Whole };
    if !unit.trim().eq_ignore_ascii_case("bytes") || set.contains(',') {
        return Selection::Whole;
    }
    let Some((first, last)) = set.trim().split_once('-') else { return Selection::Whole };
    let part =
        |first, last: u64| Selection::Part(ByteRange { first, last: last.min(total - 1), total });
    match (number(first), number(last)) {
        (Number::Is(first), Number::Is(last)) if first > last => Selection::Whole,
        (Number::Is(first), Number::Is(_) | Number::Absent) if first >= total => {
            Selection::Unsatisfiable
        }
        (Number::Is(first), Number::Is(last)) => part(first, last),
        (Number::Is(first), Number::Absent) => part(first, u64::MAX),
        (Number::Absent, Number::Is(suffix)) if suffix == 0 || total == 0 => {
            Selection::Unsatisfiable
        }
        (Number::Absent, Number::Is(suffix)) => part(total.saturating_sub(suffix), u64::MAX),
        (Number::Absent, Number::Absent) | (Number::Malformed, _) | (_, Number::Malformed) => {
            Selection::Whole
        }
    }
}

enum Number {
    Absent,
    Is(u64),
    Malformed,
}

fn number(text: &str) -> Number {
    if text.is_empty() {
        return Number::Absent;
    }
    if !text.bytes().all(|it| it.is_ascii_digit()) {
        return Number::Malformed;
    }
    // More digits than fit are past the end of anything.
    Number::Is(text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let found = match parse(text, 1000) {
            Selection::Whole => "whole".into(),
            Selection::Unsatisfiable => "416".into(),
            Selection::Part(part) => format!("{}+{}", part.first, part.len()),
        };
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn single_ranges_are_served() {
        check("bytes=0-499", "0+500");
        check("bytes=500-", "500+500");
        check("bytes=-300", "700+300");
        check("bytes=-5000", "0+1000");
        check("bytes=999-999", "999+1");
        check("bytes=0-99999999999999999999999", "0+1000");
        check("Bytes = 0-1", "0+2");
    }

    #[test]
    fn what_lies_outside_is_unsatisfiable() {
        check("bytes=1000-", "416");
        check("bytes=1000-1001", "416");
        check("bytes=-0", "416");
        assert_eq!(parse("bytes=0-", 0), Selection::Unsatisfiable);
        assert_eq!(parse("bytes=-1", 0), Selection::Unsatisfiable);
    }

    #[test]
    fn what_is_malformed_or_manifold_selects_the_whole() {
        for text in [
            "",
            "bytes",
            "bytes=",
            "bytes=-",
            "bytes=5-1",
            "bytes=a-b",
            "bytes=+1-2",
            "lines=1-2",
            "bytes=0-1,5-6",
            "bytes=1-2-3",
            "bytes=0 - 1",
        ] {
            check(text, "whole");
        }
    }

    #[test]
    fn a_range_counts_for_get_only_and_once() {
        let mut headers = HeaderMap::new();
        headers.append(header::RANGE, HeaderValue::from_static("bytes=0-0"));
        assert!(matches!(select(&Method::GET, &headers, 9), Selection::Part(_)));
        assert_eq!(select(&Method::HEAD, &headers, 9), Selection::Whole);
        headers.append(header::RANGE, HeaderValue::from_static("bytes=1-1"));
        assert_eq!(select(&Method::GET, &headers, 9), Selection::Whole);
    }

    #[test]
    fn a_part_says_where_it_stands() {
        let part = ByteRange { first: 0, last: 499, total: 1234 };
        assert_eq!(part.content_range(), "bytes 0-499/1234");
        assert_eq!(unsatisfied(1234), "bytes */1234");
    }
}
