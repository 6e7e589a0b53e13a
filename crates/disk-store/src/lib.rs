//! The disk tier: answers in append-only segments, found through an index of sixteen bytes a
//! record.
//!
//! Nothing leaves it that was damaged, and nothing that was purged, whatever ended the process;
//! what was not on the disk by then is merely gone. It never holds up whoever stores something, and
//! what it reads may wait for the disk. It knows nothing of HTTP: a head is bytes, a key a hash.
//! Called by the store.
//!
//! ```text
//! folder/  identity  lock  purges  0000000000000001.segment …
//! ```

mod append;
mod appender;
mod body;
mod body_chunks;
mod draft;
mod durable_file;
mod evacuate;
mod figures;
mod folder;
mod format;
mod index;
mod key;
mod labels;
mod large_records;
mod large_write;
mod not_stored;
mod open_segment;
mod purge;
mod purge_log;
mod purges;
mod queue;
mod reclaim;
mod record;
mod recover;
mod segment_scan;
mod segments;
mod shared;
mod slot;
mod table;
mod walk;
mod writer;

pub use body::{BodyExtent, CorruptedBody, DiskBody, StoredAnswer};
pub use draft::{LearnedAt, RecordDraft};
pub use figures::{DiskFigures, DiskTrouble};
pub use folder::{OpenError, PRIVATE_FOLDER};
pub use format::{
    BLOCK_BYTES, BODY_ALIGN, BODY_BYTES_MAX, ChecksumSalt, HEAD_BYTES_MAX, HEADER_BYTES,
    INLINE_BODY_BYTES_MAX, LABELS_BYTES_MAX, RECORD_ALIGN, RecordHeader, RecordKind, RecordLayout,
    RecordLife, SegmentOffset, decode_trailer, encode_trailer,
};
pub use index::VARIANTS_MAX;
pub use key::{CacheKey, KeyHash, KeySeed};
pub use not_stored::NotStored;
pub use purge::{PATTERN_BYTES_MAX, Purge, PurgeEffect, PurgeError, PurgeStrength};
pub use purge_log::PurgeHistory;
pub use purges::PURGES_MAX;
pub use queue::{QUEUE_BYTES_USUAL, QUEUE_JOBS_MAX};
pub use segment_scan::{
    FooterEntry, OPENING_BYTES, SegmentEnding, SegmentSurvey, SurveySource, opening, scan_segment,
};
pub use walk::WalkedAnswer;
pub use writer::{GATHERED_BYTES_MAX, RecordWriter};

use folder::DiskFolder;
use index::{DiskObject, RecordMark};
use labels::RecordLabels;
use queue::DiskJob;
use record::{LoadedRecord, PendingRecord, ReadFailure};
use segments::DiskSegment;
use shared::{DiskLimits, DiskShared};
use std::path::PathBuf;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use vocab::Now;

/// Smallest and largest segment, in bytes: the index reaches through 1 GiB.
const SEGMENT_BYTES: std::ops::RangeInclusive<u64> = 64 << 10..=slot::REACH_BYTES;
/// A store has at least and at most this many segments' worth of space.
const SEGMENTS: std::ops::RangeInclusive<u64> = 16..=4096;
/// Segments that a store is divided into where nothing else is asked for: each is reclaimed at
/// once.
const SEGMENTS_USUAL: u64 = 256;
/// Most objects: some 24 GiB of index.
const OBJECTS_MAX: u64 = 1 << 30;
/// Most objects where nothing else is asked for: at most 384 MiB of index.
const OBJECTS_USUAL_MAX: u64 = 1 << 24;

/// Holds what a store on disk is made with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Folder, which is made where there is none.
    pub path: PathBuf,
    /// Bytes that its segments may take, footers included. The log of purges (some MiB at most) and
    /// segments that are reclaimed while somebody still reads them come on top.
    pub bytes: u64,
    /// Bytes of a segment, from 64 KiB to 1 GiB; a 16th of `bytes` at most, a 4096th at least.
    pub segment_bytes: u64,
    /// Objects that it may have; each takes some 20 bytes of memory, 24 at most. At the cap the
    /// oldest segment is reclaimed, as when space runs out.
    pub objects: u64,
    /// Bytes of memory for what waits to be written: what would make more wait is not stored.
    pub queue_bytes: usize,
    /// The secret of a new folder: 128 random bits. A folder that has one keeps it.
    pub seed: KeySeed,
}

impl Settings {
    /// The usual segments for a store of `bytes`, and as many objects as fit if they have 2 KiB
    /// each, up to 16 Mi.
    pub fn new(path: PathBuf, bytes: u64, seed: KeySeed) -> Self {
        let (least, most) = SEGMENT_BYTES.into_inner();
        let segment_bytes = (bytes / SEGMENTS_USUAL).clamp(least, most);
        Self {
            path,
            bytes,
            segment_bytes,
            objects: (bytes / 2048).clamp(1, OBJECTS_USUAL_MAX),
            queue_bytes: QUEUE_BYTES_USUAL,
            seed,
        }
    }

