//! What is known of each upstream: how often it was asked, how it did, and whether it is put aside.
//!
//! Written by whichever engine asks it, read by anyone.

use latency_histogram::{LatencyFigures, LatencyHistogram};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use vocab::Now;

/// After so many failures in a row an upstream is put aside.
const FAILURES_BEFORE_EJECTION: u32 = 3;
/// For so long at first, then twice as long each time.
const EJECTION_BASE_MS: u64 = 1_000;
/// But never longer.
const EJECTION_MAX_MS: u64 = 60_000;
/// A new time counts for an eighth of the mean, as in TCP (RFC 6298 §2.3).
const MEAN_WEIGHT: u64 = 8;

/// The record of one upstream.
#[derive(Debug, Default)]
pub(crate) struct UpstreamRecord {
    sent: AtomicU64,
    answered: AtomicU64,
    failed: AtomicU64,
    timeouts: AtomicU64,
    unverified: AtomicU64,
    /// Microseconds; 0 is not known yet.
    mean_us: AtomicU64,
    /// Times of answers.
    times: LatencyHistogram,
    failures_in_row: AtomicU32,
    ejected_until_ms: AtomicU64,
}

/// Why an exchange gave nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExchangeFailure {
    Timeout,
    Other,
}

/// The state of one upstream.
#[derive(Clone, Debug, PartialEq)]
pub struct UpstreamStats {
    /// The group that asks it; empty for everybody's. Several share one that is set up alike, which
    /// is then listed once, with their names joined by `+`.
    pub group: Arc<str>,
    /// What it is called.
    pub name: Arc<str>,
    /// Address.
    pub address: Arc<str>,
    /// Questions sent, retries not counted.
    pub sent: u64,
    /// Questions answered, whatever the response code.
    pub answered: u64,
    /// Questions that failed, timeouts included.
    pub failed: u64,
    /// Questions that nothing came back for in time.
    pub timeouts: u64,
    /// Answers over UDP that lacked a proof which was asked for (letters in their case, a cookie),
    /// so that the question went over TCP.
    pub unverified: u64,
    /// Smoothed time to an answer; none before the first.
    pub mean_time: Option<Duration>,
    /// Times to its answers.
    pub times: LatencyFigures,
    /// Whether it is put aside for now after failures in a row.
    pub status: UpstreamStanding,
}

/// Tells whether an upstream is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpstreamStanding {
    /// It is.
    InUse,
    /// Failed; it is asked only if no other is left.
    Ejected,
}

impl UpstreamStanding {
    /// Returns its name in metrics and the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InUse => "asked",
            Self::Ejected => "aside",
        }
    }
}

