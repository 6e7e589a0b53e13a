//! Outlier ejection: a server that answers badly is ejected for a time (passive health checks).
//!
//! A breaker with three states: all is well; it rests; its rest is over and one request tries it.
//! It knows no clock, no socket and no other server. Called by `server`.

use std::time::Duration;
use vocab::Now;

/// First rest of a server that takes no connection; it doubles each time.
const REFUSED_MS: u64 = 1_000;
/// Longest such rest.
const REFUSED_MAX_MS: u64 = 30_000;
/// Longest rest of a server that answers badly.
const EJECTION_MAX_MS: u64 = 300_000;
/// A server that fared well for so long begins anew: its next rest is a short one.
const FORGIVEN_MS: u64 = 300_000;

/// When a server that answers is to rest; see the settings.
#[derive(Clone, Debug)]
pub(crate) struct OutlierEjection {
    pub(crate) failures: u32,
    pub(crate) percent: u32,
    pub(crate) requests: u32,
    pub(crate) window: Duration,
    pub(crate) ejection_time: Duration,
}

/// Tells what a request met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// An answer.
    Answer,
    /// A failure that the server stands for: 5xx, no HTTP, silence, an end in the middle.
    Failure,
    /// No connection.
    NoConnection,
}

/// Tells what follows for the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HealthVerdict {
    /// Nothing.
    Healthy,
    /// Answers again after a rest.
    Recovered,
    /// Takes no connection and rests for so many milliseconds.
    Eject(u64),
    /// Answers badly and rests for so many, if enough others are left.
    Bad(u64),
}

/// Holds what is known of one server.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerRecord {
    /// Failures since the last answer.
    in_a_row: u32,
    /// Refused connections since the last answer.
    refused: u32,
    /// Rests for bad answers, and when the last of them ended.
    ejections: u32,
    ejected_until_ms: u64,
    is_ejected: bool,
    /// When the rest ends, or ended, that `resting` speaks of.
    until_ms: u64,
    /// Requests and failures of this half of the window, and of the half before.
    halves: [(u32, u32); 2],
    half_started_ms: u64,
}

impl ServerRecord {
    /// One more request was answered, or not.
    pub(crate) fn record(
        &mut self,
        met: AttemptOutcome,
        patience: &OutlierEjection,
        now: Now,
    ) -> HealthVerdict {
        match met {
            // Whatever fails while it rests was begun before, or in spite of it: of all that were
            // under way when it went, one has counted.
            AttemptOutcome::NoConnection | AttemptOutcome::Failure
                if self.is_ejected && now.mono_ms < self.until_ms =>
            {
                HealthVerdict::Healthy
            }
            AttemptOutcome::NoConnection => {
                let rest = doubled(REFUSED_MS, self.refused, REFUSED_MAX_MS);
                self.refused = self.refused.saturating_add(1);
                (self.is_ejected, self.until_ms) = (true, now.mono_ms + rest);
                HealthVerdict::Eject(rest)
            }
            AttemptOutcome::Answer => {
                (self.in_a_row, self.refused) = (0, 0);
                self.count(0, patience, now);
                if std::mem::take(&mut self.is_ejected) {
                    self.halves = Default::default();
                    return HealthVerdict::Recovered;
                }
                HealthVerdict::Healthy
            }
            AttemptOutcome::Failure => {
                self.in_a_row = self.in_a_row.saturating_add(1);
                self.count(1, patience, now);
                if !self.exceeds_threshold(patience) {
                    return HealthVerdict::Healthy;
                }
                if now.mono_ms > self.ejected_until_ms + FORGIVEN_MS {
                    self.ejections = 0;
                }
                let first = patience.ejection_time.as_millis();
                let first = u64::try_from(first).unwrap_or(EJECTION_MAX_MS);
                HealthVerdict::Bad(doubled(first, self.ejections, EJECTION_MAX_MS))
            }
        }
    }

    /// The rest that [`HealthVerdict::Bad`] asks for was granted.
    pub(crate) fn set_ejected(&mut self, until_ms: u64) {
        self.ejections = self.ejections.saturating_add(1);
        (self.ejected_until_ms, self.until_ms) = (until_ms, until_ms);
        self.is_ejected = true;
    }

    /// Somebody who ought to know says that it is well.
    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }

    fn exceeds_threshold(&self, patience: &OutlierEjection) -> bool {
        // The one request that tries it after its rest decides alone.
        let many = patience.failures != 0 && self.in_a_row >= patience.failures;
        let (all, bad) = (self.halves[0].0 + self.halves[1].0, self.halves[0].1 + self.halves[1].1);
        let often = patience.percent != 0
            && all >= patience.requests
            && u64::from(bad) * 100 >= u64::from(all) * u64::from(patience.percent);
        self.is_ejected || many || often
    }

    fn count(&mut self, failures: u32, patience: &OutlierEjection, now: Now) {
        let half = u64::try_from(patience.window.as_millis() / 2).unwrap_or(u64::MAX).max(1);
        let age = now.mono_ms.saturating_sub(self.half_started_ms);
        if age >= half {
            let before = if age < half.saturating_mul(2) { self.halves[0] } else { (0, 0) };
            self.halves = [(0, 0), before];
            self.half_started_ms = now.mono_ms;
        }
        let (all, bad) = &mut self.halves[0];
        (*all, *bad) = (all.saturating_add(1), bad.saturating_add(failures));
    }
}

