//! Content codings: which one a client takes, what is worth coding, and the coders themselves.
//!
//! Whole bodies are coded at once ([`one_shot`]), bodies under way piece by piece ([`stream`]);
//! what comes from other servers is undone by [`decode`]. It keeps no result and reads no file:
//! that is the web door's `compress`. Called by the web and gateway doors, and by whoever fetches
//! files.

pub mod accept;
pub mod decode;
pub mod media;
pub mod offer;
pub mod one_shot;
pub mod stream;
pub mod tag;

pub use accept::{AcceptedCodings, IdentityCoding};
pub use media::{CodingWorth, worth_coding};
pub use offer::{CodingDue, CodingOffer};
pub use one_shot::{EncodeError, compress};
pub use stream::EncodedBody;
pub use tag::{coded_tag, to_weak};

use http::HeaderValue;
use http::header::{HeaderMap, VARY};
use std::fmt;

/// A content coding that can be made here (RFC 9110 §8.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ContentCoding {
    /// Zstandard (RFC 8878), with a window of 8 MiB at most as RFC 9659 §3 demands.
    Zstd,
    /// Brotli (RFC 7932).
    Brotli,
    /// gzip (RFC 1952).
    Gzip,
}

/// Every coding, in the order that we prefer among those a client likes equally: zstd costs the
/// least for both sides, brotli is the smallest of the three on text at the levels used here.
pub const PREFERENCE: [ContentCoding; 3] =
    [ContentCoding::Zstd, ContentCoding::Brotli, ContentCoding::Gzip];

/// Holds how hard to try, 1 to 9 in each coder's own terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CodingLevel(u8);

impl CodingLevel {
    /// The least effort.
    pub const MIN: u8 = 1;
    /// The most: more costs a core for milliseconds per 100 kB and gains a percent or two.
    pub const MAX: u8 = 9;

    /// A level from [`CodingLevel::MIN`] to [`CodingLevel::MAX`].
    pub const fn new(level: u8) -> Option<Self> {
        if level >= Self::MIN && level <= Self::MAX { Some(Self(level)) } else { None }
    }

    /// The level that a coding gets where none is set.
    pub const fn default_for(coding: ContentCoding) -> Self {
        match coding {
            ContentCoding::Zstd => Self(3),
            ContentCoding::Brotli => Self(4),
            // libdeflate's first level is smaller than zlib's first and takes half its time; each
            // further one costs more than it saves on a file that is sent a few times.
            ContentCoding::Gzip => Self(1),
        }
    }

    /// As a number.
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl ContentCoding {
    /// Returns its name in `Content-Encoding`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Zstd => "zstd",
            Self::Brotli => "br",
            Self::Gzip => "gzip",
        }
    }

    /// The `Content-Encoding` field.
    pub const fn value(self) -> HeaderValue {
        HeaderValue::from_static(self.as_str())
    }

    /// Returns what a precompressed file's name ends in, without the dot.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Zstd => "zst",
            Self::Brotli => "br",
            Self::Gzip => "gz",
        }
    }
}

impl fmt::Display for ContentCoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Says that the answer depends on `Accept-Encoding` (RFC 9110 §12.5.5). It belongs on every answer
/// that could have been coded, the one sent as it is and 304 included.
pub fn vary(headers: &mut HeaderMap) {
    let names = |value: &HeaderValue| {
        value.to_str().is_ok_and(|list| {
            list.split(',')
                .map(str::trim)
                .any(|name| name == "*" || name.eq_ignore_ascii_case("accept-encoding"))
        })
    };
    if !headers.get_all(VARY).iter().any(names) {
        headers.append(VARY, HeaderValue::from_static("Accept-Encoding"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vary_is_said_once() {
        let mut headers = HeaderMap::new();
        headers.insert(VARY, HeaderValue::from_static("Cookie"));
        vary(&mut headers);
        vary(&mut headers);
        let all: Vec<_> = headers.get_all(VARY).iter().collect();
        assert_eq!(all, ["Cookie", "Accept-Encoding"]);
        headers.clear();
        headers.insert(VARY, HeaderValue::from_static("Origin, accept-encoding"));
        vary(&mut headers);
        assert_eq!(headers.get_all(VARY).iter().count(), 1);
    }

    #[test]
    fn a_level_is_within_its_bounds() {
        assert_eq!(CodingLevel::new(0), None);
        assert_eq!(CodingLevel::new(10), None);
        assert_eq!(CodingLevel::new(9).map(CodingLevel::get), Some(9));
    }
}
