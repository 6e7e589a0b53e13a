//! On which terms a stored response may be used: how long it is fresh, what happens when it is not,
//! and how old it was when it came (RFC 9111 §4.2).
//!
//! Worked out once from rules and head, so that a hit is arithmetic; never kept on disk, so that
//! changed settings count for what is stored already. Pure. Called when a response is stored,
//! freshened or read from disk.

use super::control;
use super::response_control::{DirectiveSource, ResponseControl, ResponseFlag};
use super::rules::{CacheAudience, CachingRules, DELTA_SECS_MAX, SetCookie};
use super::{age, date, fields, tags};
use crate::head::StoredHead;
use http::StatusCode;
use http::header::{self, HeaderMap};
use std::fmt;

/// Holds how a stored response may be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReuseTerms {
    /// Time for which it is fresh, counted by its age: seconds, at most 2³¹.
    pub lifetime_secs: u32,
    /// Source of that lifetime.
    pub basis: LifetimeBasis,
    /// Age of it when it came: milliseconds (§4.2.3, `corrected_initial_age`).
    pub initial_age_ms: u64,
    /// Need to ask the origin even while it is fresh.
    pub validation: ValidationNeed,
    /// Ban on serving it stale.
    pub stale: StaleBan,
    /// Time for which it may be served stale while a new one is fetched: seconds past its lifetime
    /// (RFC 5861 §3).
    pub stale_while_revalidate_secs: u32,
    /// Time for which it may be served stale in place of an error: seconds past its lifetime (RFC
    /// 5861 §4).
    pub stale_if_error_secs: u32,
    /// Expectation that it changes while it is fresh, or does not (RFC 8246).
    pub change: ChangeExpectation,
    /// Set for a response that sets a cookie: rules that store no such response do not use one
    /// either.
    pub sets_cookie: bool,
    /// Tags by which it can be purged: `Surrogate-Key`, `Cache-Tag`.
    pub tags: Box<[Box<str>]>,
}

/// Tells what a freshness lifetime rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LifetimeBasis {
    /// `Cache-Control: s-maxage`.
    SMaxAge,
    /// `Cache-Control: max-age`.
    MaxAge,
    /// `CDN-Cache-Control`.
    Targeted,
    /// `Expires` less `Date`.
    Expires,
    /// A part of the time since `Last-Modified`.
    Heuristic,
    /// The least that the administrator gives to what says nothing.
    HeuristicMin,
    /// Nothing: it is stale at once.
    Nothing,
    /// Was purged softly: it is stale from then on.
    Purged,
}

/// When the origin must be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValidationNeed {
    /// When it is stale.
    WhenStale,
    /// Before every use: `no-cache`.
    Always,
}

/// Tells what forbids serving it stale (RFC 9111 §4.2.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StaleBan {
    /// Nothing.
    None,
    /// `no-cache`.
    NoCache,
    /// `must-revalidate`.
    MustRevalidate,
    /// `proxy-revalidate`, in a shared cache.
    ProxyRevalidate,
    /// `s-maxage`, in a shared cache. Origins write `s-maxage=60, stale-while-revalidate=600` and
    /// mean it, so what they explicitly allow beside it counts; nothing else does.
    SMaxAge,
}

/// Tells whether it may change while it is fresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeExpectation {
    /// It may change.
    Possible,
    /// Says that it will not: a plain reload is served from here.
    Immutable,
}

impl ReuseTerms {
    /// The terms of a head.
    pub fn of(rules: &CachingRules, head: &StoredHead) -> Self {
        Self::under(rules, &ResponseControl::of(rules, &head.fields), head)
    }

    pub(crate) fn under(
        rules: &CachingRules,
        control: &ResponseControl,
        head: &StoredHead,
    ) -> Self {
        let (lifetime_secs, basis) = lifetime(rules, control, head);
        Self {
            lifetime_secs,
            basis,
            initial_age_ms: age::initial_ms(head),
            validation: if control.has(ResponseFlag::NoCache) {
                ValidationNeed::Always
            } else {
                ValidationNeed::WhenStale
            },
            stale: stale_ban(rules, control),
            stale_while_revalidate_secs: control.stale_while_revalidate_secs.unwrap_or(0),
            stale_if_error_secs: control.stale_if_error_secs.unwrap_or(0),
            change: if control.has(ResponseFlag::Immutable) {
                ChangeExpectation::Immutable
            } else {
                ChangeExpectation::Possible
            },
            sets_cookie: fields::sets_cookie(&head.fields),
            // Too many: it was not stored, or by another version.
            tags: tags::tags(&head.fields).unwrap_or_default(),
        }
    }

    /// Returns its age at a moment, in seconds (RFC 9111 §4.2.3, `current_age`). A clock that was
    /// set back makes nothing younger than it came.
    pub fn age_secs(&self, head: &StoredHead, unix_ms: u64) -> u32 {
        let resident_ms = unix_ms.saturating_sub(head.received_ms);
        let secs = self.initial_age_ms.saturating_add(resident_ms) / 1000;
        u32::try_from(secs).map_or(DELTA_SECS_MAX, |secs| secs.min(DELTA_SECS_MAX))
    }

    /// True if these rules would not store it, unlike those by which it was stored.
    pub(crate) fn is_foreign_to(&self, rules: &CachingRules) -> bool {
        self.sets_cookie && rules.cookies == SetCookie::Refused
    }

