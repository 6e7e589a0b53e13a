//! What a client asked, kept for fetches that outlive its connection.

use http::{HeaderMap, Method};
use http_freshness::{RequestFacts, ResponseFacts};
use vocab::Now;

/// One request for a stored or storable response. It has no body.
#[derive(Clone, Debug)]
pub struct CacheRequest {
    /// `GET` or `HEAD`.
    pub method: Method,
    /// The canonical absolute URL: lower-case scheme and host, no default port, no fragment.
    pub url: String,
    /// Fields, without those of the connection.
    pub fields: HeaderMap,
    /// When it came.
    pub now: Now,
}

impl CacheRequest {
    pub(crate) fn facts(&self) -> RequestFacts<'_> {
        RequestFacts { method: &self.method, url: &self.url, fields: &self.fields, now: self.now }
    }
}

/// An answer as it came, with its two times.
pub(crate) const fn answered(
    response: &http::response::Parts,
    requested: Now,
    received: Now,
) -> ResponseFacts<'_> {
    ResponseFacts {
        status: response.status,
        fields: &response.headers,
        requested_ms: requested.unix_ms,
        received_ms: received.unix_ms,
    }
}
