//! Parts of a representation: the `Range` field for bytes (RFC 9110 §14).
//!
//! [`select`] serves one range and answers several with the whole, which the RFC allows (§14.2);
//! [`select_several`] serves several, with those joined that overlap or nearly touch, so that no
//! request can ask for more than the whole. Pure. Called by the web door, and by every cache.

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

/// Tells what to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeSelection {
    /// All of it, with 200.
    Full,
    /// This part, with 206 and `Content-Range`.
    Part(ByteRange),
    /// Nothing: 416 with [`unsatisfied`].
    Unsatisfiable,
}

/// Tells what to send to a client that may have several parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RangeSelections {
    /// All of it, with 200.
    Full,
    /// This part, with 206 and `Content-Range`.
    Part(ByteRange),
    /// These, two at least, none of which overlap, with 206 as `multipart/byteranges` (§14.6), in
    /// the order in which they were asked for.
    Parts(Vec<ByteRange>),
    /// Nothing: 416 with [`unsatisfied`].
    Unsatisfiable,
}

/// Ranges of one request; more get the whole, for many small ranges are the mark of an attack or of
/// a broken client (§14.2). Viewers of documents and archives ask for less than ten.
pub const RANGES_MAX: usize = 32;

/// Parts closer than this are sent as one: about what the head of a part takes (§15.3.7.2).
const GAP_BYTES: u64 = 80;

impl ByteRange {
    /// Returns how many bytes it is.
    #[allow(clippy::len_without_is_empty, reason = "a range is never empty")]
    pub const fn len(&self) -> u64 {
        self.last - self.first + 1
    }

    /// The `Content-Range` of a 206.
    pub fn content_range(&self) -> HeaderValue {
        header_text(&format!("bytes {}-{}/{}", self.first, self.last, self.total))
    }
}

/// The `Content-Range` of a 416 (RFC 9110 §15.5.17).
pub fn unsatisfied(total: u64) -> HeaderValue {
    header_text(&format!("bytes */{total}"))
}

fn header_text(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("digits and punctuation are visible ASCII")
}

/// Returns what a request asks for of a representation of `total` bytes. `If-Range` must have been
/// judged before: [`crate::conditional::if_range`].
pub fn select(method: &Method, headers: &HeaderMap, total: u64) -> RangeSelection {
    // Range is defined for GET only (§14.2); a server must ignore it elsewhere.
    if *method != Method::GET {
        return RangeSelection::Full;
    }
    let mut fields = headers.get_all(header::RANGE).iter();
    match (fields.next().and_then(|value| value.to_str().ok()), fields.next()) {
        (Some(text), None) => parse(text, total),
        (None, _) | (Some(_), Some(_)) => RangeSelection::Full,
    }
}

/// Reads one `Range` value. What is malformed, of another unit, or several ranges selects the
/// whole; a range that ends before it begins selects nothing, which §14.2 leaves to us: nginx
/// refuses it too, and a client that took the whole for its part would write a wrong file.
pub fn parse(text: &str, total: u64) -> RangeSelection {
    let Some((unit, set)) = text.split_once('=') else { return RangeSelection::Full };
    if !unit.trim().eq_ignore_ascii_case("bytes") || set.contains(',') {
        return RangeSelection::Full;
    }
    let Some((first, last)) = set.trim().split_once('-') else { return RangeSelection::Full };
    let part = |first, last: u64| {
        RangeSelection::Part(ByteRange { first, last: last.min(total - 1), total })
    };
    match (number(first), number(last)) {
        (RangeNumber::Is(first), RangeNumber::Is(last)) if first > last => {
            RangeSelection::Unsatisfiable
        }
        (RangeNumber::Is(first), RangeNumber::Is(_) | RangeNumber::Absent) if first >= total => {
            RangeSelection::Unsatisfiable
        }
        (RangeNumber::Is(first), RangeNumber::Is(last)) => part(first, last),
        (RangeNumber::Is(first), RangeNumber::Absent) => part(first, u64::MAX),
        (RangeNumber::Absent, RangeNumber::Is(suffix)) if suffix == 0 || total == 0 => {
            RangeSelection::Unsatisfiable
        }
        (RangeNumber::Absent, RangeNumber::Is(suffix)) => {
            part(total.saturating_sub(suffix), u64::MAX)
        }
        (RangeNumber::Absent, RangeNumber::Absent)
        | (RangeNumber::Malformed, _)
        | (_, RangeNumber::Malformed) => RangeSelection::Full,
    }
}

/// Returns what a request asks for of a representation of `total` bytes, several parts included.
/// `If-Range` must have been judged before: [`crate::conditional::if_range`].
pub fn select_several(method: &Method, headers: &HeaderMap, total: u64) -> RangeSelections {
    if *method != Method::GET {
        return RangeSelections::Full;
    }
    let mut fields = headers.get_all(header::RANGE).iter();
    match (fields.next().and_then(|value| value.to_str().ok()), fields.next()) {
        (Some(text), None) => parse_several(text, total),
        (None, _) | (Some(_), Some(_)) => RangeSelections::Full,
    }
}

