//! `Cache-Status` (RFC 9211): what this cache did with a request, in one field.
//!
//! Made of the reasons themselves, so that nothing is left unexplained. Pure. Called by the doors
//! for every answer; a line is added behind those of caches nearer to the origin.

use super::reuse::{Doubt, Freshness, NotFetched, NotReused, StaleAllowed};
use super::stale_on_error::NotRescued;
use super::status_header;
use http::StatusCode;
use http::header::HeaderValue;
use vocab::{CacheUse, Caching, NotStored};

/// Tells what was done with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandledRequest {
    /// Answered from what is stored, as it is.
    Hit {
        /// Age of it.
        freshness: Freshness,
        /// Permission by which it was sent, if it was stale.
        stale: Option<StaleAllowed>,
    },
    /// Answered from what another machine of the fleet has stored, and stored here.
    FleetHit {
        /// Age of it.
        freshness: Freshness,
    },
    /// Answered by this cache itself: 504, nothing was stored that could be sent.
    Refused(NotFetched),
    /// The origin was asked.
    Forwarded {
        /// Why.
        reason: Forward,
        /// Status, if it differs from the answer's (RFC 9211 §2.3).
        status: Option<StatusCode>,
        /// Collapsed if the client waited for another client's request.
        collapse: CollapseStatus,
        /// Outcome of the answer.
        stored: Option<StoredStatus>,
    },
    /// The origin was asked and did not answer, or with an error, and what is stored was sent.
    StaleOnError {
        /// Age of it.
        freshness: Freshness,
        /// Permission by which it was sent.
        allowed_by: StaleAllowed,
        /// The error's status; none if no answer came.
        status: Option<StatusCode>,
    },
}

/// Why the origin was asked (RFC 9211 §2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forward {
    /// The cache is not to be used for this.
    Bypass,
    /// Nothing is stored for the URL.
    UriMiss,
    /// The URL is stored, but another variant of it.
    VaryMiss,
    /// Only some of the bytes are stored.
    Partial,
    /// The stored response is not sent without asking.
    Doubt(Doubt),
    /// The stored response is no answer to this request.
    Never(NotReused),
}

/// Tells whether one request to the origin served several clients (RFC 9211 §2.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollapseStatus {
    /// This client's request went to the origin.
    None,
    /// Another client's did, and this one got its answer.
    Collapsed,
}

/// Outcome of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredStatus {
    /// Is stored, and fresh for so many seconds.
    Stored {
        /// Time for which it stays fresh; 0 or less if it is stale at once.
        ttl_secs: i64,
    },
    /// Is not stored.
    Not(NotStored),
    /// Is an error in whose place nothing could be sent.
    NotRescued(NotRescued),
}

/// The field's value. `cache` is what this cache is called.
pub fn cache_status(cache: &str, handled: &HandledRequest) -> HeaderValue {
    let mut said = status_header::StatusMember::by(cache);
    match handled {
        HandledRequest::Hit { freshness, stale } => {
            said.flag("hit").number("ttl", freshness.ttl_secs);
            if let Some(why) = stale {
                said.token("detail", why.word());
            }
        }
        HandledRequest::FleetHit { freshness } => {
            said.flag("hit").number("ttl", freshness.ttl_secs).token("detail", "fleet");
        }
        HandledRequest::Refused(why) => {
            said.token("detail", why.word());
        }
        HandledRequest::Forwarded { reason: why, status, collapse, stored: kept } => {
            said.token("fwd", why.word());
            if let Some(status) = status {
                said.number("fwd-status", i64::from(status.as_u16()));
            }
            match collapse {
                CollapseStatus::Collapsed => said.flag("collapsed"),
                CollapseStatus::None => &mut said,
            };
            forwarded(&mut said, *why, kept.as_ref());
        }
        HandledRequest::StaleOnError { freshness, allowed_by: why, status } => {
            said.token("fwd", "stale");
            if let Some(status) = status {
                said.number("fwd-status", i64::from(status.as_u16()));
            }
            said.number("ttl", freshness.ttl_secs).token("detail", why.word());
        }
    }
    said.value()
}

fn forwarded(said: &mut status_header::StatusMember, why: Forward, kept: Option<&StoredStatus>) {
    match kept {
        Some(StoredStatus::Stored { ttl_secs }) => {
            said.flag("stored").number("ttl", *ttl_secs);
            if let Some(detail) = why.detail() {
                said.token("detail", detail);
            }
        }
        Some(StoredStatus::Not(reason)) => {
            said.token("detail", reason.word());
        }
        Some(StoredStatus::NotRescued(reason)) => {
            said.token("detail", reason.word());
        }
        None => {
            if let Some(detail) = why.detail() {
                said.token("detail", detail);
            }
        }
    }
}

