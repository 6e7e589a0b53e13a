//! How often an effect was set off, and what became of it.
//!
//! Counters that any thread adds to, and the one voice that speaks of failures: once a minute an
//! effect, with the number of those it kept to itself. Called by everything in this folder.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use vocab::Now;

/// Seconds between two lines about failures of one effect.
const QUIET_MS: u64 = 60_000;

/// Characters of a failure that are kept and told.
const FAILURE_CHARS_MAX: usize = 400;

/// Writes a line for whoever runs the process.
pub type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// Outcome of one effect.
#[derive(Debug, Default)]
pub(super) struct EffectCounts {
    pub(super) name: Box<str>,
    pub(super) kind: &'static str,
    pub(super) triggered: AtomicU64,
    pub(super) done: AtomicU64,
    pub(super) failed: AtomicU64,
    pub(super) dropped: AtomicU64,
    pub(super) suppressed: AtomicU64,
    failure: Mutex<FailureCounts>,
}

#[derive(Debug, Default)]
struct FailureCounts {
    last: String,
    /// When one was told last, and how many were not since.
    last_logged_ms: Option<u64>,
    unlogged: u64,
}

/// The state of one effect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EffectStats {
    /// What it is called in the configuration.
    pub name: String,
    /// `ipset`, `nftset`, `http_request`, `script`, `download`, `ros_address_list` or `reload`.
    pub kind: &'static str,
    /// Taken up. For sets: addresses.
    pub triggered: u64,
    /// Carried out.
    pub done: u64,
    /// Not carried out, for the reason in `last_failure`.
    pub failed: u64,
    /// Not taken up: too many waited.
    pub dropped: u64,
    /// Addresses that were asked for a moment ago already.
    pub suppressed: u64,
    /// Why the last failure was one; empty if there was none.
    pub last_failure: String,
}

impl EffectCounts {
    pub(super) fn new(name: &str, kind: &'static str) -> Arc<Self> {
        Arc::new(Self { name: name.into(), kind, ..Self::default() })
    }

    pub(super) fn stats(&self) -> EffectStats {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        EffectStats {
            name: self.name.to_string(),
            kind: self.kind,
            triggered: self.triggered.load(Relaxed),
            done: self.done.load(Relaxed),
            failed: self.failed.load(Relaxed),
            dropped: self.dropped.load(Relaxed),
            suppressed: self.suppressed.load(Relaxed),
            last_failure: failure.last.clone(),
        }
    }
}

/// Speaks of failures.
#[derive(Clone)]
pub(super) struct FailureReporter(pub(super) Tell);

impl FailureReporter {
    /// Keeps `why` as the last failure, and tells it unless one was told less than a minute ago.
    pub(super) fn failure(&self, counts: &EffectCounts, why: &str) {
        if let Some(line) = counts.line(why, transport::clock::now()) {
            (self.0)(&line);
        }
    }
}

impl EffectCounts {
    fn line(&self, why: &str, now: Now) -> Option<String> {
        // Parts of it came over the network: no control characters into a log or a terminal.
        let why: String = why
            .chars()
            .take(FAILURE_CHARS_MAX)
            .map(|it| if it.is_control() { ' ' } else { it })
            .collect();
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.last.clone_from(&why);
        if failure.last_logged_ms.is_some_and(|told| now.mono_ms.saturating_sub(told) < QUIET_MS) {
            failure.unlogged += 1;
            return None;
        }
        failure.last_logged_ms = Some(now.mono_ms);
        let more = match std::mem::take(&mut failure.unlogged) {
            0 => String::new(),
            count => format!(" ({count} more failures since the last line)"),
        };
        Some(format!("{} {}: {why}{more}", self.kind, self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_told_once_a_minute_with_the_number_between() {
        let counts = EffectCounts::new("hook", "script");
        let at = |ms| Now { unix_ms: 0, mono_ms: ms };
        assert_eq!(counts.line("broke\n", at(5)).as_deref(), Some("script hook: broke "));
        assert_eq!(counts.line("broke", at(6)), None);
        assert_eq!(counts.line("broke again", at(QUIET_MS)), None);
        let line = counts.line("still", at(QUIET_MS + 5));
        assert_eq!(
            line.as_deref(),
            Some("script hook: still (2 more failures since the last line)")
        );
        assert_eq!(counts.stats().last_failure, "still");
    }
}
