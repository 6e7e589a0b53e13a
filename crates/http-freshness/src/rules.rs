//! Choices of a cache where RFC 9111 leaves it one, and what the rules are asked about.
//!
//! Plain words, no decision. Made by a door from its settings; read by every rule.

use http::header::HeaderMap;
use http::{Method, StatusCode};
use vocab::Now;

/// The largest number of seconds: what is above counts as this (RFC 9111 §1.2.2).
pub const DELTA_SECS_MAX: u32 = 1 << 31;

/// The choices of one cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachingRules {
    /// Audience that is served from it.
    pub audience: CacheAudience,
    /// On whose behalf it stands.
    pub side: CacheSide,
    /// Obedience to a request's `Cache-Control` (RFC 9111 §5.2.1 is advice to a cache).
    pub requests: RequestControl,
    /// When a stale response is served that nobody explicitly allowed.
    pub stale: StaleUse,
    /// Treatment of `Set-Cookie`.
    pub cookies: SetCookie,
    /// Treatment of redirects.
    pub redirects: RedirectStorage,
    /// Part of the time since `Last-Modified` for which a response without explicit freshness stays
    /// fresh, in percent: 0 (never) to 100. RFC 9111 §4.2.2 names 10 as typical; httpd and Traffic
    /// Server take it too.
    pub heuristic_percent: u8,
    /// The least that a response without explicit freshness gets, also without `Last-Modified`, in
    /// seconds; the most counts where it is less. None by itself: it is an administrator's word.
    pub heuristic_min_secs: u32,
    /// The most that such a response gets, in seconds. A day, as in httpd and Traffic Server:
    /// beyond it RFC 9111's predecessors asked for a warning.
    pub heuristic_max_secs: u32,
    /// The longest explicit freshness lifetime that is believed, in seconds; at most 2³¹ (RFC 9111
    /// §1.2.2).
    pub explicit_max_secs: u32,
    /// Time past its lifetime for which a response is still served by [`CachingRules::stale`], in
    /// seconds. A week, as in Squid; an explicit permission is not cut, and [`StaleUse::Offline`]
    /// knows no end.
    pub stale_max_secs: u32,
}

/// Tells who is served from a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheAudience {
    /// Several people: `private` responses are not for it, `s-maxage` and `proxy-revalidate` are.
    Shared,
    /// One person.
    Private,
}

/// On whose behalf a cache stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheSide {
    /// The clients': `CDN-Cache-Control` is not addressed to it (RFC 9213 §3.1).
    Forward,
    /// The origin's: `CDN-Cache-Control` comes first.
    Reverse,
}

/// Tells whether clients may steer a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestControl {
    /// Yes.
    Honoured,
    /// No: else every visitor could have the origin asked by reloading.
    Ignored,
}

/// When a stale response is served though nobody explicitly allowed it. Never where the origin
/// forbids it (`no-cache`, `must-revalidate`, `proxy-revalidate`, `s-maxage`). Each choice includes
/// those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StaleUse {
    /// Not at all: only by `max-stale`, `stale-while-revalidate` and `stale-if-error`.
    OnlyIfAllowed,
    /// When the origin cannot be reached (RFC 9111 §4.2.4: "disconnected").
    WhenUnreachable,
    /// And when it answers 500, 502, 503 or 504 (§4.3.3).
    WhenFailing,
    /// Always, and a fresh one is fetched meanwhile: Polipo's relaxed transparency.
    Always,
    /// Always, and the origin is never asked.
    Offline,
}

/// Treatment of `Set-Cookie` in a stored response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetCookie {
    /// Is stored and sent to whoever gets the response, as RFC 9111 §7.3 has it.
    Kept,
    /// Goes to the client that caused the fetch, and to no other.
    Dropped,
    /// The response is not stored: its body may be for one person, as its cookie is.
    Refused,
}

/// Treatment of redirects (300 to 303, 307 and 308).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedirectStorage {
    /// Are stored as other answers are.
    Kept,
    /// None is stored: whoever led clients astray once must not do so for as long as it says.
    Refused,
}

/// A request, as the rules see it.
#[derive(Clone, Copy, Debug)]
pub struct RequestFacts<'a> {
    /// Method.
    pub method: &'a Method,
    /// URL in the form that it is filed under: the primary key (RFC 9111 §2).
    pub url: &'a str,
    /// Fields.
    pub fields: &'a HeaderMap,
    /// When it came.
    pub now: Now,
}

/// Holds what the origin answered, as the rules see it.
#[derive(Clone, Copy, Debug)]
pub struct ResponseFacts<'a> {
    /// Status.
    pub status: StatusCode,
    /// Fields as received.
    pub fields: &'a HeaderMap,
    /// When the request was sent: milliseconds since 1970.
    pub requested_ms: u64,
    /// When the head came: milliseconds since 1970.
    pub received_ms: u64,
}

impl CachingRules {
    /// A proxy that several people share: the clients steer it, and nobody gets another's cookie.
    pub const fn forward() -> Self {
        Self {
            audience: CacheAudience::Shared,
            side: CacheSide::Forward,
            requests: RequestControl::Honoured,
            stale: StaleUse::WhenUnreachable,
            cookies: SetCookie::Dropped,
            redirects: RedirectStorage::Kept,
            heuristic_percent: 10,
            heuristic_min_secs: 0,
            heuristic_max_secs: 24 * 60 * 60,
            explicit_max_secs: DELTA_SECS_MAX,
            stale_max_secs: 7 * 24 * 60 * 60,
        }
    }

    /// A gateway before one's own origins: they steer it, by what they send, but a cookie is for
    /// whom it was made.
    pub const fn reverse() -> Self {
        Self {
            side: CacheSide::Reverse,
            requests: RequestControl::Ignored,
            cookies: SetCookie::Refused,
            ..Self::forward()
        }
    }
}
