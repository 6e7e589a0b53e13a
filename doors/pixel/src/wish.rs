//! What a client wants, read from a request's fields: the same for both lanes.
//!
//! Hosts come as text and leave as names or not at all; nothing is decided here. Called by
//! `request` and `quick`.

use http_engine::authority;
use vocab::DomainName;

/// The name in `host[:port]`.
pub(crate) fn host_of(authority: &str) -> Option<DomainName> {
    DomainName::parse(authority::host(authority)).ok()
}

/// The host of the page that asks, as text, from `Referer` or else `Origin`.
pub(crate) fn page_text<'f>(field: impl Fn(&'static str) -> &'f str) -> Option<&'f str> {
    ["referer", "origin"].into_iter().find_map(|name| authority::host_of_url(field(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_that_asks_is_read_from_either_field() {
        let page = |referer: &'static str, origin: &'static str| {
            page_text(move |name| if name == "referer" { referer } else { origin })
        };
        assert_eq!(page("https://news.example:8/a?b", ""), Some("news.example"));
        assert_eq!(page("", "http://news.example"), Some("news.example"));
        assert_eq!(page("", "null"), None);
        assert_eq!(page("", ""), None);
    }
}