    /// Returns what forbids serving it at this age without asking. While it is fresh only
    /// `no-cache` does.
    pub(crate) fn ban_at(&self, age_secs: u32) -> StaleBan {
        let is_fresh = age_secs < self.lifetime_secs;
        if is_fresh && self.stale != StaleBan::NoCache { StaleBan::None } else { self.stale }
    }

    /// Ends its freshness at this age: a soft purge. What may be served stale counts from here.
    pub fn end_freshness(&mut self, age_secs: u32) {
        if age_secs < self.lifetime_secs {
            self.lifetime_secs = age_secs;
            self.basis = LifetimeBasis::Purged;
        }
    }
}

/// RFC 9111 §4.2.1, in its order.
fn lifetime(
    rules: &CachingRules,
    control: &ResponseControl,
    head: &StoredHead,
) -> (u32, LifetimeBasis) {
    if let Some(secs) = control.lifetime_secs(rules) {
        let shared = rules.audience == CacheAudience::Shared && control.s_maxage_secs.is_some();
        let basis = match control.source {
            DirectiveSource::Targeted => LifetimeBasis::Targeted,
            DirectiveSource::General if shared => LifetimeBasis::SMaxAge,
            DirectiveSource::General => LifetimeBasis::MaxAge,
        };
        return (secs.min(rules.explicit_max_secs), basis);
    }
    // Of several lines the first counts, and an invalid one is in the past (§5.3).
    if control.source == DirectiveSource::General && head.fields.contains_key(header::EXPIRES) {
        let expires = date::field(&head.fields, &header::EXPIRES).unwrap_or(0);
        let secs = expires.saturating_sub(head.date_unix_secs());
        return (capped(secs, rules.explicit_max_secs), LifetimeBasis::Expires);
    }
    match heuristic_secs(rules, control, head) {
        (0, _) => (0, LifetimeBasis::Nothing),
        found => found,
    }
}

/// RFC 9111 §4.2.2: a part of the time for which it has not changed, within the bounds that the
/// administrator sets.
fn heuristic_secs(
    rules: &CachingRules,
    control: &ResponseControl,
    head: &StoredHead,
) -> (u32, LifetimeBasis) {
    let none = (0, LifetimeBasis::Nothing);
    if !is_heuristically_cacheable(head.status) && !control.has(ResponseFlag::Public) {
        return none;
    }
    // An old way to say no, where nothing newer is said.
    if control::pragma_no_cache(&head.fields) && !head.fields.contains_key(header::CACHE_CONTROL) {
        return none;
    }
    let unchanged = date::field(&head.fields, &header::LAST_MODIFIED)
        .map_or(0, |modified| head.date_unix_secs().saturating_sub(modified));
    let part = unchanged.saturating_mul(u64::from(rules.heuristic_percent.min(100))) / 100;
    let part = capped(part, rules.heuristic_max_secs);
    let least = rules.heuristic_min_secs.min(rules.heuristic_max_secs);
    if part < least {
        (least, LifetimeBasis::HeuristicMin)
    } else {
        (part, LifetimeBasis::Heuristic)
    }
}

fn capped(secs: u64, most: u32) -> u32 {
    u32::try_from(secs).map_or(most, |secs| secs.min(most))
}

/// Statuses that may be kept without being told so (RFC 9110 §15.1).
pub(crate) const fn is_heuristically_cacheable(status: StatusCode) -> bool {
    matches!(status.as_u16(), 200 | 203 | 204 | 206 | 300 | 301 | 308 | 404 | 405 | 410 | 414 | 501)
}

/// True if freshness is said, whatever it is.
pub(crate) fn is_explicit(
    rules: &CachingRules,
    control: &ResponseControl,
    fields: &HeaderMap,
) -> bool {
    control.lifetime_secs(rules).is_some()
        || (control.source == DirectiveSource::General && fields.contains_key(header::EXPIRES))
}

fn stale_ban(rules: &CachingRules, control: &ResponseControl) -> StaleBan {
    let shared = rules.audience == CacheAudience::Shared;
    if control.has(ResponseFlag::NoCache) {
        StaleBan::NoCache
    } else if control.has(ResponseFlag::MustRevalidate) {
        StaleBan::MustRevalidate
    } else if shared && control.has(ResponseFlag::ProxyRevalidate) {
        StaleBan::ProxyRevalidate
    } else if shared && control.s_maxage_secs.is_some() {
        StaleBan::SMaxAge
    } else {
        StaleBan::None
    }
}

impl fmt::Display for LifetimeBasis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SMaxAge => "s-maxage",
            Self::MaxAge => "max-age",
            Self::Targeted => "CDN-Cache-Control",
            Self::Expires => "Expires",
            Self::Heuristic => "a part of the time since Last-Modified",
            Self::HeuristicMin => "the least that cache.freshness gives",
            Self::Nothing => "nothing that says how long",
            Self::Purged => "a purge",
        })
    }
}

impl fmt::Display for StaleBan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "nothing",
            Self::NoCache => "no-cache",
            Self::MustRevalidate => "must-revalidate",
            Self::ProxyRevalidate => "proxy-revalidate",
            Self::SMaxAge => "s-maxage",
        })
    }
}
