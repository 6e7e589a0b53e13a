//! Several parts of a representation in one answer: `multipart/byteranges` (RFC 9110 §14.6).
//!
//! It lays out what is sent; it reads nothing. Called by the web door for files and by caches.

use crate::range::ByteRange;
use bytes::Bytes;
use http::HeaderValue;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// An answer of several parts, laid out.
pub struct MultipartAnswer {
    /// `Content-Type`.
    pub media: HeaderValue,
    /// What is sent, in order.
    pub segments: Vec<MultipartPiece>,
}

/// A piece of such an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MultipartPiece {
    /// What stands between the parts.
    Between(Bytes),
    /// A part of the representation.
    Part(ByteRange),
}

impl MultipartAnswer {
    /// These parts of a representation of type `media`.
    pub fn new(parts: &[ByteRange], media: Option<&HeaderValue>) -> Self {
        let boundary = boundary();
        let mut segments = Vec::with_capacity(2 * parts.len() + 1);
        for (at, part) in parts.iter().enumerate() {
            let mut head = Vec::with_capacity(160);
            head.extend_from_slice(if at == 0 { b"--" } else { b"\r\n--" });
            head.extend_from_slice(boundary.as_bytes());
            if let Some(media) = media {
                head.extend_from_slice(b"\r\ncontent-type: ");
                head.extend_from_slice(media.as_bytes());
            }
            head.extend_from_slice(b"\r\ncontent-range: ");
            head.extend_from_slice(part.content_range().as_bytes());
            head.extend_from_slice(b"\r\n\r\n");
            segments.push(MultipartPiece::Between(head.into()));
            segments.push(MultipartPiece::Part(*part));
        }
        segments.push(MultipartPiece::Between(Bytes::from(format!("\r\n--{boundary}--\r\n"))));
        let media = HeaderValue::from_str(&format!("multipart/byteranges; boundary={boundary}"))
            .expect("hexadecimal digits are visible ASCII");
        Self { media, segments }
    }

    /// Returns how long it is, in bytes.
    pub fn length(&self) -> u64 {
        let lengths = self.segments.iter().map(|piece| match piece {
            MultipartPiece::Between(bytes) => bytes.len() as u64,
            MultipartPiece::Part(part) => part.len(),
        });
        lengths.sum()
    }
}

/// A line that stands in no representation: nobody can foresee it (the hasher's keys are random).
fn boundary() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Relaxed);
    let random = RandomState::new();
    format!("{:016x}{:016x}", random.hash_one(count), random.hash_one(!count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_stand_between_their_boundaries() {
        let part = |first, last| ByteRange { first, last, total: 100 };
        let media = HeaderValue::from_static("text/plain");
        let laid_out = MultipartAnswer::new(&[part(0, 1), part(90, 99)], Some(&media));
        let boundary = laid_out.media.to_str().unwrap().rsplit('=').next().unwrap().to_owned();
        let text = |at: usize| match &laid_out.segments[at] {
            MultipartPiece::Between(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
            MultipartPiece::Part(part) => format!("{}+{}", part.first, part.len()),
        };
        let range = "\r\ncontent-type: text/plain\r\ncontent-range: bytes";
        assert_eq!(text(0), format!("--{boundary}{range} 0-1/100\r\n\r\n"));
        assert_eq!((text(1), text(3)), ("0+2".into(), "90+10".into()));
        assert_eq!(text(2), format!("\r\n--{boundary}{range} 90-99/100\r\n\r\n"));
        assert_eq!(text(4), format!("\r\n--{boundary}--\r\n"));
        let texts: usize = [0, 2, 4].map(|at| text(at).len()).iter().sum();
        assert_eq!(laid_out.length(), texts as u64 + 12);
    }
}
