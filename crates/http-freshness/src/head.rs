//! A stored response without its body, and the bytes it is kept as.
//!
//! It decides nothing: the rules read it (`freshness`). Bytes come from a disk that may lie, so
//! [`StoredHead::decode`] takes anything and answers with a head or with what is wrong. Called by
//! the tiers, which keep it, and by the doors, which send it.

use crate::date;
use http::StatusCode;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use std::fmt;

mod names;

/// A response's head as it is stored, with what RFC 9111 §4.2.3 needs to know its age.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredHead {
    /// Status; 200 where parts of a body are kept, whatever came first (`freshness::partial`).
    pub status: StatusCode,
    /// Fields as received, without those that are not stored (RFC 9111 §3.1).
    pub fields: HeaderMap,
    /// The request's fields that `Vary` names, normalised: the secondary key (RFC 9111 §4.1). Empty
    /// where nothing varies.
    pub selecting: HeaderMap,
    /// When the request was sent: milliseconds since 1970.
    pub requested_ms: u64,
    /// When this head came: milliseconds since 1970.
    pub received_ms: u64,
}

/// The longest head that is stored, in bytes as encoded. The origins' heads are capped at 64 KiB or
/// less when they are read; a longer one is not stored.
pub const HEAD_BYTES_MAX: usize = 64 * 1024;
/// The most fields of a stored head, selecting ones included; a head with more is not stored.
pub const FIELDS_MAX: usize = 512;

/// The first byte of an encoded head. Another one belongs to another version of Tidegate.
const FORMAT: u8 = 1;

/// Why a head is not encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooLarge {
    /// More than [`HEAD_BYTES_MAX`].
    Bytes,
    /// More than [`FIELDS_MAX`].
    Fields,
}

/// Why bytes are no head. What was stored there is to be dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnreadableHead {
    /// Written by another version; its first byte.
    Format(u8),
    /// Ends too early.
    Cut,
    /// Goes on behind its end.
    Longer,
    /// More than [`HEAD_BYTES_MAX`] or [`FIELDS_MAX`].
    TooLarge,
    /// A status, name, value or number that none is.
    Malformed,
}

impl StoredHead {
    /// As bytes, at most [`HEAD_BYTES_MAX`].
    pub fn encode(&self) -> Result<Vec<u8>, TooLarge> {
        if self.fields.len() + self.selecting.len() > FIELDS_MAX {
            return Err(TooLarge::Fields);
        }
        let mut bytes = Vec::with_capacity(512);
        bytes.push(FORMAT);
        bytes.extend_from_slice(&self.status.as_u16().to_le_bytes());
        put(&mut bytes, self.requested_ms);
        put(&mut bytes, self.received_ms);
        put_fields(&mut bytes, &self.fields);
        put_fields(&mut bytes, &self.selecting);
        if bytes.len() > HEAD_BYTES_MAX { Err(TooLarge::Bytes) } else { Ok(bytes) }
    }

    /// Reads what [`StoredHead::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, UnreadableHead> {
        if bytes.len() > HEAD_BYTES_MAX {
            return Err(UnreadableHead::TooLarge);
        }
        let mut rest = bytes;
        let format = read_bytes(&mut rest, 1)?[0];
        if format != FORMAT {
            return Err(UnreadableHead::Format(format));
        }
        let status = read_bytes(&mut rest, 2)?;
        let status = StatusCode::from_u16(u16::from_le_bytes([status[0], status[1]]))
            .map_err(|_| UnreadableHead::Malformed)?;
        let requested_ms = number(&mut rest)?;
        let received_ms = number(&mut rest)?;
        let mut fields_left = FIELDS_MAX;
        let fields = fields(&mut rest, &mut fields_left)?;
        let selecting = self::fields(&mut rest, &mut fields_left)?;
        if !rest.is_empty() {
            return Err(UnreadableHead::Longer);
        }
        Ok(Self { status, fields, selecting, requested_ms, received_ms })
    }

    /// Returns its entity tag as it came, quotes and `W/` included.
    pub fn etag(&self) -> Option<&HeaderValue> {
        self.fields.get(header::ETAG)
    }

    /// When the representation last changed, in seconds since 1970: what a client's
    /// `If-Modified-Since` is held against. `Date` stands in where `Last-Modified` is missing, and
    /// the time of receipt where that is missing too (RFC 9111 §4.3.2).
    pub fn modified_unix_secs(&self) -> u64 {
        date::field(&self.fields, &header::LAST_MODIFIED).unwrap_or_else(|| self.date_unix_secs())
    }

    /// When it was made, in seconds since 1970: `Date`, or when it came.
    pub fn date_unix_secs(&self) -> u64 {
        date::field(&self.fields, &header::DATE).unwrap_or(self.received_ms / 1000)
    }
}

