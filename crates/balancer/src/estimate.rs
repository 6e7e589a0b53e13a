//! The time that a server takes, as a moving average that believes bad news at once and good news
//! slowly.
//!
//! A sample above the average replaces it; one below draws it down by how long ago the last was; an
//! average that nobody renews fades, so that a server that was slow is tried again. One word, read
//! and written without a lock: of two samples at the same moment one may be lost. It knows no
//! clock. Called by `server`. After the "peak EWMA" of Finagle and linkerd.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use vocab::Now;

/// After so long an average has lost 1 - 1/e of its distance from what came since.
const DECAY_MS: f64 = 10_000.0;
/// No server is faster than the difference that matters.
const LEAST_US: f64 = 50.0;

/// The average: microseconds in the upper half, the moment's milliseconds (they wrap) in the lower.
/// 0 while there was no sample.
#[derive(Debug, Default)]
pub(crate) struct LatencyEstimate(AtomicU64);

impl LatencyEstimate {
    /// In microseconds, never below 50; none while nobody has asked.
    pub(crate) fn current_us(&self, now: Now) -> Option<f64> {
        match self.0.load(Relaxed) {
            0 => None,
            word => Some((average(word) * decayed_share(word, now)).max(LEAST_US)),
        }
    }

    /// Returns what it was when it was last renewed, in microseconds: for people. None while nobody
    /// has asked.
    pub(crate) fn last_us(&self) -> Option<u32> {
        let word = self.0.load(Relaxed);
        (word != 0).then_some((word >> 32) as u32)
    }

    /// Begins anew.
    pub(crate) fn forget(&self) {
        self.0.store(0, Relaxed);
    }

    /// A request took so long.
    pub(crate) fn sample(&self, took_us: u32, now: Now) {
        let took = f64::from(took_us);
        let word = self.0.load(Relaxed);
        let renewed = if word == 0 || took >= average(word) {
            took
        } else {
            let kept = decayed_share(word, now);
            average(word) * kept + took * (1.0 - kept)
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "of a u32")]
        let us = (renewed as u32).max(1);
        self.0.store(u64::from(us) << 32 | u64::from(stamp(now)), Relaxed);
    }

    /// The same average as another's.
    pub(crate) fn inherit(&self, before: &Self) {
        self.0.store(before.0.load(Relaxed), Relaxed);
    }
}

#[expect(clippy::cast_possible_truncation, reason = "it wraps after 49 days, as meant")]
const fn stamp(now: Now) -> u32 {
    now.mono_ms as u32
}

fn average(word: u64) -> f64 {
    let us = (word >> 32) as u32;
    f64::from(us)
}

/// Returns what share of the average is left by now.
fn decayed_share(word: u64, now: Now) -> f64 {
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is a u32")]
    let since = stamp(now).wrapping_sub(word as u32);
    // Another core's clock may be a tick ahead.
    let since = if since > u32::MAX / 2 { 0 } else { since };
    (-f64::from(since) / DECAY_MS).exp()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    fn at(mono_ms: u64) -> Now {
        Now { unix_ms: 0, mono_ms }
    }

    #[test]
    fn bad_news_counts_at_once_and_good_news_slowly() {
        let estimate = LatencyEstimate::default();
        assert_eq!(estimate.current_us(at(0)), None);
        let us = |now| estimate.current_us(at(now)).unwrap();
        estimate.sample(500, at(0));
        estimate.sample(200_000, at(10));
        assert!(us(10) > 199_000.0);
        estimate.sample(500, at(20));
        assert!(us(20) > 190_000.0, "{}", us(20));
        for step in 1..=60_u64 {
            estimate.sample(500, at(20 + step * 1_000));
        }
        assert!(us(60_020) < 1_500.0, "{}", us(60_020));
    }

    #[test]
    fn what_nobody_renews_fades_but_never_to_nothing() {
        let estimate = LatencyEstimate::default();
        estimate.sample(1_000_000, at(u64::from(u32::MAX) - 5));
        let later = at(u64::from(u32::MAX) + 10_000);
        let left = estimate.current_us(later).unwrap();
        assert!((300_000.0..400_000.0).contains(&left), "{left}");
        assert_eq!(estimate.last_us(), Some(1_000_000));
        let long_after = estimate.current_us(at(u64::from(u32::MAX) + 1_000_000)).unwrap();
        assert!((long_after - LEAST_US).abs() < 1.0);
    }
}