impl UpstreamRecord {
    pub(crate) fn sent(&self) {
        self.sent.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_unverified(&self) {
        self.unverified.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn answered(&self, took: Duration) {
        self.answered.fetch_add(1, Ordering::Relaxed);
        self.times.add(took);
        self.failures_in_row.store(0, Ordering::Relaxed);
        self.ejected_until_ms.store(0, Ordering::Relaxed);
        self.mean(took);
    }

    pub(crate) fn failed(&self, why: ExchangeFailure, took: Duration, now: Now) {
        self.failed.fetch_add(1, Ordering::Relaxed);
        if why == ExchangeFailure::Timeout {
            self.timeouts.fetch_add(1, Ordering::Relaxed);
            self.mean(took);
        }
        let row = self.failures_in_row.fetch_add(1, Ordering::Relaxed) + 1;
        if row >= FAILURES_BEFORE_EJECTION {
            let doublings = (row - FAILURES_BEFORE_EJECTION).min(6);
            let aside = (EJECTION_BASE_MS << doublings).min(EJECTION_MAX_MS);
            self.ejected_until_ms.store(now.mono_ms + aside, Ordering::Relaxed);
        }
    }

    fn mean(&self, took: Duration) {
        let took = (took.as_micros() as u64).max(1);
        let mean = match self.mean_us.load(Ordering::Relaxed) {
            0 => took,
            mean => (mean * (MEAN_WEIGHT - 1) + took) / MEAN_WEIGHT,
        };
        self.mean_us.store(mean.max(1), Ordering::Relaxed);
    }

    /// Smoothed time to an answer.
    pub(crate) fn mean_time(&self) -> Option<Duration> {
        match self.mean_us.load(Ordering::Relaxed) {
            0 => None,
            mean => Some(Duration::from_micros(mean)),
        }
    }

    pub(crate) fn status(&self, now: Now) -> UpstreamStanding {
        if now.mono_ms < self.ejected_until_ms.load(Ordering::Relaxed) {
            UpstreamStanding::Ejected
        } else {
            UpstreamStanding::InUse
        }
    }
}

/// All upstreams of the current settings, for whoever wants to know. Locked once a reload and once
/// a look at the numbers.
#[derive(Debug, Default)]
pub(crate) struct UpstreamTable(Mutex<Vec<ListedUpstream>>);

#[derive(Clone, Debug)]
pub(crate) struct ListedUpstream {
    pub(crate) group: Arc<str>,
    pub(crate) name: Arc<str>,
    pub(crate) address: Arc<str>,
    pub(crate) record: Arc<UpstreamRecord>,
}

impl UpstreamTable {
    /// Takes the upstreams of all groups; each is listed once.
    pub(crate) fn set(&self, all: impl Iterator<Item = ListedUpstream>) {
        let mut listed: Vec<ListedUpstream> = Vec::new();
        let mut places = HashMap::new();
        for one in all {
            let place = *places.entry(Arc::as_ptr(&one.record)).or_insert(listed.len());
            match listed.get_mut(place) {
                None => listed.push(one),
                Some(known) => known.group = format!("{}+{}", known.group, one.group).into(),
            }
        }
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = listed;
    }

    pub(crate) fn stats(&self, now: Now) -> Vec<UpstreamStats> {
        let listed = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let count = |it: &AtomicU64| it.load(Ordering::Relaxed);
        listed
            .into_iter()
            .map(|ListedUpstream { group, name, address, record }| UpstreamStats {
                group,
                name,
                address,
                sent: count(&record.sent),
                answered: count(&record.answered),
                failed: count(&record.failed),
                timeouts: count(&record.timeouts),
                unverified: count(&record.unverified),
                mean_time: record.mean_time(),
                times: record.times.figures(),
                status: record.status(now),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(mono_ms: u64) -> Now {
        Now { unix_ms: mono_ms, mono_ms }
    }

    #[test]
    fn failures_in_a_row_put_an_upstream_aside_for_longer_and_longer() {
        let record = UpstreamRecord::default();
        let fail = |now| record.failed(ExchangeFailure::Other, Duration::ZERO, at(now));
        fail(0);
        fail(0);
        assert_eq!(record.status(at(0)), UpstreamStanding::InUse);
        fail(0);
        assert_eq!(record.status(at(999)), UpstreamStanding::Ejected);
        assert_eq!(record.status(at(1000)), UpstreamStanding::InUse);
        fail(1000);
        assert_eq!(record.status(at(2999)), UpstreamStanding::Ejected);
        for _ in 0..20 {
            fail(10_000);
        }
        assert_eq!(record.status(at(70_000)), UpstreamStanding::InUse);
        record.answered(Duration::from_millis(1));
        assert_eq!(record.status(at(10_000)), UpstreamStanding::InUse);
    }

    #[test]
    fn the_mean_moves_by_an_eighth() {
        let record = UpstreamRecord::default();
        assert_eq!(record.mean_time(), None);
        record.answered(Duration::from_millis(8));
        record.answered(Duration::from_millis(16));
        assert_eq!(record.mean_time(), Some(Duration::from_millis(9)));
    }
}
