//! Names of fields that stand in most heads, each kept as one number.
//!
//! The order is part of the format on disk: names are added behind, none is moved. Called by the
//! head's encoding only.

use http::header::HeaderName;

/// Fields that origins and content networks send most.
const NAMES: [&str; 54] = [
    "accept-ranges",
    "access-control-allow-credentials",
    "access-control-allow-headers",
    "access-control-allow-methods",
    "access-control-allow-origin",
    "access-control-expose-headers",
    "age",
    "alt-svc",
    "cache-control",
    "cache-status",
    "cdn-cache-control",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-length",
    "content-location",
    "content-security-policy",
    "content-type",
    "cross-origin-opener-policy",
    "cross-origin-resource-policy",
    "date",
    "etag",
    "expires",
    "last-modified",
    "link",
    "location",
    "nel",
    "p3p",
    "permissions-policy",
    "pragma",
    "referrer-policy",
    "report-to",
    "server",
    "server-timing",
    "set-cookie",
    "strict-transport-security",
    "surrogate-key",
    "timing-allow-origin",
    "vary",
    "via",
    "x-amz-request-id",
    "x-cache",
    "x-content-type-options",
    "x-frame-options",
    "x-powered-by",
    "x-served-by",
    "x-timer",
    "x-xss-protection",
    "accept-encoding",
    "accept-language",
    "origin",
    "user-agent",
    "cookie",
    "accept",
];

/// The number of a name, if it has one.
pub(super) fn number(name: &str) -> Option<usize> {
    NAMES.iter().position(|it| *it == name)
}

/// The name of a number.
pub(super) fn name(number: u64) -> Option<HeaderName> {
    let name = NAMES.get(usize::try_from(number).ok()?)?;
    Some(HeaderName::from_static(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_by_its_number_and_stands_once() {
        for (index, text) in NAMES.iter().enumerate() {
            assert_eq!(number(text), Some(index), "{text} stands twice");
            assert_eq!(name(index as u64), Some(HeaderName::from_static(text)));
        }
        assert_eq!(name(NAMES.len() as u64), None);
        assert_eq!(name(u64::MAX), None);
    }
}
