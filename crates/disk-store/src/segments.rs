//! The segments of a store: their files, and what is known of each without reading it.
//!
//! A segment that is reclaimed loses its name at once and its bytes when the last reader lets go of
//! it, so nobody's answer is cut off. Only the disk's thread adds, grows and removes; anybody looks
//! up.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};

/// Segments, and so open files, at the same time. At the cap the oldest is reclaimed first.
pub(crate) const SEGMENTS_OPEN_MAX: usize = 8192;

/// One segment.
pub(crate) struct DiskSegment {
    /// Place in the table, which another may have had and may have later.
    pub(crate) slot: u32,
    /// Number, which no other ever has.
    pub(crate) id: u64,
    pub(crate) file: File,
    path: PathBuf,
    /// Bytes that count against the limit: its file, and the footer that it will have.
    bytes: AtomicU64,
    pub(crate) moment_min: AtomicU64,
    /// The least is reclaimed first.
    pub(crate) age: AtomicU64,
    /// Number of times that it was spared because much of it was in use.
    pub(crate) deferred: AtomicU32,
    /// True if nothing is written to it any more.
    pub(crate) is_closed: AtomicBool,
}

impl DiskSegment {
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }
}

/// All of them.
pub(crate) struct DiskSegments {
    table: RwLock<Vec<Option<Arc<DiskSegment>>>>,
    bytes: AtomicU64,
    next_id: AtomicU64,
    next_age: AtomicU64,
    /// The least moment in files that could not be removed.
    moment_left: AtomicU64,
}

impl Default for DiskSegments {
    fn default() -> Self {
        Self {
            table: RwLock::default(),
            bytes: AtomicU64::new(0),
            next_id: AtomicU64::new(0),
            next_age: AtomicU64::new(0),
            moment_left: AtomicU64::new(u64::MAX),
        }
    }
}

impl DiskSegments {
    pub(crate) fn get(&self, slot: u32) -> Option<Arc<DiskSegment>> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        table.get(slot as usize).cloned().flatten()
    }

    /// All that there are, in no order.
    pub(crate) fn all(&self) -> Vec<Arc<DiskSegment>> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        table.iter().flatten().cloned().collect()
    }

    pub(crate) fn count(&self) -> usize {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        table.iter().flatten().count()
    }

    /// Bytes that count against the limit.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// A number that no segment had.
    pub(crate) fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Relaxed) + 1
    }

    /// An age younger than all.
    pub(crate) fn next_age(&self) -> u64 {
        self.next_age.fetch_add(1, Relaxed)
    }

    pub(crate) fn add(&self, id: u64, file: File, path: PathBuf) -> Arc<DiskSegment> {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let free = table.iter().position(Option::is_none).unwrap_or(table.len());
        let segment = Arc::new(DiskSegment {
            slot: free as u32,
            id,
            file,
            path,
            bytes: AtomicU64::new(0),
            moment_min: AtomicU64::new(u64::MAX),
            age: AtomicU64::new(self.next_age()),
            deferred: AtomicU32::new(0),
            is_closed: AtomicBool::new(false),
        });
        if free == table.len() {
            table.push(None);
        }
        table[free] = Some(segment.clone());
        self.next_id.fetch_max(id, Relaxed);
        segment
    }

    /// Notes how large a segment has become.
    pub(crate) fn resize(&self, segment: &DiskSegment, bytes: u64) {
        let before = segment.bytes.swap(bytes, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
        self.bytes.fetch_sub(before, Relaxed);
    }

    /// Takes a segment out and removes its file.
    pub(crate) fn remove(&self, segment: &DiskSegment) {
        self.resize(segment, 0);
        let removed = fs::remove_file(&segment.path);
        if removed.is_err_and(|why| why.kind() != io::ErrorKind::NotFound) {
            // It is found again at the next start: then its purges must still be known.
            self.moment_left.fetch_min(segment.moment_min.load(Relaxed), Relaxed);
        }
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = table.get_mut(segment.slot as usize) {
            *place = None;
        }
    }

    /// The least moment of a record in any of them, and in what is left of others.
    pub(crate) fn moment_min(&self) -> u64 {
        let each = self.all();
        let left = self.moment_left.load(Relaxed);
        each.iter().map(|it| it.moment_min.load(Relaxed)).fold(left, u64::min)
    }
}
