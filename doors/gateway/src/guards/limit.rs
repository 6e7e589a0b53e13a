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
use pipeline::limiter::{BucketRate, LimiterBuckets, TokenOutcome, WhenEmpty};
use rate_limit::{LeaseBook, SharedRate};
use std::fmt;
use std::hash::{Hash, Hasher};
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

/// Where the tokens are.
enum TokenSource {
    /// In buckets of this machine.
    Own(Arc<LimiterBuckets>),
    /// With the fleet.
    Shared(SharedTokens),
}

/// Tokens of a limit that machines share.
struct SharedTokens {
    book: Arc<LeaseBook>,
    name: String,
    rate: SharedRate,
}

/// Holds how a bucket stands after a request.
#[derive(Clone, Copy, Debug)]
struct BucketStanding {
    left: u64,
    /// Milliseconds until there is one more token, or all are back.
    wait_ms: u64,
}

/// A limit by rate.
pub(crate) struct RateLimiter {
    tokens: TokenSource,
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
    /// One with full buckets, or with those of `before`; where it is shared, with the fleet's.
    pub(super) fn new(
        settings: &LimitSettings,
        leases: Option<&Arc<LeaseBook>>,
        before: Option<&Self>,
    ) -> Result<Self, BadLimit> {
        let rate = settings.bucket_rate().map_err(BadLimit::Rate)?;
        let key = LimitKey::parse(&settings.key).map_err(BadLimit::Key)?;
        let before = before.filter(|before| before.key == key && before.rate == rate);
        let before = before.and_then(|before| match &before.tokens {
            TokenSource::Own(buckets) => Some(Arc::clone(buckets)),
            TokenSource::Shared(_) => None,
        });
        let tokens = match (settings.shared.as_ref().zip(leases), before) {
            (Some((name, book)), _) => TokenSource::Shared(SharedTokens {
                book: Arc::clone(book),
                name: name.clone(),
                rate: SharedRate::new(
                    rate.interval_us(),
                    rate.burst().try_into().unwrap_or(u32::MAX),
                ),
            }),
            (None, Some(buckets)) => TokenSource::Own(buckets),
            (None, None) => {
                let seed = || getrandom::u64().map_err(BadLimit::Randomness);
                TokenSource::Own(Arc::new(LimiterBuckets::new([seed()?, seed()?])))
            }
        };
        let mode = if settings.log_only { LimitMode::LogOnly } else { LimitMode::Refuse };
        let (refused, spared) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(Self { tokens, rate, key, mode, refused, log_only_matches: spared })
    }

    /// Takes a token, or refuses. Where it only logs, nobody is told anything.
    pub(super) fn take(
        &self,
        client: IpAddr,
        headers: &HeaderMap,
        now: Now,
    ) -> Result<Option<LimitNotice>, Box<GuardAnswer>> {
        let (taken, standing) = match &self.tokens {
            TokenSource::Own(buckets) => self.take_own(buckets, client, headers, now),
            TokenSource::Shared(shared) => self.take_shared(shared, client, headers, now),
        };
        match (taken, self.mode) {
            (TokenOutcome::Yes, LimitMode::Refuse) => Ok(Some(self.notice(standing))),
            (TokenOutcome::Yes, LimitMode::LogOnly) => Ok(None),
            (TokenOutcome::No, LimitMode::LogOnly) => {
                self.log_only_matches.fetch_add(1, Relaxed);
                Ok(None)
            }
            (TokenOutcome::No, LimitMode::Refuse) => {
                self.refused.fetch_add(1, Relaxed);
                let told = self.notice(standing);
                let text = "Too many requests: come back later.\n";
                let mut turned = GuardAnswer::refused(StatusCode::TOO_MANY_REQUESTS, text);
                let fields = turned.response.headers_mut();
                told.put(fields);
                fields.insert(RETRY_AFTER, HeaderValue::from(told.seconds));
                Err(Box::new(turned))
            }
        }
    }

    fn take_own(
        &self,
        buckets: &LimiterBuckets,
        client: IpAddr,
        headers: &HeaderMap,
        now: Now,
    ) -> (TokenOutcome, BucketStanding) {
        let mut hasher = buckets.hasher();
        self.key.feed(client, headers, &mut hasher);
        let (taken, debt) =
            buckets.take_with_debt(hasher.finish(), &self.rate, WhenEmpty::Free, now);
        let left = self.rate.left(debt);
        let wait_ms =
            if left == 0 { self.rate.wait_ms(debt) } else { self.rate.refill_ms(Some(debt)) };
        (taken, BucketStanding { left, wait_ms })
    }

    fn take_shared(
        &self,
        shared: &SharedTokens,
        client: IpAddr,
        headers: &HeaderMap,
        now: Now,
    ) -> (TokenOutcome, BucketStanding) {
        let mut hasher = shared.book.hasher();
        // Limits that differ in anything are different limits, whatever their names.
        (&*shared.name, shared.rate.interval_us(), shared.rate.burst()).hash(&mut hasher);
        self.key.name().hash(&mut hasher);
        self.key.feed(client, headers, &mut hasher);
        let outcome = shared.book.take(hasher.name(), shared.rate, now.mono_ms);
        let taken = if outcome.is_taken { TokenOutcome::Yes } else { TokenOutcome::No };
        let left = u64::from(outcome.left);
        let owed = u64::from(shared.rate.burst()).saturating_sub(left);
        let wait_ms =
            if left == 0 { outcome.wait_ms } else { owed * shared.rate.interval_us() / 1000 };
        (taken, BucketStanding { left, wait_ms })
    }

    fn notice(&self, standing: BucketStanding) -> LimitNotice {
        LimitNotice {
            key: self.key.name(),
            burst: self.rate.burst(),
            window: self.rate.refill_ms(None).div_ceil(1000),
            remaining: standing.left,
            seconds: standing.wait_ms.div_ceil(1000).max(1),
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
        let settings = LimitSettings {
            rate: rate.into(),
            burst,
            key: "client".into(),
            log_only: false,
            shared: None,
        };
        RateLimiter::new(&settings, None, None)
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
    fn limits_of_one_name_count_together_and_others_apart() {
        let book = Arc::new(LeaseBook::default());
        let standing = rate_limit::FleetStanding { edges: 1, away: None };
        book.set_standing(standing);
        let shared = |name: &str, key: &str| {
            let settings = LimitSettings {
                rate: "1/m".into(),
                burst: Some(2),
                key: key.into(),
                log_only: false,
                shared: Some(name.into()),
            };
            RateLimiter::new(&settings, Some(&book), None).unwrap()
        };
        let (one, same) = (shared("a", "client"), shared("a", "client"));
        let (other, route) = (shared("b", "client"), shared("a", "route"));
        let take =
            |limiter: &RateLimiter| limiter.take([10, 0, 0, 1].into(), &HeaderMap::new(), at(1000));
        assert!(take(&one).is_ok() && take(&same).is_ok());
        assert_eq!(take(&one).err().unwrap().response.status(), 429);
        assert!(take(&other).is_ok() && take(&route).is_ok());
        book.set_standing(rate_limit::FleetStanding {
            edges: 1,
            away: Some(rate_limit::AwayRule::Closed),
        });
        assert_eq!(take(&other).err().unwrap().response.headers()["retry-after"], "1");
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