/// Reads one `Range` value of any number of ranges. One that is malformed spoils them all, and the
/// whole is selected; those outside, and those that end before they begin, are left out.
pub fn parse_several(text: &str, total: u64) -> RangeSelections {
    let Some((unit, set)) = text.split_once('=') else { return RangeSelections::Full };
    if set.bytes().filter(|byte| *byte == b',').count() >= RANGES_MAX {
        return RangeSelections::Full;
    }
    let mut parts: Vec<ByteRange> = Vec::new();
    // Empty elements of a list count for nothing (§5.6.1.2).
    let ranges = set.split(',').map(str::trim).filter(|it| !it.is_empty());
    let mut is_none = true;
    for range in ranges {
        is_none = false;
        match parse(&format!("{unit}={range}"), total) {
            RangeSelection::Full => return RangeSelections::Full,
            RangeSelection::Unsatisfiable => {}
            RangeSelection::Part(part) => join(&mut parts, part),
        }
    }
    match parts.as_slice() {
        [] if is_none => RangeSelections::Full,
        [] => RangeSelections::Unsatisfiable,
        [part] => RangeSelections::Part(*part),
        [..] => RangeSelections::Parts(parts),
    }
}

/// Adds a part, in the place of the first that it overlaps or nearly touches.
fn join(parts: &mut Vec<ByteRange>, mut part: ByteRange) {
    let nearly = |one: &ByteRange, other: &ByteRange| {
        one.first <= other.last.saturating_add(GAP_BYTES)
            && other.first <= one.last.saturating_add(GAP_BYTES)
    };
    let mut place = None;
    // What is joined grows, and may reach others then.
    while let Some(at) = parts.iter().position(|it| nearly(it, &part)) {
        let met = parts.remove(at);
        part.first = part.first.min(met.first);
        part.last = part.last.max(met.last);
        place = Some(place.map_or(at, |place: usize| place.min(at)));
    }
    parts.insert(place.unwrap_or(parts.len()), part);
}

enum RangeNumber {
    Absent,
    Is(u64),
    Malformed,
}

fn number(text: &str) -> RangeNumber {
    if text.is_empty() {
        return RangeNumber::Absent;
    }
    if !text.bytes().all(|it| it.is_ascii_digit()) {
        return RangeNumber::Malformed;
    }
    // More digits than fit are past the end of anything.
    RangeNumber::Is(text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let found = match parse(text, 1000) {
            RangeSelection::Full => "whole".into(),
            RangeSelection::Unsatisfiable => "416".into(),
            RangeSelection::Part(part) => format!("{}+{}", part.first, part.len()),
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
    fn what_lies_outside_or_ends_before_it_begins_is_unsatisfiable() {
        check("bytes=5-1", "416");
        check("bytes=2000-1", "416");
        check("bytes=1000-", "416");
        check("bytes=1000-1001", "416");
        check("bytes=-0", "416");
        assert_eq!(parse("bytes=0-", 0), RangeSelection::Unsatisfiable);
        assert_eq!(parse("bytes=-1", 0), RangeSelection::Unsatisfiable);
    }

    #[test]
    fn what_is_malformed_or_manifold_selects_the_whole() {
        for text in [
            "",
            "bytes",
            "bytes=",
            "bytes=-",
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
        assert!(matches!(select(&Method::GET, &headers, 9), RangeSelection::Part(_)));
        assert_eq!(select(&Method::HEAD, &headers, 9), RangeSelection::Full);
        headers.append(header::RANGE, HeaderValue::from_static("bytes=1-1"));
        assert_eq!(select(&Method::GET, &headers, 9), RangeSelection::Full);
    }

    fn check_several(text: &str, expected: &str) {
        let show = |part: &ByteRange| format!("{}-{}", part.first, part.last);
        let found = match parse_several(text, 1000) {
            RangeSelections::Full => "whole".into(),
            RangeSelections::Unsatisfiable => "416".into(),
            RangeSelections::Part(part) => show(&part),
            RangeSelections::Parts(parts) => parts.iter().map(show).collect::<Vec<_>>().join(" "),
        };
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn several_ranges_keep_their_order() {
        check_several("bytes=0-1,500-501", "0-1 500-501");
        check_several("bytes=500-501, 0-1", "500-501 0-1");
        check_several("bytes=0-1, -2", "0-1 998-999");
        check_several("bytes=0-1,,900-", "0-1 900-999");
        check_several("bytes=5-7", "5-7");
        check_several("bytes=-5", "995-999");
    }

    #[test]
    fn ranges_that_overlap_or_nearly_touch_are_joined() {
        check_several("bytes=0-10,5-20", "0-20");
        check_several("bytes=0-10,50-60", "0-60");
        check_several("bytes=0-10,500-510,5-505", "0-510");
        check_several("bytes=600-610,0-10,300-310,200-400", "600-610 0-10 200-400");
        check_several("bytes=0-,0-,0-,0-", "0-999");
    }

    #[test]
    fn ranges_outside_are_left_out_and_malformed_ones_spoil_all() {
        check_several("bytes=0-1,2000-", "0-1");
        check_several("bytes=1000-,2000-", "416");
        check_several("bytes=0-1,x", "whole");
        check_several("bytes=0-1,9-5", "0-1");
        check_several("bytes=5-1,9-5", "416");
        check_several("lines=0-1,5-6", "whole");
        check_several("bytes=,", "whole");
        check_several("bytes=0-1 5-6", "whole");
        let many = |count: usize| format!("bytes={}", vec!["0-0"; count].join(","));
        check_several(&many(RANGES_MAX), "0-0");
        check_several(&many(RANGES_MAX + 1), "whole");
    }

    #[test]
    fn a_part_says_where_it_stands() {
        let part = ByteRange { first: 0, last: 499, total: 1234 };
        assert_eq!(part.content_range(), "bytes 0-499/1234");
        assert_eq!(unsatisfied(1234), "bytes */1234");
    }
}
