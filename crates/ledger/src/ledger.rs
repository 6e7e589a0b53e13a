//! The handle that every door holds.
//!
//! Recording never waits: counters are bumped, the row is queued or dropped and counted. Questions
//! are answered on connections of their own, after all that was recorded before has been written;
//! they take milliseconds and belong on no core's thread. Opened once, by the binary.

use crate::clock::{self, Clock};
use crate::counters::{CountedRequest, LedgerCounters};
use crate::error::OpenError;
use crate::event::RequestEvent;
use crate::metrics;
use crate::notes::RecentNotes;
use crate::queue::QueueFull;
use crate::report::{
    ClientActivity, ClientPage, LatencyReport, LogRow, NewRows, ReadError, ReportRange,
    ReportSeries, ReportTotals, RowPage, TopKind, TopLine, WriterHealth,
};
use crate::row_filter::RowFilter;
use crate::rule_texts::RuleTexts;
use crate::setup::{LogScope, Settings};
use crate::statistics::{StatisticsQuery, StatisticsReport, UpstreamCounts};
use crate::store::LedgerStore;
use crate::store::follow::{FollowBounds, FollowPlace, FollowedRows, MinuteCount};
use crate::store::glimpses::{GlimpseEnd, GlimpseSpan, RowGlimpse};
use crate::store::read::LedgerReader;
use crate::writer::clearing::RowsCleared;
use crate::writer::{FileSharing, LedgerWriter, WriterShared, lock, rows_wanted};
use crate::zone::LedgerZone;
use std::net::IpAddr;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use tokio::sync::watch;
use vocab::{Action, Door, Now};

/// The ledger. Clones are handles to the same one; the last one dropped closes it.
#[derive(Clone)]
pub struct Ledger {
    inner: Arc<LedgerInner>,
}

struct LedgerInner {
    shared: Arc<WriterShared>,
    /// Which requests become rows, as [`rows_code`] says.
    rows: AtomicU8,
    writer: Mutex<Option<JoinHandle<()>>>,
}

/// Opens the ledger in the folder `dir`, or begins one there, and starts its writer.
///
/// A damaged file is set aside with a warning ([`Ledger::health`]) and a new one begun; beside a
/// newer version's file another is begun. A file that cannot be opened for now, on a full disk for
/// one, costs rows until it can be. A ledger that another process holds, and a folder that cannot
/// be made, are errors.
pub fn open(
    settings: &Settings,
    dir: &Path,
    rules: Arc<dyn RuleTexts>,
) -> Result<Ledger, OpenError> {
    open_with_clock(settings, dir, rules, clock::system)
}

pub(crate) fn open_with_clock(
    settings: &Settings,
    dir: &Path,
    rules: Arc<dyn RuleTexts>,
    clock: Clock,
) -> Result<Ledger, OpenError> {
    let opened = LedgerStore::open(dir, clock());
    if let Err(why) = &opened
        && !why.is_transient()
    {
        return Err(why.clone());
    }
    let shared = Arc::new(WriterShared::new(settings.clone(), rules));
    let writer = LedgerWriter::new(shared.clone(), dir, opened, clock);
    let thread = std::thread::Builder::new()
        .name("ledger".into())
        .spawn(move || writer.run())
        .map_err(|why| OpenError::Thread { reason: why.to_string() })?;
    Ok(Ledger {
        inner: Arc::new(LedgerInner {
            shared,
            rows: AtomicU8::new(rows_code(rows_wanted(settings))),
            writer: Mutex::new(Some(thread)),
        }),
    })
}

impl Ledger {
    /// Records one request: counted at once, and its row queued if the settings want one. A full
    /// queue drops the row and counts it. Never waits.
    #[allow(clippy::needless_pass_by_value, reason = "an event is used up by being recorded")]
    pub fn record(&self, event: RequestEvent) {
        let shared = &*self.inner.shared;
        let here = LedgerCounters::shard_here();
        shared.counters.count(here, &CountedRequest::of(&event));
        if self.wants_row(event.action) && shared.queue.push(here, &event) == Err(QueueFull) {
            shared.dropped_queue.fetch_add(1, Relaxed);
        }
    }

    /// Counts one request that becomes no row: what [`Ledger::record`] does less the row. A hot
    /// path asks [`Ledger::wants_row`] first and spares itself the making of the event.
    pub fn count(&self, request: &CountedRequest) {
        self.inner.shared.counters.count(LedgerCounters::shard_here(), request);
    }

