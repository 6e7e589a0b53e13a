//! The one thread that writes to the store.
//!
//! It is woken by nobody but a flush: ten times a second it looks, and writes when rows are many or
//! a second old. A store that fails costs rows, which are counted, and never the process. Started
//! by
//! [`crate::open`], stopped by [`crate::Ledger::close`].

pub(crate) mod clearing;

use crate::RuleTexts;
use crate::clock::Clock;
use crate::counters::{CountedSums, LedgerCounters};
use crate::error::OpenError;
use crate::notes::NoteBook;
use crate::queue::RowQueue;
use crate::setup::{LogScope, Settings};
use crate::statistics::UpstreamCounts;
use crate::store::retain::{CleanupProgress, RetentionBounds, RetentionCut};
use crate::store::write::RowBatch;
use crate::store::{LedgerStore, StoreError, StoreRemedy};
use crate::upkeep::{StatisticsTerms, StatisticsUpkeep, UpstreamSums};
use std::path::{Path, PathBuf};
use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// How often the writer looks at the queue, and how often while rows are many.
const LOOK: Duration = Duration::from_millis(100);
const LOOK_BUSY: Duration = Duration::from_millis(20);
/// While so many rows wait, the writer looks often: a burst must not fill the queue between two
/// looks.
const BUSY_ROWS: usize = 512;
/// A row waits no longer than this, unless many others come.
const AGE_MAX: Duration = Duration::from_secs(1);
/// As many rows are written at once without waiting for the second to pass.
const BATCH_ROWS: usize = 4_096;
/// How often old rows are looked for, and how often the file's size is.
const RETAIN_EVERY: Duration = Duration::from_hours(1);
const SIZE_EVERY: Duration = Duration::from_secs(5);
/// While rows wait to be deleted above the largest size, this part of it more is the end: rows are
/// dropped until the file is smaller.
const OVERSIZE_PART: u64 = 8;
/// Pause between two tries to open a ledger that could not be opened, or to convert an older one.
const OPEN_EVERY: Duration = Duration::from_secs(5);
/// Warnings that are kept.
const WARNINGS_MAX: usize = 16;

/// Holds what the doors' side and the writer share.
pub(crate) struct WriterShared {
    pub(crate) counters: LedgerCounters,
    pub(crate) queue: RowQueue,
    pub(crate) notes: NoteBook,
    pub(crate) rules: Arc<dyn RuleTexts>,
    pub(crate) dropped_queue: AtomicU64,
    pub(crate) dropped_store: AtomicU64,
    pub(crate) stored: AtomicU64,
    /// Set while another process takes, or may take, the file for its own.
    is_shared: AtomicBool,
    pub(crate) settings: Mutex<Settings>,
    pub(crate) warnings: Mutex<LedgerWarnings>,
    /// The file, once it is open.
    pub(crate) path: OnceLock<PathBuf>,
    /// Who counts by upstream, once that is known.
    pub(crate) upstreams: OnceLock<Arc<dyn UpstreamCounts>>,
    /// The number of the newest row that is stored.
    pub(crate) newest: watch::Sender<u64>,
    commands: Mutex<WriterOrders>,
    /// Rung for the writer: an order was given.
    ordered: Condvar,
    /// Rung by the writer: an order was carried out.
    command_done: Condvar,
}

/// Holds what the operator should know.
#[derive(Default)]
pub(crate) struct LedgerWarnings {
    /// What happened, once for each.
    pub(crate) reported: Vec<String>,
    /// What is wrong right now.
    pub(crate) now: Option<String>,
}

/// Holds what the writer is asked to do.
#[derive(Default)]
struct WriterOrders {
    flush_wanted: u64,
    flush_done: u64,
    /// All rows are to be deleted, before the next flush is answered; so it stays where they
    /// cannot be.
    clear: WriterWake,
    /// New settings: look for old rows at once.
    retain: WriterWake,
    close: WriterWake,
    /// The writer has ended, whatever the reason: nobody waits for it any more.
    ended: WriterWake,
}

/// Ownership of the ledger's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSharing {
    /// This process's alone: it also deletes what is past its time.
    Owned,
    /// Another one's; rows of what ends here are added.
    Shared,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum WriterWake {
    #[default]
    No,
    Yes,
}

