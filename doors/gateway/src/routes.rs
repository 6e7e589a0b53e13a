//! Which route a request takes: by host, then by path, in the order of the configuration.

use std::fmt;
use vocab::{DomainName, Name};

/// The hosts that a route is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HostPattern {
    /// This name alone.
    Exact(DomainName),
    /// Everything below this name.
    Below(DomainName),
}

/// The paths that a route is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathPattern {
    /// This path alone.
    Exact(String),
    /// Every path that begins so.
    Prefix(String),
}

/// Why a path is refused before it is held against anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DotSegment;

impl HostPattern {
    /// Reads `www.example` or `*.example`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (rest, below) = match text.strip_prefix("*.") {
            Some(rest) => (rest, Self::Below as fn(DomainName) -> Self),
            None => (text, Self::Exact as fn(DomainName) -> Self),
        };
        DomainName::parse(rest).map(below).map_err(|why| format!("{text:?} is no host: {why}"))
    }

    /// Whether the route is for `host`.
    pub(crate) fn fits(&self, host: Name<'_>) -> bool {
        match self {
            Self::Exact(name) => name.as_name() == host,
            Self::Below(name) => name.as_name() != host && host.is_within(name.as_name()),
        }
    }
}

impl PathPattern {
    /// Reads `/exact` or `/prefix/*`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if !text.starts_with('/') {
            return Err(format!("{text:?} does not begin with a slash"));
        }
        match text.split_once('*') {
            None => Ok(Self::Exact(text.to_owned())),
            Some((prefix, "")) => Ok(Self::Prefix(prefix.to_owned())),
            Some(_) => Err(format!("in {text:?}, * stands elsewhere than at the end")),
        }
    }

    /// Whether the route is for `path`, query excluded.
    pub(crate) fn fits(&self, path: &str) -> bool {
        match self {
            Self::Exact(exact) => exact == path,
            Self::Prefix(prefix) => path.starts_with(prefix.as_str()),
        }
    }
}

/// Refuses paths with `.` or `..` segments, percent-encoded ones included. Browsers resolve them
/// before they ask (WHATWG URL §4.4); whoever sends one hopes that we and the server behind read
/// it differently.
pub(crate) fn check_path(path: &str) -> Result<(), DotSegment> {
    for segment in path.split(['/', '\\']) {
        let dots = dots_only(segment.as_bytes());
        if dots == Some(1) || dots == Some(2) {
            return Err(DotSegment);
        }
    }
    Ok(())
}

/// How many dots a segment is made of; none if of anything else.
fn dots_only(mut segment: &[u8]) -> Option<u32> {
    let mut dots = 0;
    loop {
        segment = match segment {
            [] => return Some(dots),
            [b'.', rest @ ..] | [b'%', b'2', b'e' | b'E', rest @ ..] => rest,
            _ => return None,
        };
        dots += 1;
        if dots > 2 {
            return None;
        }
    }
}

impl fmt::Display for DotSegment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the path has . or .. segments")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    #[test]
    fn hosts_fit_whole_labels() {
        let fits = |pattern: &str, host: &str| {
            HostPattern::parse(pattern).unwrap().fits(Name::from_lowercase(host).unwrap())
        };
        assert!(fits("App.example", "app.example"));
        assert!(!fits("app.example", "www.app.example"));
        assert!(fits("*.example", "a.b.example"));
        assert!(!fits("*.example", "example"));
        assert!(!fits("*.example", "badexample"));
        assert!(HostPattern::parse("a*.example").is_err());
    }

    #[test]
    fn paths_fit_exactly_or_from_the_start() {
        let fits = |pattern: &str, path: &str| PathPattern::parse(pattern).unwrap().fits(path);
        assert!(fits("/*", "/"));
        assert!(fits("/static/*", "/static/a/b.css"));
        assert!(!fits("/static/*", "/staticx"));
        assert!(fits("/health", "/health"));
        assert!(!fits("/health", "/health/x"));
        assert!(PathPattern::parse("/a*b").is_err() && PathPattern::parse("a").is_err());
    }

    #[test]
    fn dot_segments_are_refused_however_written() {
        for path in ["/a/../b", "/..", "/a/./b", "/%2e%2E/etc", "/.%2e", "/a\\..\\b"] {
            assert_eq!(check_path(path), Err(DotSegment), "{path}");
        }
        for path in ["/", "/a/...", "/.env", "/a..b/c", "//", "/a/%2e%2e%2e"] {
            assert_eq!(check_path(path), Ok(()), "{path}");
        }
    }
}
