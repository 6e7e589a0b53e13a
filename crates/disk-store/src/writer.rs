//! Storing one answer: bytes are handed in as they come, and count once they are committed.
//!
//! It never waits: what the disk cannot take in time is not stored, and the caller is told so and
//! goes on with its client. Dropped without a commit, the record never was. Called by a fill, from
//! any thread.

use crate::body_chunks::BodyPieces;
use crate::not_stored::NotStored;
use crate::queue::{DiskJob, Ticket};
use crate::record::PendingRecord;
use crate::shared::DiskShared;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Bodies up to this are gathered in memory and written at once; a larger one gets a segment for
/// itself while it is written. Also the size of the pieces in which it is handed over.
pub const GATHERED_BYTES_MAX: usize = 256 << 10;

/// Where the record is.
enum WriteStage {
    /// All of it is in memory.
    Gathered(PendingRecord),
    /// The disk's thread has the first of it; the flag says whether it gave up.
    Large(Ticket, Arc<AtomicBool>),
    /// Is not stored.
    Over(NotStored),
}

/// An answer that is being stored.
pub struct RecordWriter {
    shared: Arc<DiskShared>,
    stage: WriteStage,
    /// Copied, not held: a slab of which a few bytes are needed stays free for others.
    pending: BodyPieces,
    len: u64,
}

impl RecordWriter {
    pub(crate) fn new(shared: Arc<DiskShared>, record: PendingRecord) -> Self {
        Self { shared, stage: WriteStage::Gathered(record), pending: BodyPieces::default(), len: 0 }
    }

    /// Makes room for a body of so many bytes at once, rather than by and by.
    pub fn expect(&mut self, bytes: u64) {
        if bytes <= GATHERED_BYTES_MAX as u64 {
            self.pending.expect(bytes as usize);
        }
    }

    /// Takes more of the body. After an error it takes nothing more and need not be asked again.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), NotStored> {
        if let WriteStage::Over(why) = self.stage {
            return Err(why);
        }
        self.len += bytes.len() as u64;
        self.pending.push(bytes);
        let taken = if self.len > self.shared.limits.body_bytes_max() {
            Err(NotStored::BodyTooLarge)
        } else if self.pending.len() > GATHERED_BYTES_MAX {
            self.enqueue()
        } else {
            Ok(())
        };
        taken.inspect_err(|why| self.end(*why))
    }

    fn enqueue(&mut self) -> Result<(), NotStored> {
        let body = std::mem::take(&mut self.pending);
        match std::mem::replace(&mut self.stage, WriteStage::Over(NotStored::QueueFull)) {
            WriteStage::Gathered(record) => {
                let ticket = self.shared.begin_large_write()?;
                let failed = Arc::new(AtomicBool::new(false));
                let job = DiskJob::StartLarge(ticket, record, body, failed.clone());
                self.shared.queue.offer(job).inspect_err(|_| self.shared.end_large_write())?;
                self.stage = WriteStage::Large(ticket, failed);
                Ok(())
            }
            WriteStage::Large(ticket, failed) => {
                let has_failed = failed.load(Relaxed);
                self.stage = WriteStage::Large(ticket, failed);
                let more = DiskJob::More(ticket, body);
                if has_failed { Err(NotStored::DiskFailure) } else { self.shared.queue.offer(more) }
            }
            WriteStage::Over(why) => Err(why),
        }
    }

    /// The body is complete: files it, in place of an older one of the same key and variant. It can
    /// be found a little later, when the disk's thread has written it.
    pub fn commit(mut self) -> Result<(), NotStored> {
        let committed = self.finish();
        if let Err(why) = committed {
            self.end(why);
        }
        committed
    }

    fn finish(&mut self) -> Result<(), NotStored> {
        if matches!(self.stage, WriteStage::Large(..)) && !self.pending.is_empty() {
            self.enqueue()?;
        }
        match std::mem::replace(&mut self.stage, WriteStage::Over(NotStored::Closed)) {
            WriteStage::Gathered(record) => {
                self.shared.queue.offer(DiskJob::Small(record, std::mem::take(&mut self.pending)))
            }
            WriteStage::Large(ticket, _) => {
                self.shared.queue.push(DiskJob::Finish(ticket));
                Ok(())
            }
            WriteStage::Over(why) => Err(why),
        }
    }

    fn end(&mut self, why: NotStored) {
        self.pending = BodyPieces::default();
        match std::mem::replace(&mut self.stage, WriteStage::Over(why)) {
            WriteStage::Large(ticket, _) => self.shared.queue.push(DiskJob::Abort(ticket)),
            WriteStage::Gathered(_) | WriteStage::Over(_) => {}
        }
        self.shared.count(|counts| &counts.not_stored);
    }
}

impl Drop for RecordWriter {
    fn drop(&mut self) {
        if let WriteStage::Large(ticket, _) = self.stage {
            self.shared.queue.push(DiskJob::Abort(ticket));
        }
    }
}
