//! Directives of a response as plain values, whichever field they came from.
//!
//! It reads no field itself. Filled by the reading of `Cache-Control` and of `CDN-Cache-Control`,
//! read by the rules.

use super::rules::{CacheAudience, CachingRules};
use http::header::HeaderName;

/// Names that `no-cache="…"` or `private="…"` may list. With more the directive counts for the
/// whole response, which is the careful reading.
const LISTED_MAX: usize = 64;

/// A directive without an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseFlag {
    NoStore,
    NoCache,
    Private,
    Public,
    MustRevalidate,
    ProxyRevalidate,
    MustUnderstand,
    Immutable,
}

/// Where a response's directives come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DirectiveSource {
    /// `Cache-Control`, beside which `Expires` counts.
    General,
    /// `CDN-Cache-Control`, beside which nothing else counts (RFC 9213 §2.2).
    Targeted,
}

/// Directives of a response (RFC 9111 §5.2.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResponseControl {
    pub(crate) source: DirectiveSource,
    pub(crate) max_age_secs: Option<u32>,
    pub(crate) s_maxage_secs: Option<u32>,
    pub(crate) stale_while_revalidate_secs: Option<u32>,
    pub(crate) stale_if_error_secs: Option<u32>,
    /// Fields that must not be reused without asking: `no-cache="…"`.
    pub(crate) no_cache_fields: Vec<HeaderName>,
    /// Fields that are for one person: `private="…"`.
    pub(crate) private_fields: Vec<HeaderName>,
    flags: u8,
}

impl ResponseControl {
    pub(crate) const fn new(source: DirectiveSource) -> Self {
        Self {
            source,
            max_age_secs: None,
            s_maxage_secs: None,
            stale_while_revalidate_secs: None,
            stale_if_error_secs: None,
            no_cache_fields: Vec::new(),
            private_fields: Vec::new(),
            flags: 0,
        }
    }

    pub(crate) const fn set(&mut self, flag: ResponseFlag) {
        self.flags |= 1 << flag as u8;
    }

    pub(crate) const fn has(&self, flag: ResponseFlag) -> bool {
        self.flags & (1 << flag as u8) != 0
    }

    /// Returns how long it says that it is fresh, if it says so by directive.
    pub(crate) fn lifetime_secs(&self, rules: &CachingRules) -> Option<u32> {
        match rules.audience {
            CacheAudience::Shared => self.s_maxage_secs.or(self.max_age_secs),
            CacheAudience::Private => self.max_age_secs,
        }
    }
}

impl ResponseFlag {
    pub(crate) fn named(name: &[u8]) -> Option<Self> {
        Some(match name.len() {
            6 if is(name, "public") => Self::Public,
            8 if is(name, "no-store") => Self::NoStore,
            9 if is(name, "immutable") => Self::Immutable,
            15 if is(name, "must-revalidate") => Self::MustRevalidate,
            15 if is(name, "must-understand") => Self::MustUnderstand,
            16 if is(name, "proxy-revalidate") => Self::ProxyRevalidate,
            _ => return None,
        })
    }
}

/// Names of a comma-separated list; `None` if one is no name, if there is none, or too many.
pub(crate) fn names(list: &[u8]) -> Option<Vec<HeaderName>> {
    let mut names = Vec::new();
    for name in list.split(|it| *it == b',').map(<[u8]>::trim_ascii).filter(|it| !it.is_empty()) {
        if names.len() == LISTED_MAX {
            return None;
        }
        names.push(HeaderName::from_bytes(name).ok()?);
    }
    (!names.is_empty()).then_some(names)
}

/// True if a name is this word, in whatever case.
pub(crate) fn is(name: &[u8], word: &str) -> bool {
    name.eq_ignore_ascii_case(word.as_bytes())
}
