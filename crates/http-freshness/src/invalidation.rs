//! Invalidation of stored responses by a request that may have changed something (RFC 9111 §4.4).
//!
//! Pure: it names URLs, the store drops what is filed under them. Called by the store when the
//! answer to a request is there.

use super::rules::{RequestFacts, ResponseFacts};
use super::target;
use http::Method;
use http::header;

/// Methods that are registered as safe (RFC 9110 §9.2.1). What is unknown may change anything.
const SAFE: [&str; 9] =
    ["GET", "HEAD", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "REPORT", "SEARCH", "QUERY"];

/// True if a method changes nothing by its definition. `CONNECT` has no URL that could be stored.
pub fn is_safe(method: &Method) -> bool {
    SAFE.contains(&method.as_str())
}

/// The URLs whose stored responses are not to be used any longer: at most three, each once. None
/// after a safe method, or after an error: then nothing has changed.
pub fn invalidation(asked: &RequestFacts<'_>, answered: &ResponseFacts<'_>) -> Vec<String> {
    let went_well = answered.status.is_success() || answered.status.is_redirection();
    if is_safe(asked.method) || !went_well {
        return Vec::new();
    }
    let mut urls = vec![asked.url.to_owned()];
    for name in [header::LOCATION, header::CONTENT_LOCATION] {
        let Some(reference) = answered.fields.get(name) else { continue };
        let Some(url) = target::of_same_origin(asked.url, reference) else { continue };
        if !urls.iter().any(|it| it == url.as_str()) {
            urls.push(url.into());
        }
    }
    urls
}
