//! Host, page and authority of a request, read from its fields: the same for the fast path and for
//! the rest.
//!
//! Hosts come as text and leave as names or not at all; nothing is decided here. Called by the
//! doors' `request` and `quick`.

use http::HeaderMap;
use http::Uri;
use http::header::{HOST, HeaderName, ORIGIN, REFERER};
use http::uri::Authority;
use http_engine::authority;
use vocab::DomainName;

/// A field as text; empty where it is missing or no text.
pub fn field_text<'h>(headers: &'h HeaderMap, field: &HeaderName) -> &'h str {
    headers.get(field).and_then(|value| value.to_str().ok()).unwrap_or("")
}

/// The authority that a request is for: that of an absolute target, or of HTTP/2, stands over Host
/// (RFC 9112 §3.2.2).
pub fn target_authority<'r>(target: &'r Uri, headers: &'r HeaderMap) -> &'r str {
    target.authority().map_or_else(|| field_text(headers, &HOST), Authority::as_str)
}

/// The name in `host[:port]`.
pub fn host_of(authority: &str) -> Option<DomainName> {
    DomainName::parse(authority::host(authority)).ok()
}

/// The host of the page that makes a request: of `Referer`, or of `Origin` where that names none.
pub fn page_of(headers: &HeaderMap) -> Option<DomainName> {
    [REFERER, ORIGIN].iter().find_map(|field| page_host(field_text(headers, field)))
}

/// The host of the page, from fields that are read by name.
pub fn page_of_fields<'f>(field: impl Fn(&'static str) -> &'f str) -> Option<DomainName> {
    ["referer", "origin"].into_iter().find_map(|name| page_host(field(name)))
}

/// The host of the page as text, which may be no name.
pub fn page_text<'f>(field: impl Fn(&'static str) -> &'f str) -> Option<&'f str> {
    ["referer", "origin"].into_iter().find_map(|name| authority::host_of_url(field(name)))
}

/// The host of a page's URL.
pub fn page_host(url: &str) -> Option<DomainName> {
    DomainName::parse(authority::host_of_url(url)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGES: [(&str, &str, Option<&str>); 7] = [
        ("https://news.example:8/a?b", "", Some("news.example")),
        ("https://News.Example/", "http://other.example", Some("news.example")),
        ("", "http://news.example", Some("news.example")),
        // An Origin that is hidden names no page, though it reads like a host.
        ("", "null", None),
        // A name and a password are no part of a Referer (RFC 9110 §10.1.3).
        ("https://me@news.example/", "", None),
        ("about:blank", "https://news.example", Some("news.example")),
        ("", "", None),
    ];

    #[test]
    fn the_page_is_read_from_either_field_alike_on_both_paths() {
        for (referer, origin, expected) in PAGES {
            let mut headers = HeaderMap::new();
            headers.insert(REFERER, referer.parse().expect("a field's value"));
            headers.insert(ORIGIN, origin.parse().expect("a field's value"));
            let field = |name: &str| if name == "referer" { referer } else { origin };
            let expected = expected.map(|page| DomainName::parse(page).expect("a name"));
            assert_eq!(page_of(&headers), expected, "{referer} {origin}");
            assert_eq!(page_of_fields(field), expected, "{referer} {origin}");
        }
    }

    #[test]
    fn an_absolute_target_stands_over_host() {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, "a.example".parse().expect("a field's value"));
        let authority = |target: &str| {
            let target: Uri = target.parse().expect("a target");
            target_authority(&target, &headers).to_owned()
        };
        assert_eq!(authority("/x"), "a.example");
        assert_eq!(authority("http://b.example:8/x"), "b.example:8");
    }
}