impl WriterShared {
    pub(crate) fn new(settings: Settings, rules: Arc<dyn RuleTexts>) -> Self {
        Self {
            counters: LedgerCounters::new(),
            queue: RowQueue::new(),
            notes: NoteBook::default(),
            rules,
            dropped_queue: AtomicU64::new(0),
            dropped_store: AtomicU64::new(0),
            stored: AtomicU64::new(0),
            is_shared: AtomicBool::new(false),
            settings: Mutex::new(settings),
            warnings: Mutex::default(),
            path: OnceLock::new(),
            upstreams: OnceLock::new(),
            newest: watch::Sender::new(0),
            commands: Mutex::default(),
            ordered: Condvar::new(),
            command_done: Condvar::new(),
        }
    }

    /// Waits until everything recorded before this call is in the store, or was dropped.
    pub(crate) fn flush(&self) {
        let mut orders = lock(&self.commands);
        orders.flush_wanted += 1;
        let ticket = orders.flush_wanted;
        self.ordered.notify_one();
        while orders.flush_done < ticket && orders.ended == WriterWake::No {
            orders = self.command_done.wait(orders).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Has old rows looked for at once.
    pub(crate) fn retain(&self) {
        lock(&self.commands).retain = WriterWake::Yes;
        self.ordered.notify_one();
    }

    /// Leaves the file to the process that follows, or takes it back. Rows are written in either
    /// case. The lock is free when this returns.
    pub(crate) fn share(&self, sharing: FileSharing) {
        self.is_shared.store(sharing == FileSharing::Shared, Release);
        self.flush();
    }

    /// Has the writer write what waits and end.
    pub(crate) fn close(&self) {
        lock(&self.commands).close = WriterWake::Yes;
        self.ordered.notify_one();
    }

    pub(crate) fn warn(&self, warning: String) {
        let mut warnings = lock(&self.warnings);
        if warnings.reported.len() < WARNINGS_MAX {
            warnings.reported.push(warning);
        }
    }
}

/// A lock whose holder panicked still guards plain values: they are whole after every statement.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread's own things.
pub(crate) struct LedgerWriter {
    shared: Arc<WriterShared>,
    dir: PathBuf,
    /// None until it can be opened.
    store: Option<LedgerStore>,
    open_at: Instant,
    clock: Clock,
    buffers: Vec<Vec<u8>>,
    /// What was counted and stored so far.
    counted: CountedSums,
    upstreams: UpstreamSums,
    terms: StatisticsTerms,
    upkeep: StatisticsUpkeep,
    written_at: Instant,
    retain_at: Instant,
    size_at: Instant,
    /// The rows that are being deleted, in steps.
    retaining: Option<RetentionCut>,
    /// The next try to take over rows of an older version, after one failed.
    convert_at: Instant,
    file_space: FileRoom,
}

/// Tells whether the file may grow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FileRoom {
    Enough,
    None,
}

/// Lets everybody who waits for the writer go, even if it ends by a panic.
struct WriterEnd(Arc<WriterShared>);

impl Drop for WriterEnd {
    fn drop(&mut self) {
        lock(&self.0.commands).ended = WriterWake::Yes;
        self.0.command_done.notify_all();
    }
}

impl LedgerWriter {
    /// The writer for the folder `dir`; `opened` came of the first try to open the store there.
    pub(crate) fn new(
        shared: Arc<WriterShared>,
        dir: &Path,
        opened: Result<(LedgerStore, Option<String>), OpenError>,
        clock: Clock,
    ) -> Self {
        let now = Instant::now();
        let terms = StatisticsTerms::of(&lock(&shared.settings));
        let mut writer = Self {
            shared,
            dir: dir.into(),
            store: None,
            open_at: now,
            clock,
            buffers: Vec::new(),
            counted: CountedSums::zero(),
            upstreams: UpstreamSums::default(),
            terms,
            upkeep: StatisticsUpkeep::new(now),
            written_at: now,
            retain_at: now,
            size_at: now,
            retaining: None,
            convert_at: now,
            file_space: FileRoom::Enough,
        };
        writer.accept_store(opened);
        writer
    }

