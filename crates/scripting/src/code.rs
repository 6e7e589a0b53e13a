//! The part of a script that a virtual machine loads, and what the script is given there.

use crate::failure::{FailureCause, ScriptFailure};
use crate::log_budget::LimitedLog;
use crate::shared::SharedTable;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A call that takes longer is counted as slow.
const SLOW: Duration = Duration::from_micros(200);

/// Bytecode with what belongs to it.
pub(crate) struct ScriptCode {
    /// Unlike any other's of this process.
    pub(crate) number: u64,
    /// The name of its file, as messages have it.
    pub(crate) name: String,
    pub(crate) bytecode: Vec<u8>,
    pub(crate) time_limit: Duration,
    /// From one call of `on_timer` to the next.
    pub(crate) interval: Duration,
    /// Held by the thread that calls `on_timer`, which ends with this.
    pub(crate) timer: OnceLock<SyncSender<()>>,
    /// Kept over reloads of the file, as are the counters.
    pub(crate) shared: Arc<SharedTable>,
    pub(crate) counters: Arc<ScriptCounters>,
    pub(crate) log: LimitedLog,
}

/// Counters of what a script or a filter does, over reloads of its file.
#[derive(Debug, Default)]
pub struct ScriptCounters {
    calls: AtomicU64,
    errors: AtomicU64,
    ended: AtomicU64,
    slow: AtomicU64,
}

/// Numbers of what a script has done since the program began, over reloads of its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScriptCounts {
    /// Calls of its hooks.
    pub calls: u64,
    /// Calls that ended with an error, those ended for their time among them.
    pub errors: u64,
    /// Calls that were ended because they took too long.
    pub ended: u64,
    /// Calls that took more than 200 µs.
    pub slow: u64,
}

impl ScriptCounts {
    /// Adds those of another route with the same file.
    pub const fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.errors += other.errors;
        self.ended += other.ended;
        self.slow += other.slow;
    }
}

impl ScriptCode {
    /// A number for the next one.
    pub(crate) fn next_number() -> u64 {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        NUMBERS.fetch_add(1, Relaxed)
    }

    /// Writes a line to the program's log, if the script has not written too many.
    pub(crate) fn log(&self, words: &str) {
        self.log.write(words);
    }

    /// Counts a call, and tells of it if it failed.
    pub(crate) fn note(&self, outcome: &Result<Duration, ScriptFailure>) {
        self.counters.count(outcome);
        if let Err(failure) = outcome {
            self.log(&failure.message);
        }
    }

    /// The counts by now.
    pub(crate) fn counts(&self) -> ScriptCounts {
        self.counters.counts()
    }
}

impl ScriptCounters {
    /// Counts a call that took so long, as far as that was measured, or failed.
    pub fn count(&self, outcome: &Result<Duration, ScriptFailure>) {
        let count = |counter: &AtomicU64| counter.fetch_add(1, Relaxed);
        count(&self.calls);
        match outcome {
            Ok(time) if *time > SLOW => drop(count(&self.slow)),
            Ok(_) => {}
            Err(failure) => {
                count(&self.errors);
                if failure.cause == FailureCause::TimeLimit {
                    count(&self.ended);
                }
            }
        }
    }

    /// The counts by now.
    pub fn counts(&self) -> ScriptCounts {
        let Self { calls, errors, ended, slow } = self;
        let [calls, errors, ended, slow] = [calls, errors, ended, slow].map(|it| it.load(Relaxed));
        ScriptCounts { calls, errors, ended, slow }
    }
}
