//! Large records of the disk's thread: begun, lengthened, completed, given up.
//!
//! Each has a segment of its own while it is written; segments that none uses are kept for the
//! next. Part of the disk's thread; also used to move large records.

use crate::appender::SegmentAppender;
use crate::body_chunks::BodyPieces;
use crate::large_write::LargeWrite;
use crate::open_segment::{OpenSegment, SegmentKind, WriteFailure};
use crate::queue::Ticket;
use crate::record::PendingRecord;
use crate::slot::IndexSlot;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

impl SegmentAppender {
    /// The first bytes of a large record.
    pub(crate) fn start_large(
        &mut self,
        ticket: Ticket,
        record: PendingRecord,
        body: &BodyPieces,
        failed: &Arc<AtomicBool>,
    ) {
        match self.large_write(record, failed.clone()) {
            Ok(large_write) => {
                self.large_writes.insert(ticket, large_write);
                self.more(ticket, body);
            }
            Err(why) => {
                failed.store(true, Relaxed);
                self.shared.end_large_write();
                self.note_unwritten(&why);
            }
        }
    }

    fn large_write(
        &mut self,
        record: PendingRecord,
        failed: Arc<AtomicBool>,
    ) -> Result<LargeWrite, WriteFailure> {
        if self.idle_segments.is_empty() {
            self.make_room(0)?;
        }
        Ok(LargeWrite::new(self.large_segment()?, record, failed))
    }

    /// A segment for a large record: the one used last, so that few stay open.
    pub(crate) fn large_segment(&mut self) -> io::Result<OpenSegment> {
        self.idle_segments.pop().map_or_else(|| self.create(), Ok)
    }

    /// More of its bytes; a ticket that has no write any more failed before.
    pub(crate) fn more(&mut self, ticket: Ticket, body: &BodyPieces) {
        let Some(mut large_write) = self.large_writes.remove(&ticket) else { return };
        let room = self.make_room(body.len() as u64);
        let mut pieces = body.iter();
        match room.and_then(|()| pieces.try_for_each(|piece| self.extend(&mut large_write, piece)))
        {
            Ok(()) => {
                self.large_writes.insert(ticket, large_write);
            }
            Err(why) => {
                self.abandon(large_write);
                self.shared.end_large_write();
                self.note_unwritten(&why);
            }
        }
    }

    /// Writes more of a body, and counts it against the limit at once.
    pub(crate) fn extend(
        &self,
        large_write: &mut LargeWrite,
        body: &[u8],
    ) -> Result<(), WriteFailure> {
        large_write.write(body)?;
        let bytes = large_write.body_at + large_write.len + large_write.open.survey.footer_len();
        self.shared.segments.resize(&large_write.open.segment, bytes);
        Ok(())
    }

    /// Completes a large record.
    pub(crate) fn finish(&mut self, ticket: Ticket) {
        let Some(large_write) = self.large_writes.remove(&ticket) else {
            self.shared.count(|counts| &counts.not_stored);
            return;
        };
        self.shared.end_large_write();
        if !self.may_be_filed(&large_write.record) {
            return self.abandon(large_write);
        }
        let key = large_write.record.header.key;
        match self.complete_large_write(large_write, |appender, slot| appender.commit(key, slot)) {
            Ok(()) => self.shared.set_failure(None),
            Err(why) => {
                self.shared.count(|counts| &counts.not_stored);
                self.note_unwritten(&why);
            }
        }
    }

    /// Completes a large record, whose segment is then free for another; `file` brings it into the
    /// index.
    pub(crate) fn complete_large_write<T>(
        &mut self,
        mut large_write: LargeWrite,
        file: impl FnOnce(&Self, IndexSlot) -> T,
    ) -> Result<T, WriteFailure> {
        if let Err(why) = large_write.complete(self.shared.salt) {
            self.abandon(large_write);
            return Err(why.into());
        }
        let slot = self.index(&mut large_write.open, &large_write.record);
        let filed = file(self, slot);
        self.put_back(large_write.open, SegmentKind::Large);
        Ok(filed)
    }

    /// Gives up a large record whose writer went away.
    pub(crate) fn abort(&mut self, ticket: Ticket) {
        if let Some(large_write) = self.large_writes.remove(&ticket) {
            self.shared.end_large_write();
            self.abandon(large_write);
        }
    }

    pub(crate) fn abandon(&mut self, large_write: LargeWrite) {
        large_write.failed.store(true, Relaxed);
        self.truncate(large_write.open, SegmentKind::Large);
    }
}
