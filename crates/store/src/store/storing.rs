//! An answer whose body comes: written by the door that fetches, read by all who want it, and
//! stored when it is whole.
//!
//! Dropped before its end, it breaks off for everybody, and what is there of it is kept if the rest
//! can be asked for. Held by doors.

use super::Store;
use super::disk_tier::DiskCopy;
use super::fetch_permit::FetchPermit;
use crate::fill::{Fill, FillBody, FillBroken, FillReader, FillWriter, ReadRefused};
use crate::memory::{EntryContent, EntrySeen, FiledHead, NotKept, StoredEntry};
use disk_store::PurgeStrength;
use http_freshness::{MissingRange, NotStored, ResponseFacts, next_part, rest};
use std::ops::Range;
use std::sync::Arc;
use vocab::Now;

/// A beginning shorter than this, in bytes, is not worth a place: the next fetch has it in a
/// moment.
const PREFIX_BYTES_MIN: u64 = 64 << 10;

/// Outcome of a body that came whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreOutcome {
    /// Is in memory, and on disk where there is one.
    Memory,
    /// Is on disk.
    Disk,
    /// Was too large to be kept while it came, or memory was needed for others.
    NotKept,
    /// The memory tier did not take it.
    Not(NotKept),
    /// Was purged while it came.
    Purged,
}

/// Extent of the body that an answer brings, with what is there of it already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerExtent {
    /// All of it.
    Full,
    /// Its beginning.
    Prefix,
}

/// An answer on its way.
pub struct StoringAnswer {
    permit: FetchPermit,
    filed: Arc<FiledHead>,
    /// `None` once it is over.
    writer: Option<FillWriter>,
    reader: Option<FillReader>,
    extent: AnswerExtent,
    /// `None` once the disk does not take it.
    copying: Option<DiskCopy>,
}

impl StoringAnswer {
    pub(super) const fn new(
        permit: FetchPermit,
        filed: Arc<FiledHead>,
        writer: FillWriter,
        reader: Option<FillReader>,
        extent: AnswerExtent,
    ) -> Self {
        Self { permit, filed, writer: Some(writer), reader, extent, copying: None }
    }

    /// The same, copied to disk; the part that is there already goes first.
    pub(super) fn copied_by(mut self, copying: Option<(DiskCopy, FillBody)>) -> Self {
        self.copying = copying.and_then(|(mut copying, partial)| {
            partial.chunks(0..u64::MAX).all(|piece| copying.write(&piece)).then_some(copying)
        });
        self
    }

    /// The head, as it is stored.
    pub const fn filed(&self) -> &Arc<FiledHead> {
        &self.filed
    }

    /// The reader of the whole body for the client that fetches; it is there once, for fetches that
    /// a client waits for. Dropped without another one attached, it says that the client has left.
    pub const fn take_reader(&mut self) -> Option<FillReader> {
        self.reader.take()
    }

    /// Reads a range of the body instead of the whole.
    pub fn attach(&mut self, range: Range<u64>) -> Result<FillReader, ReadRefused> {
        let fill = self.fill().ok_or(ReadRefused::Broken(FillBroken::Lost))?;
        let reader = fill.attach(range)?;
        // Nobody else would read for this one, and the writer would wait for it.
        self.reader = None;
        Ok(reader)
    }

    /// Bytes of the body that are there.
    pub fn written(&self) -> u64 {
        self.fill().map_or(0, |fill| fill.written())
    }

    fn fill(&self) -> Option<&Arc<Fill>> {
        self.writer.as_ref().map(FillWriter::fill)
    }

