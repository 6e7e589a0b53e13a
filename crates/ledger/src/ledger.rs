//! The handle that every door holds.
//!
//! Recording never waits: counters are bumped, the row is queued or dropped and counted. Questions
//! are answered from the store's own reading connection, after all that was recorded before has
//! been written. Opened once by the binary.

use crate::counters::Counters;
use crate::error::OpenError;
use crate::event::Event;
use crate::queue::Queue;
use crate::report::{
    Filter, Health, Latency, Page, Range, ReadError, Row, Series, Top, TopLine, Totals,
};
use crate::setup::Settings;
use std::path::Path;
use std::sync::Arc;
use vocab::{Action, Door, Now, RuleRef, Source};

/// Who knows the text of a rule: the policy, through the binary.
pub trait RuleTexts: Send + Sync + 'static {
    /// The list's name and the rule's text, for a rule that matched `host`; none if it is gone.
    fn text(&self, rule: RuleRef, host: &str) -> Option<(String, String)>;
}

/// The ledger. Clones are handles to the same one; the last one dropped closes it.
#[derive(Clone)]
pub struct Ledger {
    inner: Arc<Inner>,
}

struct Inner {
    counters: Counters,
    queue: Queue,
}

/// Opens the ledger in the folder `dir`, or begins one there, and starts its writer.
pub fn open(
    settings: &Settings,
    dir: &Path,
    rules: Arc<dyn RuleTexts>,
) -> Result<Ledger, OpenError> {
    let _ = (settings, dir, rules);
    Ok(Ledger { inner: Arc::new(Inner { counters: Counters::new(), queue: Queue::new() }) })
}

impl Ledger {
    /// Records one request.
    pub fn record(&self, event: Event) {
        let shard = Counters::shard_here();
        self.inner.counters.count(shard, event.door, event.action, event.source, event.took_us);
        let _ = self.inner.queue.push(shard, &event);
    }
    /// Counts one request that is to become no row.
    pub fn count(&self, door: Door, action: Action, source: Source, took_us: u32) {
        self.inner.counters.count(Counters::shard_here(), door, action, source, took_us);
    }
    /// Whether a request with this action becomes a row.
    pub fn wants_row(&self, _action: Action) -> bool {
        true
    }
    /// Takes new settings.
    pub fn apply(&self, _settings: &Settings) {}
    /// Waits until all recorded so far is in the store.
    pub fn flush(&self) {}
    /// Flushes and stops the writer.
    pub fn close(&self) {}
    /// Prometheus text.
    pub fn metrics_text(&self, _extra: &[Arc<dyn crate::Collector>]) -> String {
        String::new()
    }
    /// Totals.
    pub fn totals(&self, _range: Range, _now: Now) -> Result<Totals, ReadError> {
        Err(ReadError(String::new()))
    }
    /// Series.
    pub fn series(&self, _range: Range, _now: Now) -> Result<Series, ReadError> {
        Err(ReadError(String::new()))
    }
    /// Top.
    pub fn top(
        &self,
        _top: Top,
        _range: Range,
        _n: usize,
        _now: Now,
    ) -> Result<Vec<TopLine>, ReadError> {
        Err(ReadError(String::new()))
    }
    /// Rows.
    pub fn rows(&self, _filter: &Filter, _limit: usize) -> Result<Page, ReadError> {
        Err(ReadError(String::new()))
    }
    /// Row.
    pub fn row(&self, _id: u64) -> Result<Option<Row>, ReadError> {
        Ok(None)
    }
    /// Latency of the doors.
    pub fn latencies(&self) -> Vec<Latency> {
        Vec::new()
    }
    /// Health.
    pub fn health(&self) -> Health {
        Health::default()
    }
}