    /// Takes the store that was opened, or says why there is none.
    fn accept_store(&mut self, opened: Result<(LedgerStore, Option<String>), OpenError>) {
        match opened {
            Ok((store, warning)) => {
                if let Some(warning) = warning {
                    self.shared.warn(warning);
                }
                lock(&self.shared.warnings).now = None;
                // It is opened once; the same file takes the place of a damaged one.
                let _ = self.shared.path.set(store.path().to_path_buf());
                self.shared.newest.send_replace(store.newest_row());
                self.store = Some(store);
            }
            Err(why) => {
                self.open_at = Instant::now() + OPEN_EVERY;
                lock(&self.shared.warnings).now = Some(format!(
                    "{why}; until the ledger is opened, rows are dropped and counted"
                ));
            }
        }
    }

    /// The store; tried again now and then where it could not be opened.
    fn store(&mut self) -> Option<&mut LedgerStore> {
        let is_shared = self.shared.is_shared.load(Acquire);
        if self.store.is_none() && !is_shared && Instant::now() >= self.open_at {
            self.accept_store(LedgerStore::open(&self.dir, (self.clock)()));
        }
        self.store.as_mut()
    }

    /// Writes until it is closed.
    pub(crate) fn run(mut self) {
        let _ended = WriterEnd(self.shared.clone());
        let mut look = LOOK;
        loop {
            let (flush, close) = self.wait(look);
            self.follow_sharing();
            let waiting = self.shared.queue.len();
            let due = self.written_at.elapsed() >= AGE_MAX || waiting >= BATCH_ROWS;
            if due || flush.is_some() || close == WriterWake::Yes {
                self.write();
            }
            look = if waiting >= BUSY_ROWS { LOOK_BUSY } else { LOOK };
            if let Some(ticket) = flush {
                self.clear_if_wanted();
                lock(&self.shared.commands).flush_done = ticket;
                self.shared.command_done.notify_all();
            }
            if close == WriterWake::Yes {
                if let Some(store) = &self.store {
                    // What fails here is read from the write-ahead log at the next start.
                    let _ = store.checkpoint();
                }
                return;
            }
            if self.retain() == CleanupProgress::More {
                look = LOOK_BUSY;
            }
        }
    }

    /// Gives the file's lock up, or takes it again.
    fn follow_sharing(&mut self) {
        let is_shared = self.shared.is_shared.load(Acquire);
        match &mut self.store {
            Some(store) if is_shared => store.give_up_lock(),
            Some(store) => store.take_lock(),
            None => {}
        }
    }

    /// Sleeps until it is time to look, or an order comes. Gives the flush to be answered.
    fn wait(&mut self, look: Duration) -> (Option<u64>, WriterWake) {
        let idle = |orders: &mut WriterOrders| {
            orders.flush_wanted == orders.flush_done
                && orders.close == WriterWake::No
                && orders.retain == WriterWake::No
        };
        let orders = lock(&self.shared.commands);
        let (mut orders, _) = self
            .shared
            .ordered
            .wait_timeout_while(orders, look, idle)
            .unwrap_or_else(PoisonError::into_inner);
        if orders.retain == WriterWake::Yes {
            orders.retain = WriterWake::No;
            self.retain_at = Instant::now();
            self.upkeep.hurry(self.retain_at);
        }
        let flush = (orders.flush_wanted > orders.flush_done).then_some(orders.flush_wanted);
        (flush, orders.close)
    }

