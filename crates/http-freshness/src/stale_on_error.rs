//! Stale-if-error: stored responses in place of an error (RFC 9111 §4.2.4, §4.3.3, RFC 5861 §4).
//!
//! Pure. Called by the store when the origin, asked about a stored response, could not be reached
//! or answered with an error.

use super::control::{RequestDirective, RequestDirectives};
use super::reuse::{self, Freshness, StaleAllowed};
use super::reuse_terms::{ReuseTerms, StaleBan};
use super::rules::{CachingRules, RequestFacts, StaleUse};
use crate::head::StoredHead;
use http::StatusCode;
use std::fmt;

/// Tells what went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OriginTrouble {
    /// No answer came: no connection, or it ended too early.
    Unreachable,
    /// This answer came.
    Status(StatusCode),
}

/// Why the error is passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NotRescued {
    /// The answer is none of those that count as an error: 500, 502, 503, 504 (RFC 5861 §4).
    NoError,
    /// The origin forbids it. Where no answer came, 504 is due (RFC 9111 §5.2.2.2).
    Banned(StaleBan),
    /// The client wants an answer from the origin: `no-cache`.
    ClientNoCache,
    /// Nobody allows it.
    NotAllowed,
    /// Has been stale for longer than is allowed.
    TooStale,
}

/// Returns how old the stored response is that is sent in place of the error, and who allows it; or
/// why the error is passed on.
pub fn stale_on_error(
    rules: &CachingRules,
    asked: &RequestFacts<'_>,
    head: &StoredHead,
    terms: &ReuseTerms,
    trouble: OriginTrouble,
) -> Result<(Freshness, StaleAllowed), NotRescued> {
    let by_rules = match trouble {
        OriginTrouble::Unreachable => (StaleUse::WhenUnreachable, StaleAllowed::Unreachable),
        OriginTrouble::Status(status) if is_error(status) => {
            (StaleUse::WhenFailing, StaleAllowed::Failing)
        }
        OriginTrouble::Status(_) => return Err(NotRescued::NoError),
    };
    if terms.is_foreign_to(rules) {
        return Err(NotRescued::NotAllowed);
    }
    let freshness = reuse::freshness(head, terms, asked.now.unix_ms);
    let ban = terms.ban_at(freshness.age_secs);
    match ban {
        StaleBan::NoCache | StaleBan::MustRevalidate | StaleBan::ProxyRevalidate => {
            return Err(NotRescued::Banned(ban));
        }
        StaleBan::SMaxAge | StaleBan::None => {}
    }
    let directives = RequestDirectives::of(rules, asked.fields);
    if directives.has(RequestDirective::NoCache) {
        return Err(NotRescued::ClientNoCache);
    }
    if freshness.is_within(terms.stale_if_error_secs) {
        return Ok((freshness, StaleAllowed::IfError));
    }
    if ban == StaleBan::SMaxAge {
        return Err(NotRescued::Banned(ban));
    }
    if directives.stale_if_error_secs.is_some_and(|secs| freshness.is_within(secs)) {
        return Ok((freshness, StaleAllowed::IfError));
    }
    let (least, allowed) = by_rules;
    if rules.stale < least {
        return Err(NotRescued::NotAllowed);
    }
    if freshness.is_within(rules.stale_max_secs) {
        Ok((freshness, allowed))
    } else {
        Err(NotRescued::TooStale)
    }
}

const fn is_error(status: StatusCode) -> bool {
    matches!(status.as_u16(), 500 | 502 | 503 | 504)
}

impl fmt::Display for NotRescued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoError => f.write_str("the answer is no error of the origin"),
            Self::Banned(ban) => write!(f, "the origin forbids it by {ban}"),
            Self::ClientNoCache => f.write_str("the client wants an answer from the origin"),
            Self::NotAllowed => {
                f.write_str("neither the origin nor a setting allows a stale response in its place")
            }
            Self::TooStale => f.write_str("what is stored has been stale for too long"),
        }
    }
}