    fn limits(&self) -> Result<DiskLimits, OpenError> {
        let limit = |what: String| Err(OpenError::Limits(what));
        let count = self.bytes / self.segment_bytes.max(1);
        if !SEGMENT_BYTES.contains(&self.segment_bytes) {
            let bytes = self.segment_bytes;
            return limit(format!("a segment of {bytes} bytes; give it 64 KiB to 1 GiB"));
        }
        if !SEGMENTS.contains(&count) {
            return limit(format!("a store of {count} segments; give it space for 16 to 4096"));
        }
        if !(1..=OBJECTS_MAX).contains(&self.objects) {
            let objects = self.objects;
            return limit(format!("{objects} objects; allow between 1 and {OBJECTS_MAX}"));
        }
        Ok(DiskLimits {
            bytes: self.bytes,
            segment_bytes: self.segment_bytes,
            objects: self.objects,
            queue_bytes: self.queue_bytes,
        })
    }
}

impl std::fmt::Debug for KeySeed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seed")
    }
}

/// Holds what was found at the start.
#[derive(Clone, Debug)]
pub struct RecoveredDisk {
    /// The secret of the folder: keys are made with it.
    pub seed: KeySeed,
    /// Objects that can be found.
    pub objects: u64,
    /// Bytes of segments.
    pub bytes: u64,
    /// Segments.
    pub segments: u64,
    /// Segments that had to be walked: the process had not ended in order.
    pub scanned: u64,
    /// Files that were no segments any more, and were removed.
    pub removed: u64,
    /// Names of some files that are not ours; they are left alone.
    pub foreign: Vec<String>,
    /// Completeness of the purges of former runs.
    pub purges: PurgeHistory,
}

/// A store on disk. Dropped, it closes its segments and ends its thread.
pub struct DiskStore {
    shared: Arc<DiskShared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Something under a key, not read yet.
#[derive(Clone, Debug)]
pub struct DiskCandidate {
    key: KeyHash,
    object: DiskObject,
    full: Arc<DiskSegment>,
    head: Option<Arc<DiskSegment>>,
}

impl DiskStore {
    /// Opens the store, or makes it.
    pub fn open(settings: &Settings, now: Now) -> Result<(Self, RecoveredDisk), OpenError> {
        let limits = settings.limits()?;
        let (folder, listing, log) = DiskFolder::open(&settings.path, settings.seed)?;
        let purges = log.read.completeness;
        let shared = Arc::new(DiskShared::new(folder, limits, log, now));
        let found = recover::recover(&shared, &listing)?;
        let disk = Self { thread: Mutex::default(), shared };
        if purges == PurgeHistory::Lost {
            // Should it not be written, the next start comes here again.
            let _ = disk.purge(&[Purge::Everything], PurgeStrength::Hard);
        }
        let shared = &disk.shared;
        let recovered = RecoveredDisk {
            seed: shared.folder.seed,
            objects: shared.index.objects(),
            bytes: shared.segments.bytes(),
            segments: shared.segments.count() as u64,
            scanned: found.scanned,
            removed: found.removed,
            foreign: listing.foreign,
            purges,
        };
        let thread = appender::start(disk.shared.clone(), found.tasks);
        let thread = thread.map_err(|why| OpenError::of(&settings.path, why))?;
        *disk.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok((disk, recovered))
    }

    /// Returns what was learned from now on is not concerned by purges that were made before.
    pub fn moment(&self) -> LearnedAt {
        self.shared.moment()
    }

    /// Returns what may be stored under a key, in no order: an object for each variant, at most
    /// [`VARIANTS_MAX`]. Looks into memory alone.
    pub fn find(&self, key: KeyHash) -> Vec<DiskCandidate> {
        let segment = |slot: slot::IndexSlot| self.shared.segments.get(slot.location().segment);
        let candidate = |object: DiskObject| {
            let full = segment(object.full)?;
            let head = object.head.and_then(segment);
            Some(DiskCandidate { key, object, full, head })
        };
        let found: Vec<_> = self.shared.index.find(key).into_iter().filter_map(candidate).collect();
        if found.is_empty() {
            self.shared.count(|counts| &counts.misses);
        }
        found
    }

    /// Reads a candidate: its head, and its body where that is small. `None` where it was purged,
    /// is damaged (then it is dropped), gone since, or under another key after all. May wait for
    /// the disk.
    pub fn read(&self, candidate: &DiskCandidate) -> Option<StoredAnswer> {
        let DiskCandidate { key, object, full, head } = candidate;
        let body = self.load(*key, full, object.full)?;
        let newer = match (head, object.head) {
            (Some(segment), Some(slot)) => {
                let newer = self.load(*key, segment, slot)?;
                if newer.header.body_sequence != body.header.sequence {
                    // Two keys that share their bits in the index: an older head must not do
                    // instead.
                    return None;
                }
                Some(newer)
            }
            _ => None,
        };
        let (header, text) = match newer {
            Some(newer) => (newer.header, newer.text),
            None => (body.header.clone(), body.text.clone()),
        };
        let place = object.full.location();
        let labels_len = header.labels_len as usize;
        let purged = match text.get(..labels_len).and_then(RecordLabels::decode) {
            Some(labels) => self.shared.purges.on(header.moment, *key, &labels),
            None => PurgeEffect::Hard,
        };
        if purged == PurgeEffect::Hard {
            self.shared.index.remove(*key, place);
            return None;
        }
        let is_checked = object.full.is_checked();
        let checked = if is_checked { format::blocks(body.header.body_len) } else { 0 };
        let body = DiskBody {
            shared: self.shared.clone(),
            segment: full.clone(),
            header: body.header,
            layout: body.layout,
            location: place,
            inline: body.inline,
            checksums: None,
            checked,
        };
        Some(StoredAnswer { text, labels_len, purged, body })
    }

