//! Parts of a body: what a 206 holds, which parts may be put together, and how to ask for the rest
//! (RFC 9111 §3.3, §3.4, RFC 9110 §15.3.7.3).
//!
//! Only parts that share a strong validator are put together. Which bytes are there is the tiers'
//! knowledge; the head that is stored is that of the whole. Pure. Called by the rule for storing,
//! and by the fill.

use super::date;
use super::rules::ResponseFacts;
use crate::head::StoredHead;
use http::StatusCode;
use http::header::{self, HeaderMap, HeaderValue};
use std::fmt;
use vocab::NotStored;

/// A part of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyPart {
    /// First byte, from 0.
    pub first: u64,
    /// Last byte; at least `first`, less than `total`.
    pub last: u64,
    /// The length of the whole.
    pub total: u64,
}

/// Why a part is not put to what is stored. Both may be of use by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NotJoined {
    /// Is no 206.
    NoPart,
    /// `Content-Range` is missing, malformed or at odds with its length.
    ContentRange,
    /// Several parts at once.
    Multipart,
    /// One of the two has no strong validator.
    NoStrongValidator,
    /// The validators differ: the representation has changed.
    Changed,
    /// The totals differ.
    Total,
}

/// Holds what to add to a request for bytes that are missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingRange {
    /// `Range`.
    pub range: HeaderValue,
    /// `If-Range`, so that a changed representation comes whole.
    pub if_range: HeaderValue,
}

/// Time by which `Last-Modified` must lie before `Date` to count as strong, in seconds: within it a
/// file may have changed twice, and the two clocks may differ (RFC 9110 §8.8.2.2).
const DATE_IS_STRONG_AFTER_SECS: u64 = 60;

impl BodyPart {
    /// Reads `Content-Range: bytes 0-4/10`. `None` for another unit, an unknown total, or what
    /// contradicts itself.
    pub fn parse(value: &HeaderValue) -> Option<Self> {
        let (unit, rest) = value.to_str().ok()?.trim().split_once(' ')?;
        let (range, total) = rest.trim_start().split_once('/')?;
        let (first, last) = range.split_once('-')?;
        let part = Self { first: digits(first)?, last: digits(last)?, total: digits(total)? };
        let is_right = unit.eq_ignore_ascii_case("bytes") && part.first <= part.last;
        (is_right && part.last < part.total).then_some(part)
    }

    /// Returns how many bytes it is.
    #[allow(clippy::len_without_is_empty, reason = "a part is never empty")]
    pub const fn len(&self) -> u64 {
        self.last - self.first + 1
    }

    /// The part of an answer. The length that it states must be that of the part: an origin that
    /// contradicts itself is not believed in either.
    fn of(answered: &ResponseFacts<'_>) -> Result<Self, NotJoined> {
        if answered.status != StatusCode::PARTIAL_CONTENT {
            return Err(NotJoined::NoPart);
        }
        let kind =
            answered.fields.get(header::CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
        let multipart = b"multipart/byteranges";
        if kind.get(..multipart.len()).is_some_and(|it| it.eq_ignore_ascii_case(multipart)) {
            return Err(NotJoined::Multipart);
        }
        let mut ranges = answered.fields.get_all(header::CONTENT_RANGE).iter();
        let (Some(range), None) = (ranges.next(), ranges.next()) else {
            return Err(NotJoined::ContentRange);
        };
        let part = Self::parse(range).ok_or(NotJoined::ContentRange)?;
        match answered.fields.get(header::CONTENT_LENGTH) {
            Some(length) if length.to_str().ok().and_then(digits) != Some(part.len()) => {
                Err(NotJoined::ContentRange)
            }
            Some(_) | None => Ok(part),
        }
    }
}

/// The part that an answer is, where nothing is stored yet.
pub fn first_part(answered: &ResponseFacts<'_>) -> Result<BodyPart, NotStored> {
    let part = BodyPart::of(answered).map_err(|why| match why {
        NotJoined::Multipart => NotStored::Multipart,
        NotJoined::NoPart
        | NotJoined::ContentRange
        | NotJoined::NoStrongValidator
        | NotJoined::Changed
        | NotJoined::Total => NotStored::ContentRange,
    })?;
    match strong_validator(answered.fields) {
        Some(_) => Ok(part),
        None => Err(NotStored::PartWithoutValidator),
    }
}

/// The part that an answer is, if it may be put to what is stored under `head`.
pub fn next_part(head: &StoredHead, answered: &ResponseFacts<'_>) -> Result<BodyPart, NotJoined> {
    let part = BodyPart::of(answered)?;
    let stored = strong_validator(&head.fields).ok_or(NotJoined::NoStrongValidator)?;
    let came = strong_validator(answered.fields).ok_or(NotJoined::NoStrongValidator)?;
    if stored != came {
        return Err(NotJoined::Changed);
    }
    let total = head.fields.get(header::CONTENT_LENGTH).and_then(|it| digits(it.to_str().ok()?));
    match total {
        Some(total) if total != part.total => Err(NotJoined::Total),
        Some(_) | None => Ok(part),
    }
}

/// Returns what to ask for bytes from `first` on, to `last` or to the end. `None` without a strong
/// validator: what would come could not be put to what is there.
pub fn rest(head: &StoredHead, first: u64, last: Option<u64>) -> Option<MissingRange> {
    let if_range = strong_validator(&head.fields)?.clone();
    let last = last.map(|it| it.to_string()).unwrap_or_default();
    let range = HeaderValue::from_str(&format!("bytes={first}-{last}"))
        .expect("digits and punctuation are visible ASCII");
    Some(MissingRange { range, if_range })
}

/// The head of the whole, from the head of a part.
pub(crate) fn as_whole(mut head: StoredHead) -> StoredHead {
    let total = head.fields.remove(header::CONTENT_RANGE).and_then(|it| BodyPart::parse(&it));
    head.status = StatusCode::OK;
    match total {
        Some(part) => head.fields.insert(header::CONTENT_LENGTH, part.total.into()),
        None => head.fields.remove(header::CONTENT_LENGTH),
    };
    head
}

/// The entity tag if it is strong; else `Last-Modified` if it may count as strong.
pub fn strong_validator(fields: &HeaderMap) -> Option<&HeaderValue> {
    if let Some(etag) = fields.get(header::ETAG) {
        let bytes = etag.as_bytes();
        return (bytes.len() >= 2 && bytes.starts_with(b"\"") && bytes.ends_with(b"\""))
            .then_some(etag);
    }
    let modified = date::field(fields, &header::LAST_MODIFIED)?;
    let made = date::field(fields, &header::DATE)?;
    let is_strong = made >= modified.saturating_add(DATE_IS_STRONG_AFTER_SECS);
    is_strong.then(|| fields.get(header::LAST_MODIFIED)).flatten()
}

fn digits(text: &str) -> Option<u64> {
    // `parse` takes a sign too.
    (!text.starts_with('+')).then(|| text.parse().ok()).flatten()
}

impl fmt::Display for NotJoined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoPart => "the answer is no part",
            Self::ContentRange => {
                "its Content-Range is missing, malformed, or at odds with its length"
            }
            Self::Multipart => "it is several parts at once",
            Self::NoStrongValidator => "without a strong validator parts are not put together",
            Self::Changed => "the representation has changed meanwhile",
            Self::Total => "the parts are of wholes of different length",
        })
    }
}
