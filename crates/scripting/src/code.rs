//! The part of a script that a virtual machine loads, and what the script is given there.

use crate::failure::{FailureCause, ScriptFailure};
use crate::log_budget::LogBudget;
use crate::shared::SharedTable;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// A call that takes longer is counted as slow.
const SLOW: Duration = Duration::from_micros(200);

/// Taker of lines for the program's log.
pub type ScriptLog = Arc<dyn Fn(&str) + Send + Sync>;

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
    pub(crate) log: ScriptLog,
    pub(crate) budget: LogBudget,
}

#[derive(Default)]
pub(crate) struct ScriptCounters {
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
        let Some(left_out) = self.budget.take(Instant::now()) else { return };
        let words: String = words.chars().take(LINE_CHARS_MAX).map(printable).collect();
        match left_out {
            0 => (self.log)(&format!("script {}: {words}", self.name)),
            _ => (self.log)(&format!(
                "script {}: {words} ({left_out} lines before were left out)",
                self.name
            )),
        }
    }

    /// Counts a call, and tells of it if it failed.
    pub(crate) fn note(&self, outcome: &Result<Duration, ScriptFailure>) {
        let count = |counter: &AtomicU64| counter.fetch_add(1, Relaxed);
        count(&self.counters.calls);
        match outcome {
            Ok(time) if *time > SLOW => drop(count(&self.counters.slow)),
            Ok(_) => {}
            Err(failure) => {
                count(&self.counters.errors);
                if failure.cause == FailureCause::TimeLimit {
                    count(&self.counters.ended);
                }
                self.log(&failure.message);
            }
        }
    }

    /// The counts by now.
    pub(crate) fn counts(&self) -> ScriptCounts {
        let ScriptCounters { calls, errors, ended, slow } = &*self.counters;
        let [calls, errors, ended, slow] = [calls, errors, ended, slow].map(|it| it.load(Relaxed));
        ScriptCounts { calls, errors, ended, slow }
    }
}

/// Characters of a line in the log.
const LINE_CHARS_MAX: usize = 1000;

/// A character that cannot begin a line of its own.
fn printable(character: char) -> char {
    if character.is_control() { ' ' } else { character }
}
