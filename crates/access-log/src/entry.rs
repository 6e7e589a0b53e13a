//! A request that is done, as a line tells of it.

use http::Version;
use std::net::IpAddr;
use vocab::{Action, CacheUse, Caching, Door, Source};

/// A request that is done.
pub struct AccessLogEntry<'e> {
    /// The door that it came to.
    pub door: Door,
    /// The client.
    pub client: IpAddr,
    /// The proven name, or nothing.
    pub user: &'e str,
    /// Time at which it came, in milliseconds since 1970.
    pub unix_ms: u64,
    /// Method, as sent.
    pub method: &'e str,
    /// Path and query as sent; at the proxy the URL, or `host:port`.
    pub target: &'e str,
    /// `HTTP/1.1` and the like.
    pub protocol: &'e str,
    /// `http` or `https`.
    pub scheme: &'e str,
    /// The host that it is for, without a port.
    pub host: &'e str,
    /// Status of the answer.
    pub status: u16,
    /// Bytes of body sent.
    pub bytes: u64,
    /// Microseconds until its last byte was sent.
    pub duration_us: u64,
    /// Decision of the policy.
    pub action: Action,
    /// Source of the answer.
    pub source: Source,
    /// Doings of the cache.
    pub caching: Caching,
    /// Finds a field of the request by its name in lower case.
    pub field: &'e dyn Fn(&str) -> Option<&'e [u8]>,
}

impl AccessLogEntry<'_> {
    /// A field of the request, or nothing.
    pub(crate) fn field(&self, name: &str) -> &[u8] {
        (self.field)(name).unwrap_or_default()
    }

    /// Doings of the cache in nginx's words; empty where none was asked.
    pub(crate) const fn cache_status(&self) -> &'static str {
        match self.caching.outcome {
            CacheUse::NotAsked => "",
            CacheUse::Hit | CacheUse::Collapsed | CacheUse::Fleet => "HIT",
            CacheUse::MaxStale
            | CacheUse::IfError
            | CacheUse::Unreachable
            | CacheUse::Failing
            | CacheUse::Offline => "STALE",
            CacheUse::WhileRevalidate | CacheUse::Relaxed => "UPDATING",
            CacheUse::OnlyIfCached
            | CacheUse::OfflineMiss
            | CacheUse::UriMiss
            | CacheUse::VaryMiss
            | CacheUse::Partial => "MISS",
            CacheUse::Stale | CacheUse::NoCache => "EXPIRED",
            CacheUse::Bypass
            | CacheUse::ClientNoCache
            | CacheUse::ClientMaxAge
            | CacheUse::ClientMinFresh
            | CacheUse::Precondition
            | CacheUse::Method => "BYPASS",
        }
    }
}

/// A version as access logs write it.
pub fn protocol(version: Version) -> &'static str {
    match version {
        Version::HTTP_10 => "HTTP/1.0",
        Version::HTTP_2 => "HTTP/2.0",
        _ => "HTTP/1.1",
    }
}
