//! The arithmetic in words, for `tidegate why URL`.
//!
//! It says what the rules decide, from the same values; it decides nothing. Pure. Called by the
//! store when it is asked what is kept for a URL.

use super::reuse::{Freshness, Reuse, freshness, reuse};
use super::reuse_terms::{ChangeExpectation, LifetimeBasis, ReuseTerms, StaleBan, ValidationNeed};
use super::rules::{CachingRules, RequestFacts, StaleUse};
use crate::head::StoredHead;
use crate::seconds_text::SecondsText;
use http::Method;
use std::fmt::Write as _;
use vocab::Now;

/// One stored response in a few sentences: how long it is fresh and why, how old it is, and what
/// may be done when it is stale.
pub fn explain(rules: &CachingRules, head: &StoredHead, terms: &ReuseTerms, now: Now) -> String {
    let freshness = freshness(head, terms, now.unix_ms);
    let mut text = String::new();
    lifetime(&mut text, terms);
    age(&mut text, terms, freshness);
    if terms.validation == ValidationNeed::Always {
        text.push_str("; the origin is asked before every use (no-cache)");
    } else {
        stale(&mut text, rules, terms, freshness);
    }
    if terms.change == ChangeExpectation::Immutable {
        text.push_str("; it says that it never changes while it is fresh");
    }
    if !head.selecting.is_empty() {
        text.push_str("; for requests with");
        for (name, value) in &head.selecting {
            let value = String::from_utf8_lossy(value.as_bytes());
            let _ = write!(text, " {name}: {value}");
        }
    }
    text
}

/// Returns what a plain `GET` that selects this response gets of it at a moment, and why; `None`
/// where it is sent because it is fresh.
pub fn why_not_fresh(
    rules: &CachingRules,
    url: &str,
    head: &StoredHead,
    terms: &ReuseTerms,
    now: Now,
) -> Option<String> {
    let asked = RequestFacts { method: &Method::GET, url, fields: &head.selecting, now };
    match reuse(rules, &asked, head, terms) {
        Reuse::Fresh(_) => None,
        Reuse::Stale { allowed_by: why, .. } => Some(format!("a GET now is sent it stale: {why}")),
        Reuse::Validate { reason: why, .. } => {
            Some(format!("a GET now has the origin asked first: {why}"))
        }
        Reuse::Never(why) => Some(format!("a GET now is not answered with it: {why}")),
    }
}

fn lifetime(text: &mut String, terms: &ReuseTerms) {
    let _ = match terms.basis {
        LifetimeBasis::Nothing => write!(text, "not fresh at all: nothing says how long"),
        basis => write!(text, "fresh for {} by {basis}", SecondsText(terms.lifetime_secs.into())),
    };
}

fn age(text: &mut String, terms: &ReuseTerms, freshness: Freshness) {
    let _ = write!(text, ", {} old", SecondsText(freshness.age_secs.into()));
    if terms.initial_age_ms >= 1000 {
        let _ = write!(text, " ({} when it came)", SecondsText(terms.initial_age_ms / 1000));
    }
    let _ = if freshness.is_fresh() {
        write!(text, ", so fresh for {} more", SecondsText(freshness.ttl_secs.unsigned_abs()))
    } else {
        write!(text, ", so stale for {}", SecondsText(freshness.stale_secs()))
    };
}

fn stale(text: &mut String, rules: &CachingRules, terms: &ReuseTerms, freshness: Freshness) {
    match terms.stale {
        StaleBan::None | StaleBan::SMaxAge => {}
        ban @ (StaleBan::NoCache | StaleBan::MustRevalidate | StaleBan::ProxyRevalidate) => {
            let _ = write!(text, "; never served stale ({ban})");
            return;
        }
    }
    let left = |secs: u32| u64::from(secs).saturating_sub(freshness.stale_secs());
    let when = if freshness.is_fresh() { "then " } else { "" };
    let mut permit = |secs: u32, what: &str| match left(secs) {
        0 => {}
        left => {
            let _ = write!(text, "; {when}served stale for {} {what}", SecondsText(left));
        }
    };
    permit(
        terms.stale_while_revalidate_secs,
        "while a new one is fetched (stale-while-revalidate)",
    );
    permit(terms.stale_if_error_secs, "if the origin fails (stale-if-error)");
    if terms.stale == StaleBan::SMaxAge {
        text.push_str("; not served stale otherwise (s-maxage)");
        return;
    }
    match rules.stale {
        StaleUse::OnlyIfAllowed => {}
        StaleUse::WhenUnreachable => {
            permit(rules.stale_max_secs, "if the origin cannot be reached");
        }
        StaleUse::WhenFailing => {
            permit(rules.stale_max_secs, "if the origin cannot be reached or fails");
        }
        StaleUse::Always => permit(rules.stale_max_secs, "while a new one is fetched (relaxed)"),
        StaleUse::Offline => text.push_str("; served however stale it is (offline)"),
    }
}
