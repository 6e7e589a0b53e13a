//! State that callers and the disk's thread share: index, segments, purges, queue.
//!
//! Each part has its own locks, held for microseconds, besides the one around the log of purges,
//! which is held for a sync. Called by everything in this module.

use crate::draft::LearnedAt;
use crate::figures::{DiskCounts, DiskFigures, DiskTrouble};
use crate::folder::DiskFolder;
use crate::format::{BODY_BYTES_MAX, ChecksumSalt};
use crate::index::DiskIndex;
use crate::key::KeyHash;
use crate::not_stored::NotStored;
use crate::purge_log::PurgeLog;
use crate::purges::DiskPurges;
use crate::queue::{DiskJob, DiskQueue, Ticket};
use crate::segments::{DiskSegment, DiskSegments};
use crate::slot::RecordLocation;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use vocab::Now;

/// For how long nothing is written after trouble, in milliseconds: then one record tries.
const FAILURE_PAUSE_MS: u64 = 30_000;
/// Large bodies that are written at once; fewer in a small store.
const LARGE_WRITES_MAX: u64 = 32;

/// Limits of a store, checked.
#[derive(Clone, Copy)]
pub(crate) struct DiskLimits {
    pub(crate) bytes: u64,
    pub(crate) segment_bytes: u64,
    pub(crate) objects: u64,
    pub(crate) queue_bytes: usize,
}

impl DiskLimits {
    /// One object never takes more than an eighth of the store.
    pub(crate) fn body_bytes_max(self) -> u64 {
        (self.bytes / 8).min(BODY_BYTES_MAX)
    }

    /// At most an eighth of the segments is open for large bodies.
    fn large_writes_max(self) -> u64 {
        (self.bytes / self.segment_bytes / 8).clamp(1, LARGE_WRITES_MAX)
    }
}

/// See the module.
pub(crate) struct DiskShared {
    pub(crate) folder: DiskFolder,
    pub(crate) limits: DiskLimits,
    pub(crate) salt: ChecksumSalt,
    pub(crate) index: DiskIndex,
    pub(crate) segments: DiskSegments,
    pub(crate) purges: DiskPurges,
    pub(crate) queue: DiskQueue,
    pub(crate) counts: DiskCounts,
    /// The next number of a record or a purge.
    pub(crate) next: AtomicU64,
    failure: Mutex<Option<WritePause>>,
    /// The latest time that was handed in: seconds since 1970.
    unix_s: AtomicU64,
    large_writes: AtomicU64,
    tickets: AtomicU64,
}

/// Trouble, and when to try again.
struct WritePause {
    failure: DiskTrouble,
    /// On the clock of the callers; `None` until the first of them came by.
    until_mono_ms: Option<u64>,
}

impl DiskShared {
    pub(crate) fn new(folder: DiskFolder, limits: DiskLimits, log: PurgeLog, now: Now) -> Self {
        Self {
            salt: ChecksumSalt::of(&folder.seed),
            folder,
            limits,
            index: DiskIndex::new(),
            segments: DiskSegments::default(),
            next: AtomicU64::new(log.read.next),
            purges: DiskPurges::new(log),
            queue: DiskQueue::new(limits.queue_bytes),
            counts: DiskCounts::default(),
            failure: Mutex::new(None),
            unix_s: AtomicU64::new(now.unix_secs()),
            large_writes: AtomicU64::new(0),
            tickets: AtomicU64::new(0),
        }
    }

    pub(crate) fn number(&self) -> u64 {
        self.next.fetch_add(1, SeqCst)
    }

    pub(crate) fn moment(&self) -> LearnedAt {
        LearnedAt(self.next.load(SeqCst))
    }

    pub(crate) fn count(&self, counter: impl Fn(&DiskCounts) -> &AtomicU64) {
        counter(&self.counts).fetch_add(1, Relaxed);
    }

    /// A place among the large bodies that are being written.
    pub(crate) fn begin_large_write(&self) -> Result<Ticket, NotStored> {
        let most = self.limits.large_writes_max();
        let one_more = |large_writes| (large_writes < most).then_some(large_writes + 1);
        self.large_writes
            .fetch_update(SeqCst, SeqCst, one_more)
            .map_err(|_| NotStored::TooManyLargeWrites)?;
        Ok(self.tickets.fetch_add(1, Relaxed))
    }

    pub(crate) fn end_large_write(&self) {
        self.large_writes.fetch_sub(1, SeqCst);
    }

    /// True if something may be written at `now`: after trouble only now and then.
    pub(crate) fn may_write(&self, now: Now) -> bool {
        self.unix_s.fetch_max(now.unix_secs(), Relaxed);
        let mut trouble = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(paused) = trouble.as_mut() else { return true };
        let is_over = paused.until_mono_ms.is_some_and(|until| now.mono_ms >= until);
        if is_over || paused.until_mono_ms.is_none() {
            // After a pause one tries; the others wait for another pause.
            paused.until_mono_ms = Some(now.mono_ms.saturating_add(FAILURE_PAUSE_MS));
        }
        is_over
    }

    pub(crate) fn set_failure(&self, trouble: Option<DiskTrouble>) {
        let mut paused = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        *paused = trouble.map(|trouble| WritePause { failure: trouble, until_mono_ms: None });
    }

    /// The time, as far as it was handed in: seconds since 1970.
    pub(crate) fn unix_s(&self) -> u64 {
        self.unix_s.load(Relaxed)
    }

    /// Drops a record whose bytes are not what they were. Whoever raced with its removal changes
    /// nothing.
    pub(crate) fn drop_corrupted(&self, key: KeyHash, segment: &Arc<DiskSegment>, at: u64) {
        let gone = self.index.remove(key, RecordLocation { segment: segment.slot, at });
        if gone.is_empty() {
            return;
        }
        self.count(|counts| &counts.corrupted);
        for slot in gone {
            if let Some(segment) = self.segments.get(slot.location().segment) {
                // Where the queue is full it will be found to be damaged once more.
                let _ = self.queue.offer(DiskJob::MarkDead(segment, slot.location().at));
            }
        }
    }

    pub(crate) fn stats(&self) -> DiskFigures {
        let read = |counter: &AtomicU64| counter.load(Relaxed);
        let trouble = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        DiskFigures {
            objects: self.index.objects(),
            renewed: self.index.heads(),
            bytes: self.segments.bytes(),
            segments: self.segments.count() as u64,
            waiting_bytes: self.queue.bytes() as u64,
            purges: self.purges.count() as u64,
            hits: read(&self.counts.hits),
            misses: read(&self.counts.misses),
            stored: read(&self.counts.stored),
            not_stored: read(&self.counts.not_stored),
            corrupted: read(&self.counts.corrupted),
            reclaimed: read(&self.counts.reclaimed),
            moved: read(&self.counts.moved),
            evicted: read(&self.counts.evicted),
            failure: trouble.as_ref().map(|paused| paused.failure.clone()),
        }
    }
}
