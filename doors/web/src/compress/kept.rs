//! Coded files, kept in memory by the identity of the file they were made from.
//!
//! A file that changes has another identity, so nothing is ever invalidated; what is not asked for
//! any more makes room. Equal requests that come at once wait for one coding. It reads no file: it
//! is told how to make what it has not. Called by `compress`.

use crate::root::FileId;
use bytes::Bytes;
use http_engine::encoding::{CodingLevel, ContentCoding};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Memory for one entry besides its bytes: key, counters, the table's slot.
const ENTRY_BYTES: u64 = 160;
/// Size that is expected of a coded file when the table is made: a script or style sheet.
const USUAL_BYTES: u64 = 8 << 10;

/// Holds what a coded file was made from, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CodedKey {
    pub(crate) file: FileId,
    pub(crate) coding: ContentCoding,
    pub(crate) level: CodingLevel,
}

/// Outcome of coding a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CodedFile {
    /// This.
    Bytes(Bytes),
    /// Nothing smaller: the original is to be sent.
    NotSmaller,
}

/// An entry of the table.
#[derive(Debug)]
pub(crate) struct CodedEntry {
    pub(crate) coded: CodedFile,
    /// When a precompressed file was last looked for, in milliseconds of the steady clock.
    pub(crate) precompressed_checked_ms: AtomicU64,
}

#[derive(Clone)]
struct CodedWeigher;

impl Weighter<CodedKey, Arc<CodedEntry>> for CodedWeigher {
    fn weight(&self, _: &CodedKey, entry: &Arc<CodedEntry>) -> u64 {
        let bytes = match &entry.coded {
            CodedFile::Bytes(bytes) => bytes.len() as u64,
            CodedFile::NotSmaller => 0,
        };
        bytes + ENTRY_BYTES
    }
}

/// All coded files of a site.
pub(crate) struct KeptFiles {
    cache: Cache<CodedKey, Arc<CodedEntry>, CodedWeigher>,
    made: AtomicU64,
}

impl KeptFiles {
    /// Keeps at most `bytes_max`.
    pub(crate) fn new(bytes_max: u64) -> Self {
        let items = usize::try_from(bytes_max / USUAL_BYTES).unwrap_or(usize::MAX);
        let cache = Cache::with_weighter(items.clamp(16, 1 << 20), bytes_max, CodedWeigher);
        Self { cache, made: AtomicU64::new(0) }
    }

    /// Returns what is kept.
    pub(crate) fn get(&self, key: &CodedKey) -> Option<Arc<CodedEntry>> {
        self.cache.get(key)
    }

    /// Returns what is kept, or what `make` makes; whoever asks meanwhile waits for it. What `make`
    /// cannot make is `None`, and the next who asks tries again.
    pub(crate) async fn get_or_make(
        &self,
        key: CodedKey,
        at_ms: u64,
        make: impl Future<Output = Option<CodedFile>>,
    ) -> Option<Arc<CodedEntry>> {
        match self.cache.get_value_or_guard_async(&key).await {
            Ok(entry) => Some(entry),
            Err(place) => {
                let coded = make.await?;
                self.made.fetch_add(1, Relaxed);
                let entry =
                    Arc::new(CodedEntry { coded, precompressed_checked_ms: AtomicU64::new(at_ms) });
                // Refused only if it was removed meanwhile: it is sent all the same.
                let _ = place.insert(Arc::clone(&entry));
                Some(entry)
            }
        }
    }

    /// Returns how many files were coded so far.
    #[cfg(test)]
    pub(crate) fn made(&self) -> u64 {
        self.made.load(Relaxed)
    }

    /// Bytes held now.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> u64 {
        self.cache.weight()
    }
}
