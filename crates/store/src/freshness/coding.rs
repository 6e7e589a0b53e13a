//! `Accept-Encoding` in the form in which requests are compared, and whether a request takes what is
//! stored (RFC 9110 §12.5.3).
//!
//! Pure. Called by the rule for variants.

use super::quality;
use http::header::{self, HeaderMap};

/// Codings that origins choose between. Others are left out of the comparison, and [`takes`] sees to
/// it that nobody gets one that it did not name.
const MATTER: [&str; 3] = ["br", "gzip", "zstd"];

/// The codings that matter and are accepted, in one order; `*` and a refused `identity` stay.
pub(crate) fn normal(request: &HeaderMap) -> Vec<u8> {
    let mut words: Vec<&str> = Vec::new();
    for (coding, weight) in quality::members(request, &header::ACCEPT_ENCODING) {
        let coding = if coding == "x-gzip" { "gzip" } else { coding.as_str() };
        if weight > 0 {
            words.extend(MATTER.iter().chain(&["*"]).find(|it| **it == coding));
        } else if coding == "identity" {
            words.push("identity;q=0");
        } else if coding == "*" {
            words.push("*;q=0");
        }
    }
    words.sort_unstable();
    words.dedup();
    words.join(",").into_bytes()
}

/// Whether a request accepts the codings of a stored response.
pub(crate) fn takes(request: &HeaderMap, response: &HeaderMap) -> bool {
    // Without the field any coding is acceptable (§12.5.3).
    if !request.contains_key(header::ACCEPT_ENCODING) {
        return true;
    }
    let accepted: Vec<(String, u16)> =
        quality::members(request, &header::ACCEPT_ENCODING).collect();
    let weight = |coding: &str| {
        let named =
            accepted.iter().find(|(name, _)| name == coding || format!("x-{name}") == coding);
        named.or_else(|| accepted.iter().find(|(name, _)| name == "*")).map(|(_, weight)| *weight)
    };
    let mut codings = response
        .get_all(header::CONTENT_ENCODING)
        .into_iter()
        .flat_map(|line| line.as_bytes().split(|it| *it == b','))
        .map(|coding| String::from_utf8_lossy(coding.trim_ascii()).to_ascii_lowercase())
        .filter(|coding| !coding.is_empty() && coding != "identity");
    codings.all(|coding| weight(&coding).is_some_and(|weight| weight > 0))
}
