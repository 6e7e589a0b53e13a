//! URLs with parameters that rules take off (`$removeparam`): when a client is sent to the shorter
//! one.
//!
//! Only requests that change nothing are sent elsewhere, and nobody is kept going round: a site
//! that puts a parameter back on gets it in the end. Called by `request`.

use crate::pages;
use http::{HeaderValue, Method, Response};
use http_engine::Body;
use policy::{Ask, Policy};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use vocab::{DomainName, Now, RuleRef};

/// A client that comes back with the same URL within this time is going round.
const ROUND_MS: u64 = 10_000;
/// Times that a client is sent from the same URL within that time: a person may follow a link
/// twice, and browsers ask for a page they have just left again.
const REDIRECTS_MAX: u8 = 3;
/// Most URLs remembered, in 24 bytes each; at the cap those that are past their time are forgotten,
/// and all of them if none is.
const URLS_MAX: usize = 4096;

/// Where a client is sent, and by which rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TrimRedirect {
    pub(crate) location: HeaderValue,
    pub(crate) rule: RuleRef,
}

/// The redirects of a moment ago, by client and URL.
#[derive(Debug, Default)]
pub(crate) struct RecentTrims {
    /// When the first turn was, on the monotonic clock, and how many there were since.
    redirects: Mutex<HashMap<u64, (u64, u8)>>,
    hasher: RandomState,
}

/// The answer that sends the client there. Nothing is said of a rule that is gone by now.
pub(crate) fn answer(policy: &Policy, host: &DomainName, shorter: TrimRedirect) -> Response<Body> {
    let rule = policy.rule_text(shorter.rule, host.as_name());
    pages::remove_params_redirect(shorter.location, rule.as_ref())
}

impl TrimRedirect {
    /// Where a request that passes is sent, if rules take something off its URL.
    pub(crate) fn of(policy: &Policy, ask: &Ask<'_>, method: &Method, now: Now) -> Option<Self> {
        if !matches!(*method, Method::GET | Method::HEAD) {
            return None;
        }
        let trimmed =
            policy.remove_parameters(ask, now).filter(|it| Some(it.url.as_str()) != ask.url)?;
        let location = HeaderValue::try_from(trimmed.url).ok()?;
        Some(Self { location, rule: *trimmed.rules.first()? })
    }
}

impl RecentTrims {
    /// True if a client may be sent from this URL once more.
    pub(crate) fn may_redirect(&self, client: IpAddr, url: &str, now: Now) -> bool {
        let key = self.hasher.hash_one((client, url));
        let mut turns = self.redirects.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = |since: u64| now.mono_ms.saturating_sub(since) >= ROUND_MS;
        if turns.len() >= URLS_MAX && !turns.contains_key(&key) {
            turns.retain(|_, (since, _)| !is_over(*since));
            if turns.len() >= URLS_MAX {
                turns.clear();
            }
        }
        let (since, count) = turns.entry(key).or_insert((now.mono_ms, 0));
        if is_over(*since) {
            (*since, *count) = (now.mono_ms, 0);
        }
        *count = count.saturating_add(1);
        *count <= REDIRECTS_MAX
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn at(mono_ms: u64) -> Now {
        Now { unix_ms: 0, mono_ms }
    }

    #[test]
    fn whoever_comes_back_too_often_is_let_through() {
        let trims = RecentTrims::default();
        let may = |url, mono_ms| trims.may_redirect(CLIENT, url, at(mono_ms));
        assert!(may("http://a/?x", 0) && may("http://a/?x", 1) && may("http://a/?x", 2));
        assert!(!may("http://a/?x", 3) && !may("http://a/?x", ROUND_MS - 1));
        assert!(may("http://a/?y", 3), "another URL");
        assert!(may("http://a/?x", ROUND_MS), "a while later");
    }

    #[test]
    fn a_flood_of_urls_is_forgotten() {
        let trims = RecentTrims::default();
        for number in 0..3 * URLS_MAX {
            assert!(trims.may_redirect(CLIENT, &number.to_string(), at(number as u64 % 7)));
        }
        assert!(trims.redirects.lock().unwrap().len() <= URLS_MAX);
    }
}
