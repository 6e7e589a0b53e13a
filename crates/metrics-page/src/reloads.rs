//! Reloads of the configuration: how many, and how the last one ended.

use crate::family::{FamilyHead, write_family};
use ledger::Collector;
use ledger::prometheus_client::encoding::DescriptorEncoder;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// The record that reloads write; the start is the first that was taken.
#[derive(Debug)]
pub struct ReloadRecord {
    taken: AtomicU64,
    refused: AtomicU64,
    taken_at_s: AtomicU64,
    tried_at_s: AtomicU64,
    is_taken: AtomicBool,
}

/// The same at one moment.
#[derive(Clone, Copy, Debug)]
pub struct ReloadFigures {
    /// Reloads that were taken.
    pub taken: u64,
    /// Reloads that were refused, so that nothing changed.
    pub refused: u64,
    /// When the configuration in force was taken, in seconds since 1970.
    pub taken_at_s: u64,
    /// When one was read last, taken or not.
    pub tried_at_s: u64,
    /// True if the last one was taken.
    pub is_taken: bool,
}

impl ReloadRecord {
    /// A record of a program that started at this time.
    pub const fn started(unix_s: u64) -> Self {
        Self {
            taken: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            taken_at_s: AtomicU64::new(unix_s),
            tried_at_s: AtomicU64::new(unix_s),
            is_taken: AtomicBool::new(true),
        }
    }

    /// Notes how a reload ended, and hands it on.
    pub fn note<T, E>(&self, unix_s: u64, outcome: Result<T, E>) -> Result<T, E> {
        self.tried_at_s.store(unix_s, Relaxed);
        self.is_taken.store(outcome.is_ok(), Relaxed);
        if outcome.is_ok() {
            self.taken_at_s.store(unix_s, Relaxed);
        }
        let counter = if outcome.is_ok() { &self.taken } else { &self.refused };
        counter.fetch_add(1, Relaxed);
        outcome
    }

    /// The figures now.
    pub fn figures(&self) -> ReloadFigures {
        ReloadFigures {
            taken: self.taken.load(Relaxed),
            refused: self.refused.load(Relaxed),
            taken_at_s: self.taken_at_s.load(Relaxed),
            tried_at_s: self.tried_at_s.load(Relaxed),
            is_taken: self.is_taken.load(Relaxed),
        }
    }
}

impl Collector for ReloadFigures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let to = &mut encoder;
        write_family(
            to,
            FamilyHead::counter("tidegate_config_reloads", "Reloads of the configuration"),
            [([("outcome", "taken")], self.taken), ([("outcome", "refused")], self.refused)],
        )?;
        let help = "Whether the configuration that was read last was taken (1) or refused (0)";
        let head = FamilyHead::gauge("tidegate_config_last_reload_successful", help);
        write_family(to, head, [([], self.is_taken)])?;
        let help = "When the configuration in force was taken, in seconds since 1970";
        let head = FamilyHead::gauge("tidegate_config_last_reload_success_timestamp_seconds", help);
        write_family(to, head, [([], self.taken_at_s)])?;
        let help = "When a configuration was read last, taken or not, in seconds since 1970";
        let head = FamilyHead::gauge("tidegate_config_last_reload_timestamp_seconds", help);
        write_family(to, head, [([], self.tried_at_s)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_reload_keeps_the_time_of_the_one_in_force() {
        let record = ReloadRecord::started(100);
        assert_eq!(record.note(200, Err::<(), _>("wrong")), Err("wrong"));
        let now = record.figures();
        assert_eq!((now.taken, now.refused, now.is_taken), (0, 1, false));
        assert_eq!((now.taken_at_s, now.tried_at_s), (100, 200));
        assert_eq!(record.note(300, Ok::<_, ()>(7)), Ok(7));
        assert!(record.figures().is_taken);
        assert_eq!(record.figures().taken_at_s, 300);
    }
}
