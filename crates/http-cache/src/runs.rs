//! Runs of bytes that make up an answer, and the way to its rest where they cannot go on.

use bytes::Bytes;
use http_engine::body::Body;
use std::ops::Range;
use std::pin::Pin;
use std::rc::Rc;

/// Fetches the rest for a client that is too slow for the others: the body from a byte on, to the
/// last wanted or to the end.
pub(crate) type RefetchRest = Rc<dyn Fn(u64, Option<u64>) -> Rest>;
/// The rest, once it comes; none where it does not.
pub(crate) type Rest = Pin<Box<dyn Future<Output = Option<Body>>>>;

/// A run of bytes of an answer.
pub(crate) enum ByteRun {
    /// These.
    Bytes(Bytes),
    /// Bytes of the stored body.
    Stored(Range<u64>),
}

impl ByteRun {
    /// Returns its length in bytes.
    pub(crate) const fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Stored(range) => range.end - range.start,
        }
    }
}
