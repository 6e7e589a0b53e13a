//! A stored response without its body.

use http::{HeaderMap, StatusCode};

/// A response's head as it is stored, with what RFC 9111 §4.2.3 needs to know its age.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// Its status.
    pub status: StatusCode,
    /// Its fields as received, without those that are not stored (RFC 9111 §3.1).
    pub fields: HeaderMap,
    /// The request's fields that `Vary` names, normalised: the secondary key (RFC 9111 §4.1). Empty
    /// where nothing varies.
    pub selecting: HeaderMap,
    /// When the request was sent: milliseconds since 1970.
    pub requested_ms: u64,
    /// When this head came: milliseconds since 1970.
    pub received_ms: u64,
}
