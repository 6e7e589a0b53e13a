//! The URLs that are fetched: those of lists, hooks and downloads.
//!
//! An origin and what is asked of it; user names, other schemes and unwritable hosts are refused.
//! Called by this module's own files, by the effects of the DNS door and by subscriptions.

use origins::{Origin, OriginError, OriginScheme};
use std::fmt;

/// Bytes of a URL's path and query, at most: what common servers take.
const TARGET_BYTES_MAX: usize = 8000;

/// An absolute URL without its fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// Scheme, host and port.
    pub origin: Origin,
    /// Path and query; begins with a slash and is ASCII without blanks.
    pub target: String,
}

/// Why a text is no URL that can be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadUrl {
    /// Leads to no web server.
    Origin(OriginError),
    /// Path and query are longer than 8,000 bytes.
    TooLong,
}

impl Url {
    /// Reads `http://…` and `https://…`; a fragment is left out.
    pub fn parse(text: &str) -> Result<Self, BadUrl> {
        let (scheme, rest) = if let Some(rest) = strip_scheme(text, "http://") {
            (OriginScheme::Http, rest)
        } else if let Some(rest) = strip_scheme(text, "https://") {
            (OriginScheme::Https, rest)
        } else {
            return Err(BadUrl::Origin(OriginError::Scheme));
        };
        let (authority, target) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let origin = Origin::from_authority(scheme, authority).map_err(BadUrl::Origin)?;
        Self::at(origin, target)
    }

    /// Returns what `origin` has at `target`, which may hold a fragment and lack its slash.
    pub fn at(origin: Origin, target: &str) -> Result<Self, BadUrl> {
        let target = target.split('#').next().unwrap_or_default();
        let slash = if target.starts_with('/') { "" } else { "/" };
        let target = format!("{slash}{}", printable(target));
        if target.len() > TARGET_BYTES_MAX {
            Err(BadUrl::TooLong)
        } else {
            Ok(Self { origin, target })
        }
    }

    /// Where a `Location` of this URL's answer leads (RFC 3986 §5.2; servers remove dot segments).
    pub fn join(&self, location: &str) -> Result<Self, BadUrl> {
        if let Some(rest) = location.strip_prefix("//") {
            return Self::parse(&format!("{}://{rest}", self.origin.scheme.as_str()));
        }
        let scheme_ends = location.find(':').unwrap_or(location.len());
        if location[..scheme_ends].chars().all(|it| it.is_ascii_alphanumeric())
            && location[scheme_ends..].starts_with("://")
        {
            return Self::parse(location);
        }
        let path = self.target.split('?').next().unwrap_or_default();
        let target = match location.as_bytes().first() {
            None | Some(b'#') => self.target.clone(),
            Some(b'/') => location.to_owned(),
            Some(b'?') => format!("{path}{location}"),
            Some(_) => {
                let folder = path.rfind('/').map_or("", |at| &path[..=at]);
                format!("{folder}{location}")
            }
        };
        Self::at(self.origin.clone(), &target)
    }

    /// The last part of the path; empty if it ends with a slash.
    pub fn file_name(&self) -> &str {
        let path = self.target.split('?').next().unwrap_or_default();
        path.rsplit('/').next().unwrap_or_default()
    }
}

fn strip_scheme<'t>(text: &'t str, scheme: &str) -> Option<&'t str> {
    let head = text.get(..scheme.len())?;
    head.eq_ignore_ascii_case(scheme).then(|| &text[scheme.len()..])
}

/// Returns what a request line cannot carry, escaped; what was escaped stays as it is.
pub fn printable(text: &str) -> String {
    use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
    const UNPRINTABLE: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'`');
    utf8_percent_encode(text, UNPRINTABLE).to_string()
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin, self.target)
    }
}

impl fmt::Display for BadUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Origin(why) => why.fmt(f),
            Self::TooLong => write!(f, "it is longer than {TARGET_BYTES_MAX} bytes"),
        }
    }
}

impl std::error::Error for BadUrl {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read_and_written() {
        let check = |text: &str, expected: &str| {
            assert_eq!(Url::parse(text).expect(text).to_string(), expected);
        };
        check("http://a.example", "http://a.example/");
        check("HTTPS://A.example:8443/x y?q=ä#part", "https://a.example:8443/x%20y?q=%C3%A4");
        check("http://[::1]:81?q", "http://[::1]:81/?q");
        for wrong in ["", "ftp://a.example/", "http://", "http://u@a.example/", "http://a b/", "x"]
        {
            assert!(Url::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn locations_lead_on_from_where_they_were_given() {
        let from = Url::parse("https://a.example/lists/old.txt?v=1").expect("right");
        let check = |location: &str, expected: &str| {
            assert_eq!(from.join(location).expect(location).to_string(), expected);
        };
        check("http://b.example/x", "http://b.example/x");
        check("//c.example/x", "https://c.example/x");
        check("/new", "https://a.example/new");
        check("new?u=http://x", "https://a.example/lists/new?u=http://x");
        check("?v=2", "https://a.example/lists/old.txt?v=2");
        check("", "https://a.example/lists/old.txt?v=1");
        assert!(from.join("file:///etc/passwd").is_err());
        assert_eq!(from.file_name(), "old.txt");
    }
}
