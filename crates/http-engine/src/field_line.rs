//! A field as HTTP/1.1 writes it (RFC 9112 §5), for heads, trailers and interim answers alike.

use http::{HeaderName, HeaderValue};

/// Appends one field line.
pub(crate) fn push_field(out: &mut Vec<u8>, name: &HeaderName, value: &HeaderValue) {
    out.extend_from_slice(name.as_str().as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value.as_bytes());
    out.extend_from_slice(b"\r\n");
}
