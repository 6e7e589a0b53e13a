//! Reuse of a stored response for a request, and what must be done first if not (RFC 9111 §4).
//!
//! It fetches nothing. The client's own preconditions and ranges are judged by the door, against
//! the response that these rules let it use. Pure. Called by the store for the response that the
//! request selects ([`super::vary::choose`]).

use super::control::{RequestDirective, RequestDirectives};
use super::reuse_terms::{ChangeExpectation, ReuseTerms, StaleBan, ValidationNeed};
use super::rules::{CachingRules, RequestFacts, StaleUse};
use super::validation::ValidationConditions;
use super::vary;
use crate::head::StoredHead;
use http::Method;
use http::header;
use std::fmt;

/// Tells what to do with a stored response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// Send it.
    Fresh(Freshness),
    /// Send it, though it is stale or was not asked about.
    Stale {
        /// Age of it.
        freshness: Freshness,
        /// Permission by which it is sent.
        allowed_by: StaleAllowed,
        /// Background fetch of a new one, or none.
        refresh: RefreshMode,
    },
    /// Ask the origin, with these conditions; without any, fetch it again.
    Validate {
        /// Why it is not sent as it is.
        reason: Doubt,
        /// Conditions to ask the origin with.
        conditions: ValidationConditions,
    },
    /// Is no answer to this request.
    Never(NotReused),
}

/// Holds how old a response is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// Age in seconds, as `Age` says it.
    pub age_secs: u32,
    /// Time for which it stays fresh, in seconds; 0 or less if it is stale.
    pub ttl_secs: i64,
}

/// Tells who allows that a stale response is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StaleAllowed {
    /// The client, by `max-stale`.
    MaxStale,
    /// The origin, by `stale-while-revalidate`.
    WhileRevalidate,
    /// The origin or the client, by `stale-if-error`.
    IfError,
    /// [`StaleUse::WhenUnreachable`]: the origin cannot be reached.
    Unreachable,
    /// [`StaleUse::WhenFailing`]: the origin answers with an error.
    Failing,
    /// [`StaleUse::Always`].
    Relaxed,
    /// [`StaleUse::Offline`].
    Offline,
}

/// Tells whether a new response is fetched behind the client's back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefreshMode {
    /// No.
    None,
    /// Yes, by one fetch however many clients come.
    Background,
}

/// Why a stored response is not sent without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Doubt {
    /// Is stale.
    Stale,
    /// The origin wants to be asked each time: `no-cache`.
    NoCache,
    /// The client wants the origin to be asked: `no-cache`.
    ClientNoCache,
    /// The client wants nothing that old: `max-age`.
    ClientMaxAge,
    /// The client wants it to stay fresh for longer: `min-fresh`.
    ClientMinFresh,
}

/// Why a stored response is no answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NotReused {
    /// The method is not answered from what is stored: the request goes to the origin.
    Method,
    /// Has preconditions that are for the origin to judge: `If-Match`, `If-Unmodified-Since`.
    ForOrigin,
    /// Selects another variant: the request goes to the origin.
    Vary,
    /// The client wants only what is stored, and it may not be sent as it is: 504.
    OnlyIfCached,
    /// The origin is not to be asked, and it may not be sent unasked: 504.
    Offline,
}

/// Why nothing is fetched where nothing is stored: 504 is due (RFC 9111 §5.2.1.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NotFetched {
    /// The client wants only what is stored: `only-if-cached`.
    OnlyIfCached,
    /// The origin is not to be asked: [`StaleUse::Offline`].
    Offline,
}

/// Returns what to do with a stored response for a request.
pub fn reuse(
    rules: &CachingRules,
    asked: &RequestFacts<'_>,
    head: &StoredHead,
    terms: &ReuseTerms,
) -> Reuse {
    if *asked.method != Method::GET && *asked.method != Method::HEAD {
        return Reuse::Never(NotReused::Method);
    }
    if [header::IF_MATCH, header::IF_UNMODIFIED_SINCE]
        .iter()
        .any(|it| asked.fields.contains_key(it))
    {
        return Reuse::Never(NotReused::ForOrigin);
    }
    if !vary::matches(head, asked.fields) {
        return Reuse::Never(NotReused::Vary);
    }
    let directives = RequestDirectives::of(rules, asked.fields);
    if terms.is_foreign_to(rules) {
        return ask(rules, &directives, Doubt::Stale, ValidationConditions::default());
    }
    let freshness = freshness(head, terms, asked.now.unix_ms);
    let Some(why) = doubt(&directives, freshness, terms) else { return Reuse::Fresh(freshness) };
    if let Some((why, refresh)) = allowed(rules, &directives, freshness, terms, why) {
        return Reuse::Stale { freshness, allowed_by: why, refresh };
    }
    ask(rules, &directives, why, ValidationConditions::of(head))
}

/// The origin is asked, unless client or settings forbid that.
fn ask(
    rules: &CachingRules,
    directives: &RequestDirectives,
    why: Doubt,
    conditions: ValidationConditions,
) -> Reuse {
    match unfetched(rules, directives) {
        Some(NotFetched::OnlyIfCached) => Reuse::Never(NotReused::OnlyIfCached),
        Some(NotFetched::Offline) => Reuse::Never(NotReused::Offline),
        None => Reuse::Validate { reason: why, conditions },
    }
}

