//! The short way: a stored response, written as bytes without a request or a response in between.
//!
//! It answers only what is fresh, whole and in memory, for requests without conditions, ranges and
//! directives; everything else is for the [exchange](crate::exchange). Called by the fast paths of
//! doors.

use crate::http_cache::HttpCache;
use crate::served::NAME;
use bytes::Bytes;
use http::StatusCode;
use http::header::{AGE, CONTENT_LENGTH, DATE};
use http_engine::fast_path::{FastReply, SimpleMethod, SimpleRequest};
use http_freshness::{Freshness, StoredHead};
use std::io::Write;
use store::AtHand;
use vocab::Now;

/// Up to here a body is copied behind its head, for one write of one piece.
const COPIED_BYTES_MAX: usize = 16 << 10;
/// Fields by which a request asks for more than the whole, as it is stored.
const SPECIAL: [&str; 8] = [
    "cache-control",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "pragma",
    "range",
];

/// An answer that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenAnswer {
    /// Status.
    pub status: u16,
    /// Bytes of its body.
    pub bytes: u32,
    /// What is left to be sent.
    pub reply: FastReply,
}

impl HttpCache {
    /// Appends the stored response for `url` to `out`, with `signature`, lines that the door adds
    /// to every head. Nothing where it cannot be sent at once; nothing is appended then.
    pub fn at_once(
        &self,
        request: &SimpleRequest<'_>,
        url: &str,
        now: Now,
        signature: &[u8],
        out: &mut Vec<u8>,
    ) -> Option<WrittenAnswer> {
        if SPECIAL.iter().any(|name| request.field(name).is_some()) {
            return None;
        }
        let fields = || request.header_map();
        let AtHand { entry, body, freshness } =
            self.store().memory_hit(url, &self.rules, fields, now)?;
        let lines = entry.ready(lines);
        if lines.is_empty() {
            return None;
        }
        out.extend_from_slice(lines);
        handling(freshness, out);
        // Writing into memory cannot fail.
        let _ = write!(out, "age: {}\r\ncontent-length: {}\r\n", freshness.age_secs, body.len());
        out.extend_from_slice(signature);
        request.end_dated_head(out);
        let status = entry.head().status.as_u16();
        let length = body.len() as u32;
        Some(match request.method() {
            SimpleMethod::Head => WrittenAnswer { status, bytes: 0, reply: FastReply::Done },
            SimpleMethod::Get if body.len() > COPIED_BYTES_MAX => {
                WrittenAnswer { status, bytes: length, reply: FastReply::DoneWithBody(body) }
            }
            SimpleMethod::Get => {
                out.extend_from_slice(&body);
                WrittenAnswer { status, bytes: length, reply: FastReply::Done }
            }
        })
    }
}

/// Appends what [`http_freshness::cache_status`] says of a hit, without its allocations.
fn handling(freshness: Freshness, out: &mut Vec<u8>) {
    // Writing into memory cannot fail.
    let _ = write!(out, "cache-status: {NAME};hit;ttl={}\r\n", freshness.ttl_secs);
}

/// The status line and the fields of a stored head that are the same for everybody; nothing where
/// the exchange must send it: a status without a body of its own, or no `Date`.
fn lines(head: &StoredHead) -> Bytes {
    let is_whole =
        head.status.is_success() || head.status.is_redirection() || is_error(head.status);
    let is_special = matches!(
        head.status,
        StatusCode::NO_CONTENT
            | StatusCode::RESET_CONTENT
            | StatusCode::PARTIAL_CONTENT
            | StatusCode::NOT_MODIFIED
    );
    if !is_whole || is_special || !head.fields.contains_key(DATE) {
        return Bytes::new();
    }
    let mut lines = Vec::with_capacity(512);
    lines.extend_from_slice(b"HTTP/1.1 ");
    lines.extend_from_slice(head.status.as_str().as_bytes());
    lines.push(b' ');
    lines.extend_from_slice(head.status.canonical_reason().unwrap_or("").as_bytes());
    lines.extend_from_slice(b"\r\n");
    for (name, value) in &head.fields {
        if name != AGE && name != CONTENT_LENGTH {
            lines.extend_from_slice(name.as_str().as_bytes());
            lines.extend_from_slice(b": ");
            lines.extend_from_slice(value.as_bytes());
            lines.extend_from_slice(b"\r\n");
        }
    }
    lines.into()
}

fn is_error(status: StatusCode) -> bool {
    status.is_client_error() || status.is_server_error()
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_freshness::{HandledRequest, cache_status};

    #[test]
    fn a_hit_is_told_in_the_words_of_the_exchange() {
        for ttl_secs in [1, 3_600, 1 << 31] {
            let freshness = Freshness { age_secs: 0, ttl_secs };
            let mut written = Vec::new();
            handling(freshness, &mut written);
            let told = cache_status(NAME, &HandledRequest::Hit { freshness, stale: None });
            let expected = format!("cache-status: {}\r\n", told.to_str().expect("it is text"));
            assert_eq!(String::from_utf8_lossy(&written), expected);
        }
    }
}
