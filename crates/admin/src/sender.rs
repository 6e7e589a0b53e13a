//! Sender of a request, as browsers tell it: a person, our own page, or a page of another site.
//!
//! Browsers say so in `Sec-Fetch-Site` to addresses that they trust (loopback, HTTPS), and to
//! others in `Origin` or `Referer`, if at all. Programs say nothing. Read by the gate.

use crate::admin_scheme::AdminScheme;
use http::header::{HeaderMap, HeaderName, ORIGIN, REFERER};

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// Origin of a request, as far as its fields tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestOrigin {
    /// A program, or a browser that says nothing.
    Unknown,
    /// A person: an address typed in, or opened from a bookmark or a terminal.
    Person,
    /// A page of ours.
    OwnPage,
    /// A page of another site.
    OtherSite,
    /// A page that embeds what it asks for, as a picture, a script or a frame.
    Embedded,
}

impl RequestOrigin {
    /// Reads the fields of a request that came to `host`, which is ours, by this protocol.
    pub(crate) fn of(headers: &HeaderMap, host: &str, scheme: AdminScheme) -> Self {
        let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        // `fetch` and navigation to a page of a tab's own; everything else is part of a page.
        let is_embedded = text(&FETCH_DEST).is_some_and(|it| it != "document" && it != "empty");
        let page = || text(&ORIGIN).or_else(|| text(&REFERER));
        let site = match text(&FETCH_SITE) {
            Some("same-origin") => Self::OwnPage,
            Some("none") => Self::Person,
            Some(_) => Self::OtherSite,
            None => match page() {
                None => Self::Unknown,
                Some(page) if is_at(page, host, scheme) => Self::OwnPage,
                Some(_) => Self::OtherSite,
            },
        };
        if is_embedded { Self::Embedded } else { site }
    }

    /// True for pages of others: a person of this address need not know what they send, so the
    /// wrong tokens among it are nobody's guesses.
    pub(crate) const fn is_foreign(self) -> bool {
        match self {
            Self::OtherSite | Self::Embedded => true,
            Self::Unknown | Self::Person | Self::OwnPage => false,
        }
    }
}

/// True if an origin, or the address of a page, is one of this host by this protocol.
fn is_at(page: &str, host: &str, scheme: AdminScheme) -> bool {
    let prefix = scheme.prefix();
    let Some((begin, rest)) = page.split_at_checked(prefix.len()) else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    begin.eq_ignore_ascii_case(prefix) && authority.eq_ignore_ascii_case(host)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn sender(fields: &[(&'static str, &'static str)], scheme: AdminScheme) -> RequestOrigin {
        let field = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        RequestOrigin::of(&fields.iter().map(field).collect(), "127.0.0.1:9053", scheme)
    }

    #[test]
    fn browsers_say_who_had_them_send_it() {
        let own = "http://127.0.0.1:9053";
        for (fields, expected) in [
            (vec![], RequestOrigin::Unknown),
            (
                vec![("sec-fetch-site", "none"), ("sec-fetch-dest", "document")],
                RequestOrigin::Person,
            ),
            (
                vec![("sec-fetch-site", "same-origin"), ("sec-fetch-dest", "empty")],
                RequestOrigin::OwnPage,
            ),
            (vec![("sec-fetch-site", "same-site")], RequestOrigin::OtherSite),
            (vec![("sec-fetch-site", "cross-site"), ("origin", own)], RequestOrigin::OtherSite),
            (
                vec![("sec-fetch-site", "none"), ("sec-fetch-dest", "image")],
                RequestOrigin::Embedded,
            ),
            (vec![("origin", own)], RequestOrigin::OwnPage),
            (
                vec![("origin", "null"), ("referer", "http://127.0.0.1:9053/")],
                RequestOrigin::OtherSite,
            ),
            (vec![("referer", "http://127.0.0.1:9053/allow?host=a")], RequestOrigin::OwnPage),
            (vec![("referer", "https://evil.example/")], RequestOrigin::OtherSite),
            (vec![("referer", "http://127.0.0.1:8000/")], RequestOrigin::OtherSite),
            (vec![("referer", "http://127.0.0.1:9053@evil.example/")], RequestOrigin::OtherSite),
        ] {
            assert_eq!(sender(&fields, AdminScheme::Http), expected, "{fields:?}");
        }
    }

    #[test]
    fn a_page_of_the_plain_listener_is_another_site_over_https() {
        for (origin, expected) in [
            ("https://127.0.0.1:9053", RequestOrigin::OwnPage),
            ("HTTPS://127.0.0.1:9053", RequestOrigin::OwnPage),
            ("http://127.0.0.1:9053", RequestOrigin::OtherSite),
            ("https://127.0.0.1", RequestOrigin::OtherSite),
            ("null", RequestOrigin::OtherSite),
        ] {
            assert_eq!(sender(&[("origin", origin)], AdminScheme::Https), expected, "{origin}");
        }
    }
}
