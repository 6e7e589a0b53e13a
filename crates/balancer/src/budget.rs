//! The budget of retries of a pool: a share of all requests, so that retries never double the load
//! of servers that are in trouble because of it.
//!
//! Pure but for its lock, which only retries take. Called by `pool`.

use std::sync::{Mutex, PoisonError};
use vocab::Now;

/// For how many seconds the minimum is saved up.
const SAVED_SECS: u64 = 10;
/// The share of so many requests is saved up at most.
const SAVED_REQUESTS: u64 = 1_000;

/// The budget of a pool. Counted in thousandths of a retry.
#[derive(Debug)]
pub(crate) struct RetryBudget {
    percent: u64,
    per_second: u64,
    allowance: Mutex<RetryAllowance>,
}

#[derive(Debug)]
struct RetryAllowance {
    millis: u64,
    requests: u64,
    at_ms: Option<u64>,
}

impl RetryBudget {
    /// `percent` of all requests, and so many a second besides.
    pub(crate) fn new(percent: u32, per_second: u32) -> Self {
        let per_second = u64::from(per_second);
        let millis = per_second * SAVED_SECS * 1000;
        let allowance = Mutex::new(RetryAllowance { millis, requests: 0, at_ms: None });
        Self { percent: u64::from(percent), per_second, allowance }
    }

    /// Takes one retry, if one is left. `requests` is how many were sent so far.
    pub(crate) fn take_retry(&self, requests: u64, now: Now) -> bool {
        let mut left = self.allowance.lock().unwrap_or_else(PoisonError::into_inner);
        let newly = requests.saturating_sub(left.requests).min(SAVED_REQUESTS);
        let past_ms = now.mono_ms.saturating_sub(left.at_ms.unwrap_or(now.mono_ms));
        let gained = newly * self.percent * 10 + past_ms.min(SAVED_SECS * 1000) * self.per_second;
        let most = SAVED_REQUESTS * self.percent * 10 + SAVED_SECS * 1000 * self.per_second;
        left.millis = (left.millis + gained).min(most);
        left.requests = left.requests.max(requests);
        left.at_ms = Some(now.mono_ms);
        let enough = left.millis >= 1000;
        if enough {
            left.millis -= 1000;
        }
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(mono_ms: u64) -> Now {
        Now { unix_ms: 0, mono_ms }
    }

    #[test]
    fn a_fifth_of_the_requests_and_a_little_more() {
        let budget = RetryBudget::new(20, 2);
        let taken =
            |requests, now| (0..500).filter(|_| budget.take_retry(requests, at(now))).count();
        assert_eq!(taken(0, 0), 20, "ten seconds' worth is there at first");
        assert_eq!(taken(0, 0), 0);
        assert_eq!(taken(100, 0), 20, "a fifth of a hundred");
        assert_eq!(taken(100, 3_000), 6, "two a second");
        assert_eq!(taken(1_000_000, 3_000), 200, "what is saved up is bounded");
    }
}