    /// True if a request with this action becomes a row.
    pub fn wants_row(&self, action: Action) -> bool {
        match action {
            Action::Pass => self.inner.rows.load(Relaxed) == rows_code(LogScope::All),
            Action::Block => self.inner.rows.load(Relaxed) != rows_code(LogScope::None),
        }
    }

    /// Notes a line that a program behind `door`, or something of our own behind none, complains
    /// with; `from` says which. The last [`crate::NOTES_MAX`] are kept, in memory.
    pub fn note(&self, now: Now, door: impl Into<Option<Door>>, from: &str, text: &str) {
        self.inner.shared.notes.add(now, door.into(), from, text);
    }

    /// The notes.
    pub fn notes(&self) -> RecentNotes {
        self.inner.shared.notes.read()
    }

    /// Takes new settings; what they no longer keep is deleted at once.
    pub fn apply(&self, settings: &Settings) {
        self.inner.rows.store(rows_code(rows_wanted(settings)), Relaxed);
        *lock(&self.inner.shared.settings) = settings.clone();
        self.inner.shared.retain();
    }

    /// Waits until all that was recorded before this call is in the store (or was dropped).
    pub fn flush(&self) {
        self.inner.shared.flush();
    }

    /// Deletes every row that was recorded before this call; sums, the chart and statistics stay.
    /// It takes some seconds with millions of rows.
    pub fn clear(&self) -> RowsCleared {
        self.inner.shared.clear()
    }

    /// Leaves the file to the process that follows this one, or takes it back where none does. Rows
    /// are written in either case.
    pub fn share(&self, sharing: FileSharing) {
        self.inner.shared.share(sharing);
    }

    /// Writes what waits and stops the writer; after that, rows are queued up to the cap and lost.
    pub fn close(&self) {
        self.inner.close();
    }

    /// The metrics page: Prometheus' text format with everything counted here, and the families
    /// that others add.
    pub fn metrics_text(&self, extra: &[Arc<dyn crate::Collector>]) -> String {
        metrics::text(&self.inner.shared, extra)
    }

    /// Returns what was counted over a range that ends at `now`.
    pub fn totals(&self, range: ReportRange, now: Now) -> Result<ReportTotals, ReadError> {
        self.reader()?.totals(range, now)
    }

    /// Counts over time, for a chart that ends at `now`.
    pub fn series(&self, range: ReportRange, now: Now) -> Result<ReportSeries, ReadError> {
        self.reader()?.series(range, now)
    }

    /// The first `n` (at most [`crate::LIMIT_MAX`]) of what was asked for most, over a range that
    /// ends at `now`, widened to whole hours.
    pub fn top(
        &self,
        top: TopKind,
        range: ReportRange,
        n: usize,
        now: Now,
    ) -> Result<Vec<TopLine>, ReadError> {
        self.reader()?.top(top, range, n, now)
    }

    /// The clients of a range that ends at `now`, those with most requests first, at most `n`
    /// ([`crate::LIMIT_MAX`]).
    pub fn clients(&self, range: ReportRange, n: usize, now: Now) -> Result<ClientPage, ReadError> {
        self.reader()?.clients(range, n, now)
    }

    /// Requests of one client over a range that ends at `now`, with at most `n` names
    /// ([`crate::LIMIT_MAX`]) that passed and as many that were blocked.
    pub fn activity(
        &self,
        client: IpAddr,
        range: ReportRange,
        n: usize,
        now: Now,
    ) -> Result<ClientActivity, ReadError> {
        self.reader()?.activity(client, range, n, now)
    }

    /// Statistics over a time that ends at `now` or before.
    pub fn statistics(
        &self,
        query: &StatisticsQuery,
        now: Now,
    ) -> Result<StatisticsReport, ReadError> {
        let zone = lock(&self.inner.shared.settings).statistics.time_zone.clone();
        self.reader()?.statistics(query, &LedgerZone::of(&zone), now)
    }

    /// Counts by upstream too, from here on. What was counted before this call is left out.
    pub fn count_upstreams(&self, upstreams: Arc<dyn UpstreamCounts>) {
        // Once: the binary has one resolver and one gateway.
        let _ = self.inner.shared.upstreams.set(upstreams);
    }

    /// Rows of the log, newest first, at most `limit` (1 to [`crate::LIMIT_MAX`]).
    pub fn rows(&self, filter: &RowFilter, limit: usize) -> Result<RowPage, ReadError> {
        self.reader()?.rows(filter, limit)
    }