/// Returns whether a request for which nothing is stored may go to the origin.
pub fn miss(rules: &CachingRules, asked: &RequestFacts<'_>) -> Result<(), NotFetched> {
    unfetched(rules, &RequestDirectives::of(rules, asked.fields)).map_or(Ok(()), Err)
}

fn unfetched(rules: &CachingRules, directives: &RequestDirectives) -> Option<NotFetched> {
    if directives.has(RequestDirective::OnlyIfCached) {
        Some(NotFetched::OnlyIfCached)
    } else if rules.stale == StaleUse::Offline {
        Some(NotFetched::Offline)
    } else {
        None
    }
}

/// Returns how old a stored response is at a moment.
pub fn freshness(head: &StoredHead, terms: &ReuseTerms, unix_ms: u64) -> Freshness {
    let age_secs = terms.age_secs(head, unix_ms);
    Freshness { age_secs, ttl_secs: i64::from(terms.lifetime_secs) - i64::from(age_secs) }
}

impl Freshness {
    /// True if it is fresh.
    pub const fn is_fresh(self) -> bool {
        self.ttl_secs > 0
    }

    /// Returns how long it has been stale, in seconds; 0 while it is fresh.
    pub const fn stale_secs(self) -> u64 {
        if self.ttl_secs > 0 { 0 } else { self.ttl_secs.unsigned_abs() }
    }

    /// True if it is at most so many seconds past its lifetime. The second in which they pass is
    /// past already: ages are rounded down.
    pub(crate) const fn is_within(self, secs: u32) -> bool {
        self.stale_secs() < secs as u64
    }
}

fn doubt(
    directives: &RequestDirectives,
    freshness: Freshness,
    terms: &ReuseTerms,
) -> Option<Doubt> {
    if terms.validation == ValidationNeed::Always {
        return Some(Doubt::NoCache);
    }
    if directives.has(RequestDirective::NoCache) {
        return Some(Doubt::ClientNoCache);
    }
    // RFC 8246 §2: a reload of what says that it does not change needs no question.
    let never_changes = terms.change == ChangeExpectation::Immutable && freshness.is_fresh();
    // `max-age=0` is how browsers reload, in the first second too.
    if directives.max_age_secs.is_some_and(|most| freshness.age_secs >= most) && !never_changes {
        return Some(Doubt::ClientMaxAge);
    }
    if directives.min_fresh_secs.is_some_and(|least| freshness.ttl_secs < i64::from(least)) {
        return Some(Doubt::ClientMinFresh);
    }
    (!freshness.is_fresh()).then_some(Doubt::Stale)
}

/// Returns who allows that it is sent in spite of the doubt, before the origin is asked.
fn allowed(
    rules: &CachingRules,
    directives: &RequestDirectives,
    freshness: Freshness,
    terms: &ReuseTerms,
    why: Doubt,
) -> Option<(StaleAllowed, RefreshMode)> {
    let banned = match terms.ban_at(freshness.age_secs) {
        StaleBan::NoCache | StaleBan::MustRevalidate | StaleBan::ProxyRevalidate => return None,
        StaleBan::SMaxAge => true,
        StaleBan::None => false,
    };
    if rules.stale == StaleUse::Offline && !banned {
        return Some((StaleAllowed::Offline, RefreshMode::None));
    }
    if why != Doubt::Stale {
        return None;
    }
    if freshness.is_within(terms.stale_while_revalidate_secs) {
        return Some((StaleAllowed::WhileRevalidate, RefreshMode::Background));
    }
    if banned {
        return None;
    }
    if directives.max_stale_secs.is_some_and(|most| freshness.stale_secs() <= u64::from(most)) {
        return Some((StaleAllowed::MaxStale, RefreshMode::None));
    }
    let relaxed = rules.stale == StaleUse::Always && freshness.is_within(rules.stale_max_secs);
    relaxed.then_some((StaleAllowed::Relaxed, RefreshMode::Background))
}

impl fmt::Display for StaleAllowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MaxStale => "the client takes it stale (max-stale)",
            Self::WhileRevalidate => {
                "the origin allows it while a new one is fetched (stale-while-revalidate)"
            }
            Self::IfError => "the origin failed, and stale-if-error allows it",
            Self::Unreachable => "the origin cannot be reached",
            Self::Failing => "the origin answers with an error",
            Self::Relaxed => "this cache serves stale responses while new ones are fetched",
            Self::Offline => "this cache is offline",
        })
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stale => "it is stale",
            Self::NoCache => "the origin wants to be asked each time (no-cache)",
            Self::ClientNoCache => "the client wants the origin to be asked (no-cache)",
            Self::ClientMaxAge => "the client wants nothing that old (max-age)",
            Self::ClientMinFresh => "the client wants it to stay fresh for longer (min-fresh)",
        })
    }
}

impl fmt::Display for NotReused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Method => "this method is not answered from what is stored",
            Self::ForOrigin => "its preconditions are for the origin to judge",
            Self::Vary => "the request selects another variant",
            Self::OnlyIfCached => "the client wants only what is stored (only-if-cached)",
            Self::Offline => "this cache is offline, and it may not be sent without asking",
        })
    }
}

impl fmt::Display for NotFetched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OnlyIfCached => "the client wants only what is stored (only-if-cached)",
            Self::Offline => "nothing is stored, and this cache is offline",
        })
    }
}