impl HandledRequest {
    /// The same in the words of the ledger.
    pub const fn caching(&self) -> Caching {
        match *self {
            Self::Hit { stale: None, .. } => Caching::HIT,
            Self::Hit { stale: Some(why), .. } | Self::StaleOnError { allowed_by: why, .. } => {
                Caching { outcome: why.cache_use(), not_stored: None }
            }
            Self::FleetHit { .. } => Caching { outcome: CacheUse::Fleet, not_stored: None },
            Self::Refused(NotFetched::OnlyIfCached) => {
                Caching { outcome: CacheUse::OnlyIfCached, not_stored: None }
            }
            Self::Refused(NotFetched::Offline) => {
                Caching { outcome: CacheUse::OfflineMiss, not_stored: None }
            }
            Self::Forwarded { collapse: CollapseStatus::Collapsed, .. } => {
                Caching { outcome: CacheUse::Collapsed, not_stored: None }
            }
            Self::Forwarded {
                collapse: CollapseStatus::None, reason: why, stored: kept, ..
            } => {
                let not_stored = match kept {
                    Some(StoredStatus::Not(reason)) => Some(reason),
                    Some(StoredStatus::Stored { .. } | StoredStatus::NotRescued(_)) | None => None,
                };
                Caching { outcome: why.cache_use(), not_stored }
            }
        }
    }
}

impl Forward {
    /// The same in the words of the ledger.
    const fn cache_use(self) -> CacheUse {
        match self {
            Self::Bypass => CacheUse::Bypass,
            Self::UriMiss => CacheUse::UriMiss,
            Self::VaryMiss | Self::Never(NotReused::Vary) => CacheUse::VaryMiss,
            Self::Partial => CacheUse::Partial,
            Self::Doubt(Doubt::Stale) => CacheUse::Stale,
            Self::Doubt(Doubt::NoCache) => CacheUse::NoCache,
            Self::Doubt(Doubt::ClientNoCache) => CacheUse::ClientNoCache,
            Self::Doubt(Doubt::ClientMaxAge) => CacheUse::ClientMaxAge,
            Self::Doubt(Doubt::ClientMinFresh) => CacheUse::ClientMinFresh,
            Self::Never(NotReused::ForOrigin) => CacheUse::Precondition,
            Self::Never(NotReused::Method) => CacheUse::Method,
            Self::Never(NotReused::OnlyIfCached) => CacheUse::OnlyIfCached,
            Self::Never(NotReused::Offline) => CacheUse::OfflineMiss,
        }
    }

    /// The registered word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Bypass => "bypass",
            Self::UriMiss => "uri-miss",
            Self::VaryMiss | Self::Never(NotReused::Vary) => "vary-miss",
            Self::Partial => "partial",
            Self::Doubt(Doubt::Stale | Doubt::NoCache) => "stale",
            Self::Doubt(Doubt::ClientNoCache | Doubt::ClientMaxAge | Doubt::ClientMinFresh)
            | Self::Never(NotReused::ForOrigin | NotReused::OnlyIfCached | NotReused::Offline) => {
                "request"
            }
            Self::Never(NotReused::Method) => "method",
        }
    }

    /// Returns what the registered word does not say.
    const fn detail(self) -> Option<&'static str> {
        match self {
            Self::Doubt(Doubt::NoCache) => Some("no-cache"),
            Self::Doubt(Doubt::ClientNoCache) => Some("client-no-cache"),
            Self::Doubt(Doubt::ClientMaxAge) => Some("client-max-age"),
            Self::Doubt(Doubt::ClientMinFresh) => Some("client-min-fresh"),
            Self::Never(NotReused::ForOrigin) => Some("precondition"),
            Self::Bypass
            | Self::UriMiss
            | Self::VaryMiss
            | Self::Partial
            | Self::Doubt(Doubt::Stale)
            | Self::Never(
                NotReused::Method | NotReused::Vary | NotReused::OnlyIfCached | NotReused::Offline,
            ) => None,
        }
    }
}

impl StaleAllowed {
    /// The same in the words of the ledger.
    const fn cache_use(self) -> CacheUse {
        match self {
            Self::MaxStale => CacheUse::MaxStale,
            Self::WhileRevalidate => CacheUse::WhileRevalidate,
            Self::IfError => CacheUse::IfError,
            Self::Unreachable => CacheUse::Unreachable,
            Self::Failing => CacheUse::Failing,
            Self::Relaxed => CacheUse::Relaxed,
            Self::Offline => CacheUse::Offline,
        }
    }

    /// A short word, for `Cache-Status`, the ledger and metrics.
    pub const fn word(self) -> &'static str {
        match self {
            Self::MaxStale => "max-stale",
            Self::WhileRevalidate => "stale-while-revalidate",
            Self::IfError => "stale-if-error",
            Self::Unreachable => "unreachable",
            Self::Failing => "failing",
            Self::Relaxed => "relaxed",
            Self::Offline => "offline",
        }
    }
}

impl NotFetched {
    /// A short word, for `Cache-Status`, the ledger and metrics.
    pub const fn word(self) -> &'static str {
        match self {
            Self::OnlyIfCached => "only-if-cached",
            Self::Offline => "offline",
        }
    }
}

impl NotRescued {
    /// A short word, for `Cache-Status`, the ledger and metrics.
    pub const fn word(self) -> &'static str {
        match self {
            Self::NoError => "no-error",
            Self::Banned(_) => "stale-banned",
            Self::ClientNoCache => "client-no-cache",
            Self::NotAllowed => "stale-not-allowed",
            Self::TooStale => "too-stale",
        }
    }
}