    /// Appends bytes of the body, and waits while its readers are behind. An error is the end of
    /// it: stop fetching.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<(), FillBroken> {
        let Some(writer) = &mut self.writer else { return Err(FillBroken::Lost) };
        writer.write(bytes).await?;
        self.copying.take_if(|copying| !copying.write(bytes));
        Ok(())
    }

    /// Returns how to ask for the rest when the origin has broken off; `None` where that is of no
    /// use. The answer to it is shown to [`Self::resumes`].
    pub fn resume(&self) -> Option<MissingRange> {
        let from = self.writer.as_ref()?.resume_from()?;
        rest(self.filed.head(), from, None)
    }

    /// True if the answer to the rest is that: then its body is written on. Else [`Self::failed`].
    pub fn resumes(&self, answered: &ResponseFacts<'_>) -> bool {
        next_part(self.filed.head(), answered).is_ok_and(|part| part.first == self.written())
    }

    /// All has come: stores it. An error says that it was less than was promised, or too late.
    pub fn finish(mut self, now: Now) -> Result<StoreOutcome, FillBroken> {
        // What was attached for a client that took no reader must not hold bytes.
        self.reader = None;
        let Some(writer) = self.writer.take() else { return Err(FillBroken::Lost) };
        let store = Arc::clone(&self.permit.store);
        let whole = writer.finish().inspect_err(|_| store.count(|it| &it.broken))?;
        let seen = if whole.attached > 1 { EntrySeen::Often } else { EntrySeen::Once };
        let in_memory = match whole.body {
            Some(body) if self.extent == AnswerExtent::Full => {
                self.keep(&store, EntryContent::Memory(body), seen, now)
            }
            Some(body) => self.keep(&store, EntryContent::Partial(body), seen, now),
            None => StoreOutcome::NotKept,
        };
        let is_purged = self.permit.purges.purged(&self.filed).is_some();
        let on_disk = !is_purged && self.copying.take().is_some_and(DiskCopy::commit);
        let kept = match in_memory {
            StoreOutcome::NotKept | StoreOutcome::Not(_) if on_disk => StoreOutcome::Disk,
            kept => kept,
        };
        let hash = self.permit.plan.key.hash();
        match kept {
            StoreOutcome::Memory | StoreOutcome::Disk => {
                store.count(|it| &it.stored);
                store.uncacheable.forget(hash);
            }
            StoreOutcome::NotKept | StoreOutcome::Not(NotKept::TooLarge | NotKept::LargeAndNew) => {
                store.count(|it| &it.not_stored);
                store.uncacheable.note(hash, NotStored::TooLarge, now);
            }
            StoreOutcome::Not(NotKept::Newer) | StoreOutcome::Purged => {
                store.count(|it| &it.not_stored);
            }
        }
        Ok(kept)
    }

    /// The origin failed: its readers hear of it, and what is there is kept for another time.
    pub fn failed(mut self, now: Now) {
        self.end(Some(now));
    }

    fn end(&mut self, now: Option<Now>) {
        let Some(writer) = self.writer.take() else { return };
        let store = Arc::clone(&self.permit.store);
        store.count(|it| &it.broken);
        let partial =
            writer.fail(FillBroken::Origin).filter(|partial| partial.len() >= PREFIX_BYTES_MIN);
        if let (Some(partial), Some(now)) = (partial, now) {
            self.keep(&store, EntryContent::Partial(partial), EntrySeen::Once, now);
        }
    }

    fn keep(
        &self,
        store: &Store,
        content: EntryContent,
        seen: EntrySeen,
        now: Now,
    ) -> StoreOutcome {
        let purged = || self.permit.purges.purged(&self.filed);
        if purged() == Some(PurgeStrength::Hard) {
            return StoreOutcome::Purged;
        }
        let entry = Arc::new(StoredEntry::new(Arc::clone(&self.filed), content));
        if let Err(why) = store.tier.insert(&entry, seen) {
            return StoreOutcome::Not(why);
        }
        // Asked again: a purge may have swept by just before it was there.
        match purged() {
            None => StoreOutcome::Memory,
            Some(depth) => {
                store.purge_entry(&entry, depth, now);
                StoreOutcome::Purged
            }
        }
    }
}

impl Drop for StoringAnswer {
    fn drop(&mut self) {
        self.end(None);
    }
}