    /// Reads the record of a slot.
    fn load(
        &self,
        key: KeyHash,
        segment: &Arc<DiskSegment>,
        slot: slot::IndexSlot,
    ) -> Option<LoadedRecord> {
        let place = slot.location();
        match record::load(segment, place.at, slot.len(), self.shared.salt) {
            Ok(loaded) => (loaded.header.key == key).then_some(loaded),
            Err(ReadFailure::Dead) => {
                self.shared.index.remove(key, place);
                None
            }
            Err(ReadFailure::Damaged) => {
                self.shared.drop_corrupted(key, segment, place.at);
                None
            }
        }
    }

    /// Notes that something stored was of use: it is moved when its segment is reclaimed.
    pub fn hit(&self, stored: &StoredAnswer) {
        self.shared.count(|counts| &counts.hits);
        self.shared.index.mark(stored.body.header.key, stored.body.location, RecordMark::Hot);
    }

    /// Begins to store an answer.
    pub fn writer(&self, draft: &RecordDraft<'_>, now: Now) -> Result<RecordWriter, NotStored> {
        let number = self.shared.number();
        let record = self.admit(draft.record(RecordKind::Full, number, number), now)?;
        Ok(RecordWriter::new(self.shared.clone(), record))
    }

    /// Stores a newer head for a body that is stored (RFC 9111 §4.3.4), which stays where it is.
    /// The draft is that of the whole answer; its key and variant are those of `stored`.
    pub fn renew(
        &self,
        stored: &StoredAnswer,
        draft: &RecordDraft<'_>,
        now: Now,
    ) -> Result<(), NotStored> {
        let body = &stored.body.header;
        let record = draft.record(RecordKind::Head, self.shared.number(), body.sequence);
        let mut record = self.admit(record, now)?;
        (record.header.key, record.header.variant) = (body.key, body.variant);
        let offered = self.shared.queue.offer(DiskJob::Renew(record));
        offered.inspect_err(|_| self.shared.count(|counts| &counts.not_stored))
    }

    fn admit(
        &self,
        record: Result<PendingRecord, NotStored>,
        now: Now,
    ) -> Result<PendingRecord, NotStored> {
        let may_write = self.shared.may_write(now);
        let record = if may_write { record } else { Err(NotStored::DiskFailure) };
        record.inspect_err(|_| self.shared.count(|counts| &counts.not_stored))
    }

    /// Purges what was learned until now. It holds when this returns, and after any crash if it
    /// returns `Ok`. Waits for the disk.
    pub fn purge(&self, purges: &[Purge], strength: PurgeStrength) -> Result<(), PurgeError> {
        let kept = self.shared.purges.purge(purges, strength, &self.shared.next);
        if matches!(kept, Err(PurgeError::PatternTooLong)) || strength == PurgeStrength::Soft {
            return kept;
        }
        // Sooner out of the index than a look-up would find out. What is purged by a pattern stays
        // there until somebody asks for it, or its segment is reclaimed.
        for purge in purges {
            match purge {
                Purge::Key(key) => self.shared.index.remove_key(*key),
                Purge::Everything => self.shared.index.clear(),
                Purge::Prefix(_) | Purge::Host(_) | Purge::Tag(_) => {}
            }
        }
        kept
    }

    /// Waits until everything that was handed in so far is written, or is given up.
    pub fn flush(&self) {
        let (done, flushed) = sync_channel(1);
        self.shared.queue.push(DiskJob::Flush(done));
        // An error is a thread that has ended: then nothing is waited for.
        let _ = flushed.recv();
    }

    /// The figures of this moment.
    pub fn stats(&self) -> DiskFigures {
        self.shared.stats()
    }
}

impl DiskStore {
    /// Writes what waits, closes the segments and leaves the folder to another process. From now on
    /// nothing is found and nothing stored; what is being read is read to its end. Waits for the
    /// disk.
    pub fn close(&self) {
        self.shared.purges.close();
        self.shared.queue.push(DiskJob::Stop);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // A thread that panicked has said so; its segments are walked at the next start.
            let _ = thread.join();
        }
        self.shared.index.clear();
        self.shared.folder.release();
    }
}

impl Drop for DiskStore {
    fn drop(&mut self) {
        self.close();
    }
}
