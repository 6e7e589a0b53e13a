//! A limit by rate: a token bucket for each key, and the fields that tell the client of it.
//!
//! The buckets are those of `pipeline::limiter`: a table of fixed size, where the bucket with the
//! least debt is forgotten first. What is told follows draft-ietf-httpapi-ratelimit-headers-10. It
//! knows no clock. Called by `guards`.

use super::guard_answer::GuardAnswer;
use crate::limit_key::{BadLimitKey, LimitKey};
use crate::settings::{BadLimitRate, LimitSettings};
use http::header::{HeaderMap, HeaderName, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use pipeline::limiter::{BucketDebt, BucketRate, LimiterBuckets, TokenOutcome, WhenEmpty};
use std::fmt;
use std::hash::Hasher;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use vocab::Now;

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// Tells what is done with whoever comes too often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LimitMode {
    Refuse,
    LogOnly,
}

/// A limit by rate.
pub(crate) struct RateLimiter {
    buckets: Arc<LimiterBuckets>,
    rate: BucketRate,
    key: LimitKey,
    mode: LimitMode,
    refused: AtomicU64,
    log_only_matches: AtomicU64,
}

/// Why there is no limit by rate.
#[derive(Debug)]
pub(super) enum BadLimit {
    /// The rate is none.
    Rate(BadLimitRate),
    /// The key is none.
    Key(BadLimitKey),
    /// The buckets would be foreseeable.
    Randomness(getrandom::Error),
}

/// Holds what a client is told of its bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LimitNotice {
    key: &'static str,
    /// Requests at once, and seconds in which as many come back.
    burst: u64,
    window: u64,
    remaining: u64,
    /// Seconds until there is one more, or all are back.
    seconds: u64,
}

impl RateLimiter {
    /// One with full buckets, or with those of `before`.
    pub(super) fn new(settings: &LimitSettings, before: Option<&Self>) -> Result<Self, BadLimit> {
        let rate = settings.bucket_rate().map_err(BadLimit::Rate)?;
        let key = LimitKey::parse(&settings.key).map_err(BadLimit::Key)?;
        let before = before.filter(|before| before.key == key && before.rate == rate);
        let buckets = if let Some(before) = before {
            Arc::clone(&before.buckets)
        } else {
            let seed = || getrandom::u64().map_err(BadLimit::Randomness);
            Arc::new(LimiterBuckets::new([seed()?, seed()?]))
        };
        let mode = if settings.log_only { LimitMode::LogOnly } else { LimitMode::Refuse };
        let (refused, spared) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(Self { buckets, rate, key, mode, refused, log_only_matches: spared })
    }

    /// Takes a token, or refuses. Where it only logs, nobody is told anything.
    pub(super) fn take(
        &self,
        client: IpAddr,
        headers: &HeaderMap,
        now: Now,
    ) -> Result<Option<LimitNotice>, Box<GuardAnswer>> {
        let mut hasher = self.buckets.hasher();
        self.key.feed(client, headers, &mut hasher);
        let (taken, debt) =
            self.buckets.take_with_debt(hasher.finish(), &self.rate, WhenEmpty::Free, now);
        match (taken, self.mode) {
            (TokenOutcome::Yes, LimitMode::Refuse) => Ok(Some(self.notice(debt))),
            (TokenOutcome::Yes, LimitMode::LogOnly) => Ok(None),
            (TokenOutcome::No, LimitMode::LogOnly) => {
                self.log_only_matches.fetch_add(1, Relaxed);
                Ok(None)
            }
            (TokenOutcome::No, LimitMode::Refuse) => {
                self.refused.fetch_add(1, Relaxed);
                let told = self.notice(debt);
                let text = "Too many requests: come back later.\n";
                let mut turned = GuardAnswer::refused(StatusCode::TOO_MANY_REQUESTS, text);
                let fields = turned.response.headers_mut();
                told.put(fields);
                fields.insert(RETRY_AFTER, HeaderValue::from(told.seconds));
                Err(Box::new(turned))
            }
        }
    }

    fn notice(&self, debt: BucketDebt) -> LimitNotice {
        let left = self.rate.left(debt);
        let wait_ms =
            if left == 0 { self.rate.wait_ms(debt) } else { self.rate.refill_ms(Some(debt)) };
        LimitNotice {
            key: self.key.name(),
            burst: self.rate.burst(),
            window: self.rate.refill_ms(None).div_ceil(1000),
            remaining: left,
            seconds: wait_ms.div_ceil(1000).max(1),
        }
    }

    pub(super) fn refused(&self) -> u64 {
        self.refused.load(Relaxed)
    }

    pub(super) fn log_only_matches(&self) -> u64 {
        self.log_only_matches.load(Relaxed)
    }
}

impl fmt::Display for BadLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(why) => why.fmt(f),
            Self::Key(why) => why.fmt(f),
            Self::Randomness(why) => write!(f, "the system gives no randomness: {why}"),
        }
    }
}

impl std::error::Error for BadLimit {}

impl LimitNotice {
    pub(super) fn put(&self, headers: &mut HeaderMap) {
        let Self { key, burst, window, remaining: left, seconds } = self;
        let fields = [
            (RATE_LIMIT_POLICY, format!("\"{key}\";q={burst};w={window}")),
            (RATE_LIMIT, format!("\"{key}\";r={left};t={seconds}")),
        ];
        for (name, text) in fields {
            let value = HeaderValue::from_str(&text).expect("a word and digits are visible ASCII");
            headers.insert(name, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limiter(rate: &str, burst: Option<u32>) -> Result<RateLimiter, BadLimit> {
        let settings =
            LimitSettings { rate: rate.into(), burst, key: "client".into(), log_only: false };
        RateLimiter::new(&settings, None)
    }

    fn at(mono_ms: u64) -> Now {
        Now { unix_ms: 0, mono_ms }
    }

    #[test]
    fn a_burst_passes_and_then_the_rate_holds() {
        let limiter = limiter("2/s", Some(4)).unwrap();
        let take = |ms| limiter.take([10, 0, 0, 1].into(), &HeaderMap::new(), at(ms));
        let left: Vec<u64> = (0..4).map(|_| take(0).ok().flatten().unwrap().remaining).collect();
        assert_eq!(left, [3, 2, 1, 0]);
        let refused = take(0).err().unwrap().response;
        assert_eq!(refused.status(), 429);
        assert_eq!(refused.headers()["retry-after"], "1");
        assert_eq!(refused.headers()["ratelimit-policy"], "\"client\";q=4;w=2");
        assert_eq!(refused.headers()["ratelimit"], "\"client\";r=0;t=1");
        assert!(take(499).is_err());
        assert!(take(501).is_ok());
        assert_eq!(limiter.refused(), 2);
    }

    #[test]
    fn a_slow_rate_says_how_long_to_wait() {
        let limiter = limiter("1/m", None).unwrap();
        let take = |ms| limiter.take([10, 0, 0, 1].into(), &HeaderMap::new(), at(ms));
        assert!(take(0).is_ok());
        assert_eq!(take(10_000).err().unwrap().response.headers()["retry-after"], "50");
    }

    #[test]
    fn what_is_no_rate_is_refused() {
        for rate in ["", "10", "10/d", "x/s", "0/s", "-1/s", "2000000/s"] {
            assert!(limiter(rate, None).is_err(), "{rate}");
        }
        assert!(limiter("1/h", Some(25)).is_err());
    }
}