    /// Writes one batch: all rows that wait and all that was counted since the last.
    fn write(&mut self) {
        self.written_at = Instant::now();
        let mut rows = self.shared.queue.drain(&mut self.buffers) as u64;
        let has_store = self.store().is_some();
        if (self.file_space == FileRoom::None || !has_store) && rows > 0 {
            self.shared.dropped_store.fetch_add(rows, Relaxed);
            self.buffers.iter_mut().for_each(Vec::clear);
            rows = 0;
        }
        let sums = self.shared.counters.counted();
        let counts = sums.since(&self.counted);
        if rows == 0 && counts.counts.iter().next().is_none() {
            return;
        }
        let Some(store) = &mut self.store else { return };
        self.terms.follow(&lock(&self.shared.settings));
        let (now_ms, terms) = ((self.clock)(), &self.terms);
        let upstreams = self.upstreams.since_stored(self.shared.upstreams.get());
        let batch = RowBatch {
            buffers: &self.buffers,
            counts: &counts,
            minute: now_ms / 60_000,
            hour: terms.hour(now_ms),
            clients: terms.clients,
            upstreams: &upstreams,
            anonymise: terms.anonymise,
            rules: &*self.shared.rules,
        };
        match store.write(&batch) {
            Ok(()) => {
                self.counted = sums;
                self.upstreams.keep();
                self.shared.stored.fetch_add(rows, Relaxed);
                if rows > 0 {
                    self.shared.newest.send_replace(store.newest_row());
                }
                lock(&self.shared.warnings).now = None;
            }
            Err(error) => {
                // The counts stay to be stored with the next batch; the rows would only pile up.
                self.shared.dropped_store.fetch_add(rows, Relaxed);
                self.handle_error(&error);
            }
        }
    }

    /// Does what can be done about a store that failed.
    fn handle_error(&mut self, error: &StoreError) {
        let renewed = match error.remedy {
            StoreRemedy::Retry => Err(error.reason.clone()),
            StoreRemedy::Renew => match &mut self.store {
                Some(store) if store.is_owned() => {
                    store.renew(&error.reason, (self.clock)()).map_err(|again| again.reason)
                }
                Some(_) | None => Err(error.reason.clone()),
            },
        };
        match renewed {
            Ok(warning) => self.shared.warn(warning),
            Err(why) => {
                lock(&self.shared.warnings).now = Some(format!(
                    "{}: the ledger cannot be written: {why}; rows are dropped and counted until \
                     it can: look at the disk's space and rights",
                    self.shared.path.get().unwrap_or(&self.dir).display()
                ));
            }
        }
    }

    /// Looks for what is past its time when that is due, and deletes a step of it.
    fn retain(&mut self) -> CleanupProgress {
        match self.try_retain() {
            Ok(progress) => progress,
            Err(error) => {
                self.retaining = None;
                self.convert_at = Instant::now() + OPEN_EVERY;
                self.handle_error(&error);
                CleanupProgress::Done
            }
        }
    }

    fn try_retain(&mut self) -> Result<CleanupProgress, StoreError> {
        let now = Instant::now();
        let bounds = self.bounds();
        let Some(store) = &mut self.store else { return Ok(CleanupProgress::Done) };
        if !store.is_owned() {
            return Ok(CleanupProgress::Done);
        }
        // What is past its time is known once all rows stand in blocks.
        if store.has_older_rows() {
            return if now < self.convert_at {
                Ok(CleanupProgress::Done)
            } else {
                store.convert_step()
            };
        }
        self.terms.follow(&lock(&self.shared.settings));
        if now >= self.convert_at
            && self.upkeep.turn(store, &self.terms, (self.clock)())? == CleanupProgress::More
        {
            return Ok(CleanupProgress::More);
        }
        if self.retaining.is_none() && now >= self.size_at.min(self.retain_at) {
            let bytes = store.bytes()?;
            self.size_at = now + SIZE_EVERY;
            self.file_space = if bytes > bounds.bytes_max + bounds.bytes_max / OVERSIZE_PART {
                FileRoom::None
            } else {
                FileRoom::Enough
            };
            if now >= self.retain_at || bytes > bounds.bytes_max {
                self.retain_at = now + RETAIN_EVERY;
                self.retaining = Some(store.cut((self.clock)(), bounds)?);
            }
        }
        let Some(cut) = self.retaining else { return Ok(CleanupProgress::Done) };
        let progress = store.retain_step((self.clock)(), cut)?;
        if progress == CleanupProgress::Done {
            self.retaining = None;
        }
        Ok(progress)
    }

    fn bounds(&self) -> RetentionBounds {
        let settings = lock(&self.shared.settings);
        RetentionBounds { keep: settings.keep.0.0, bytes_max: settings.max_size.bytes() }
    }
}

/// Which requests become rows: none if none is kept.
pub(crate) fn rows_wanted(settings: &Settings) -> LogScope {
    if settings.keep.0.0.is_zero() { LogScope::None } else { settings.log }
}