fn doubled(first_ms: u64, times: u32, most_ms: u64) -> u64 {
    first_ms.saturating_mul(1 << times.min(20)).min(most_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: OutlierEjection = OutlierEjection {
        failures: 3,
        percent: 50,
        requests: 10,
        window: Duration::from_secs(10),
        ejection_time: Duration::from_secs(10),
    };

    fn at(mono_ms: u64) -> Now {
        Now { unix_ms: 0, mono_ms }
    }

    #[test]
    fn a_server_that_takes_no_connection_rests_longer_each_time() {
        let (mut record, mut now_ms) = (ServerRecord::default(), 0);
        for rest in [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000] {
            let gone = record.record(AttemptOutcome::NoConnection, &PATIENCE, at(now_ms));
            assert_eq!(gone, HealthVerdict::Eject(rest));
            now_ms += rest;
        }
        assert_eq!(
            record.record(AttemptOutcome::Answer, &PATIENCE, at(now_ms)),
            HealthVerdict::Recovered
        );
        let gone = record.record(AttemptOutcome::NoConnection, &PATIENCE, at(now_ms));
        assert_eq!(gone, HealthVerdict::Eject(1_000));
    }

    #[test]
    fn of_all_requests_that_fail_when_a_server_goes_one_counts() {
        let mut record = ServerRecord::default();
        assert_eq!(
            record.record(AttemptOutcome::NoConnection, &PATIENCE, at(0)),
            HealthVerdict::Eject(1_000)
        );
        for late in [0, 5, 999] {
            for met in [AttemptOutcome::NoConnection, AttemptOutcome::Failure] {
                assert_eq!(record.record(met, &PATIENCE, at(late)), HealthVerdict::Healthy);
            }
        }
        assert_eq!(
            record.record(AttemptOutcome::NoConnection, &PATIENCE, at(1_000)),
            HealthVerdict::Eject(2_000)
        );
        let mut record = ServerRecord::default();
        for _ in 0..2 {
            record.record(AttemptOutcome::Failure, &PATIENCE, at(0));
        }
        assert_eq!(
            record.record(AttemptOutcome::Failure, &PATIENCE, at(0)),
            HealthVerdict::Bad(10_000)
        );
        record.set_ejected(10_000);
        for _ in 0..20 {
            assert_eq!(
                record.record(AttemptOutcome::Failure, &PATIENCE, at(3)),
                HealthVerdict::Healthy
            );
        }
        assert_eq!(
            record.record(AttemptOutcome::Failure, &PATIENCE, at(10_000)),
            HealthVerdict::Bad(20_000)
        );
    }

    #[test]
    fn failures_in_a_row_are_enough_and_an_answer_in_between_is_not() {
        let mut record = ServerRecord::default();
        let mut met = |met| record.record(met, &PATIENCE, at(0));
        for _ in 0..3 {
            assert_eq!(met(AttemptOutcome::Failure), HealthVerdict::Healthy);
            assert_eq!(met(AttemptOutcome::Failure), HealthVerdict::Healthy);
            // Two of three failed, but of too few.
            assert_eq!(met(AttemptOutcome::Answer), HealthVerdict::Healthy);
        }
        assert_eq!(met(AttemptOutcome::Failure), HealthVerdict::Bad(10_000), "7 of 10");
    }

    #[test]
    fn failures_of_long_ago_do_not_count() {
        let mut record = ServerRecord::default();
        for turn in 0..20_u64 {
            let now = at(turn * 4_000);
            assert_eq!(
                record.record(AttemptOutcome::Failure, &PATIENCE, now),
                HealthVerdict::Healthy
            );
            assert_eq!(
                record.record(AttemptOutcome::Answer, &PATIENCE, now),
                HealthVerdict::Healthy
            );
        }
    }

    #[test]
    fn one_that_fails_after_its_rest_rests_twice_as_long() {
        let mut record = ServerRecord::default();
        for _ in 0..2 {
            record.record(AttemptOutcome::Failure, &PATIENCE, at(0));
        }
        assert_eq!(
            record.record(AttemptOutcome::Failure, &PATIENCE, at(0)),
            HealthVerdict::Bad(10_000)
        );
        record.set_ejected(10_000);
        assert_eq!(
            record.record(AttemptOutcome::Failure, &PATIENCE, at(10_000)),
            HealthVerdict::Bad(20_000)
        );
        record.set_ejected(30_000);
        assert_eq!(
            record.record(AttemptOutcome::Answer, &PATIENCE, at(30_000)),
            HealthVerdict::Recovered
        );
        assert_eq!(
            record.record(AttemptOutcome::Failure, &PATIENCE, at(30_001)),
            HealthVerdict::Healthy
        );
        for _ in 0..2 {
            record.record(AttemptOutcome::Failure, &PATIENCE, at(400_000));
        }
        let met = record.record(AttemptOutcome::Failure, &PATIENCE, at(400_000));
        assert_eq!(met, HealthVerdict::Bad(10_000), "what was long ago is forgiven");
    }
}