    /// Rows newer than [`RowFilter::after`], at most `limit` ([`crate::NEW_ROWS_MAX`]), as far as
    /// they are stored: unlike other questions, this has nothing written for it.
    pub fn new_rows(&self, filter: &RowFilter, limit: usize) -> Result<NewRows, ReadError> {
        self.stored()?.new_rows(filter, limit)
    }

    /// Rows behind a place in the order in which they were stored, as far as they are: nothing is
    /// written for it. `wants` is asked about the number of each.
    pub fn follow(
        &self,
        place: FollowPlace,
        bounds: FollowBounds,
        wants: impl FnMut(u64) -> bool,
    ) -> Result<FollowedRows, ReadError> {
        self.stored()?.follow(place, bounds, wants)
    }

    /// Counts of a minute since 1970 and those behind it, as far as they are stored, oldest first;
    /// at most `limit` lines.
    pub fn minutes_since(&self, minute: u64, limit: usize) -> Result<Vec<MinuteCount>, ReadError> {
        self.stored()?.minutes_since(minute, limit)
    }

    /// The number of the newest row that is stored, told again with each batch; 0 before the first.
    /// Falls where a damaged file was replaced.
    pub fn newest_row(&self) -> watch::Receiver<u64> {
        self.inner.shared.newest.subscribe()
    }

    /// One row, if it is there.
    pub fn row(&self, id: u64) -> Result<Option<LogRow>, ReadError> {
        self.reader()?.row(id)
    }

    /// Rows of requests that were made at one moment, in milliseconds since 1970, newest first; at
    /// most [`crate::LIMIT_MAX`]. Costs little, however long the log is.
    pub fn rows_at(&self, at_ms: u64) -> Result<Vec<LogRow>, ReadError> {
        self.reader()?.rows_at(at_ms)
    }

    /// Many rows at a glance, from the newest back. `wants` is asked about each host once a block,
    /// and `visit` is told of it where it is wanted.
    pub fn glimpses(
        &self,
        span: GlimpseSpan,
        wants: impl FnMut(&str) -> bool,
        visit: impl FnMut(RowGlimpse<'_>),
    ) -> Result<GlimpseEnd, ReadError> {
        self.reader()?.glimpses(span, wants, visit)
    }

    /// Rows of one client from a moment on and before another, in milliseconds since 1970, oldest
    /// first; at most `rows_max`, the newest.
    pub fn rows_of(
        &self,
        client: IpAddr,
        span: Range<u64>,
        rows_max: usize,
    ) -> Result<Vec<LogRow>, ReadError> {
        self.reader()?.rows_of(client, span, rows_max)
    }

    /// Latency since the start, of every door that had a request.
    pub fn latencies(&self) -> Vec<LatencyReport> {
        let of = |door| {
            let sum = self.inner.shared.counters.latency(door);
            Some(LatencyReport {
                door,
                count: sum.count(),
                median_us: sum.quantile(0.5)?,
                p99_us: sum.quantile(0.99)?,
            })
        };
        Door::ALL.into_iter().filter_map(of).collect()
    }

    /// Returns how the ledger itself does.
    pub fn health(&self) -> WriterHealth {
        let shared = &self.inner.shared;
        let warnings = lock(&shared.warnings);
        WriterHealth {
            dropped_queue: shared.dropped_queue.load(Relaxed),
            dropped_store: shared.dropped_store.load(Relaxed),
            stored: shared.stored.load(Relaxed),
            warnings: warnings.reported.iter().chain(&warnings.now).cloned().collect(),
        }
    }

    fn reader(&self) -> Result<LedgerReader, ReadError> {
        self.flush();
        self.stored()
    }

    fn stored(&self) -> Result<LedgerReader, ReadError> {
        let path = self.inner.shared.path.get();
        let path = path.ok_or_else(|| ReadError("the ledger is not open".into()))?;
        LedgerReader::open(path)
    }
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ledger")
            .field("path", &self.inner.shared.path.get())
            .finish_non_exhaustive()
    }
}

impl LedgerInner {
    fn close(&self) {
        self.shared.close();
        if let Some(thread) = lock(&self.writer).take() {
            // A writer that panicked has said so on its own; the process is stopping anyway.
            let _ = thread.join();
        }
    }
}

impl Drop for LedgerInner {
    fn drop(&mut self) {
        self.close();
    }
}

fn rows_code(log: LogScope) -> u8 {
    match log {
        LogScope::None => 0,
        LogScope::Blocked => 1,
        LogScope::All => 2,
    }
}

#[cfg(test)]
#[path = "ledger/tests.rs"]
mod tests;
