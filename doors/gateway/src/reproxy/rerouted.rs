//! A path that a server names to be routed, and the fields of its answer that go with it.
//!
//! An extension of an answer without a body, until `reroute` takes it. Made by the parent module.

use http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, EXPIRES, HeaderMap, HeaderName, SET_COOKIE,
};

/// Fields of an answer that stand over those of what it leads to, as with nginx.
const KEPT: [HeaderName; 5] =
    [CONTENT_TYPE, CONTENT_DISPOSITION, SET_COOKIE, CACHE_CONTROL, EXPIRES];

/// A path that is to be routed.
#[derive(Clone, Debug)]
pub(crate) struct ReroutedPath {
    /// Path and query.
    pub(crate) path: String,
    /// Fields that stand over those of what it leads to.
    pub(crate) fields: HeaderMap,
}

/// The fields of an answer that stand over those of what it leads to.
pub(super) fn kept(headers: &HeaderMap) -> HeaderMap {
    let mut kept = HeaderMap::new();
    for name in &KEPT {
        for value in headers.get_all(name) {
            kept.append(name, value.clone());
        }
    }
    kept
}

/// Puts fields that were kept in place of those of `headers`.
pub(crate) fn stand_over(headers: &mut HeaderMap, kept: &HeaderMap) {
    for name in kept.keys() {
        headers.remove(name);
        for value in kept.get_all(name) {
            headers.append(name, value.clone());
        }
    }
}