/// Seven bits a byte, the lowest first.
fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn put_fields(bytes: &mut Vec<u8>, fields: &HeaderMap) {
    put(bytes, fields.len() as u64);
    for (name, value) in fields {
        if let Some(number) = names::number(name.as_str()) {
            put(bytes, number as u64 + 1);
        } else {
            put(bytes, 0);
            put_text(bytes, name.as_str().as_bytes());
        }
        put_text(bytes, value.as_bytes());
    }
}

fn put_text(bytes: &mut Vec<u8>, text: &[u8]) {
    put(bytes, text.len() as u64);
    bytes.extend_from_slice(text);
}

fn read_bytes<'b>(rest: &mut &'b [u8], count: usize) -> Result<&'b [u8], UnreadableHead> {
    let (taken, behind) = rest.split_at_checked(count).ok_or(UnreadableHead::Cut)?;
    *rest = behind;
    Ok(taken)
}

fn number(rest: &mut &[u8]) -> Result<u64, UnreadableHead> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = read_bytes(rest, 1)?[0];
        // The tenth byte has room for one bit.
        if shift == 63 && byte > 1 {
            return Err(UnreadableHead::Malformed);
        }
        number |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err(UnreadableHead::Malformed)
}

fn text<'b>(rest: &mut &'b [u8]) -> Result<&'b [u8], UnreadableHead> {
    let count = number(rest)?;
    read_bytes(rest, usize::try_from(count).map_err(|_| UnreadableHead::Cut)?)
}

fn fields(rest: &mut &[u8], left: &mut usize) -> Result<HeaderMap, UnreadableHead> {
    let count = usize::try_from(number(rest)?).map_err(|_| UnreadableHead::TooLarge)?;
    *left = left.checked_sub(count).ok_or(UnreadableHead::TooLarge)?;
    // No capacity is set aside by a number that may lie.
    let mut fields = HeaderMap::new();
    for _ in 0..count {
        let name = match number(rest)? {
            0 => HeaderName::from_bytes(text(rest)?).map_err(|_| UnreadableHead::Malformed)?,
            known => names::name(known - 1).ok_or(UnreadableHead::Malformed)?,
        };
        let value = HeaderValue::from_bytes(text(rest)?).map_err(|_| UnreadableHead::Malformed)?;
        fields.try_append(name, value).map_err(|_| UnreadableHead::TooLarge)?;
    }
    Ok(fields)
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes => write!(f, "the head has more than {HEAD_BYTES_MAX} bytes"),
            Self::Fields => write!(f, "the head has more than {FIELDS_MAX} fields"),
        }
    }
}

impl fmt::Display for UnreadableHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format(format) => write!(f, "a head of format {format}, not {FORMAT}"),
            Self::Cut => f.write_str("the head ends too early"),
            Self::Longer => f.write_str("the head goes on behind its end"),
            Self::TooLarge => f.write_str("the head is too large"),
            Self::Malformed => f.write_str("the head is malformed"),
        }
    }
}

impl std::error::Error for TooLarge {}
impl std::error::Error for UnreadableHead {}
