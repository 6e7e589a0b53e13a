//! One request of the exporter, its answer, and the trait of whoever can send it.

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use std::fmt;
use std::time::Duration;

/// A request to a collector, by `POST`.
#[derive(Clone, Debug)]
pub struct OtlpPost {
    /// Where it goes.
    pub url: String,
    /// Header fields, besides those of the connection.
    pub headers: HeaderMap,
    /// Encoded batch.
    pub body: Bytes,
    /// Time for all of it.
    pub timeout: Duration,
}

/// The answer of a collector.
#[derive(Clone, Debug)]
pub struct OtlpAnswer {
    /// Status.
    pub status: StatusCode,
    /// Value of `Retry-After`.
    pub retry_after: Option<String>,
    /// Body, or as much of it as was read.
    pub body: Bytes,
}

/// Reason why there is no answer, in words without secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransportFailure(pub String);

/// A way to post, for one thread that may wait.
pub trait OtlpTransport {
    /// Sends a request and waits for its answer.
    fn post(&mut self, post: OtlpPost) -> Result<OtlpAnswer, TransportFailure>;
}

impl fmt::Display for TransportFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TransportFailure {}
