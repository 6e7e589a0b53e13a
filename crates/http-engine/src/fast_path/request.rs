//! A simple request as a handler wants it.
//!
//! Its head is copied once, and target and values are slices of that copy; names become lower case
//! and keep their order, as with hyper. It judges nothing: what comes here was read by
//! [`super::head`]. Called by [`super::connection`] for every request that the fast path does not
//! claim.

use super::SimpleRequest;
use crate::incoming::Incoming;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Uri};

/// Fields that a forwarder adds to a request: a map that grows is made anew.
const ADDED: usize = 6;

/// The request whose head is `head`, from which `simple` was read. `None` where the `http` crate
/// has no value for a part of it: then it is not simple.
pub(super) fn of(simple: &SimpleRequest<'_>, head: &[u8]) -> Option<Request<Incoming>> {
    let shared = Bytes::copy_from_slice(head);
    let start = head.as_ptr().addr();
    let slice = |piece: &[u8]| {
        if piece.is_empty() {
            // Where an empty piece points to says nothing.
            return Bytes::new();
        }
        let at = piece.as_ptr().addr() - start;
        shared.slice(at..at + piece.len())
    };
    let mut fields = HeaderMap::with_capacity(simple.fields.len() + ADDED);
    for (name, value) in simple.fields() {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        fields.append(name, HeaderValue::from_maybe_shared(slice(value)).ok()?);
    }
    let mut request = Request::new(Incoming::none());
    *request.method_mut() = simple.method.into();
    *request.uri_mut() = Uri::from_maybe_shared(slice(simple.raw_target.as_bytes())).ok()?;
    *request.version_mut() = simple.version;
    *request.headers_mut() = fields;
    Some(request)
}
