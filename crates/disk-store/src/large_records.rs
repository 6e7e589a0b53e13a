//! Large records of the disk's thread: begun, lengthened, completed, given up.
//!
//! Each has a segment of its own while it is written; segments that none uses are kept for the
//! next. Part of the disk's thread; also used to move large records.

use crate::appender::SegmentAppender;
use crate::large_write::LargeWrite;
use crate::open_segment::{OpenSegment, SegmentKind, WriteFailure};
use crate::pieces::BodyPieces;
use crate::queue::Ticket;
use crate::record::PendingRecord;
use crate::slot::IndexSlot;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

impl SegmentAppender {
    /// The first bytes of a large record.
    pub(crate) fn begin(
        &mut self,
        ticket: Ticket,
        record: PendingRecord,
        body: &BodyPieces,
        failed: &Arc<AtomicBool>,
    ) {
        match self.lane(record, failed.clone()) {
            Ok(lane) => {
                self.busy.insert(ticket, lane);
                self.more(ticket, body);
            }
            Err(why) => {
                failed.store(true, Relaxed);
                self.shared.free_lane();
                self.note_unwritten(&why);
            }
        }
    }

    fn lane(
        &mut self,
        record: PendingRecord,
        failed: Arc<AtomicBool>,
    ) -> Result<LargeWrite, WriteFailure> {
        if self.idle.is_empty() {
            self.make_room(0)?;
        }
        Ok(LargeWrite::new(self.lane_segment()?, record, failed))
    }

    /// A segment for a large record: the one used last, so that few stay open.
    pub(crate) fn lane_segment(&mut self) -> io::Result<OpenSegment> {
        self.idle.pop().map_or_else(|| self.create(), Ok)
    }

    /// More of its bytes; a ticket that has no lane any more failed before.
    pub(crate) fn more(&mut self, ticket: Ticket, body: &BodyPieces) {
        let Some(mut lane) = self.busy.remove(&ticket) else { return };
        let room = self.make_room(body.len() as u64);
        let mut pieces = body.iter();
        match room.and_then(|()| pieces.try_for_each(|piece| self.lengthen(&mut lane, piece))) {
            Ok(()) => {
                self.busy.insert(ticket, lane);
            }
            Err(why) => {
                self.give_up(lane);
                self.shared.free_lane();
                self.note_unwritten(&why);
            }
        }
    }

    /// Writes more of a body, and counts it against the limit at once.
    pub(crate) fn lengthen(&self, lane: &mut LargeWrite, body: &[u8]) -> Result<(), WriteFailure> {
        lane.write(body)?;
        let bytes = lane.body_at + lane.len + lane.open.survey.footer_len();
        self.shared.segments.resize(&lane.open.segment, bytes);
        Ok(())
    }

    /// Completes a large record.
    pub(crate) fn finish(&mut self, ticket: Ticket) {
        let Some(lane) = self.busy.remove(&ticket) else {
            self.shared.count(|counts| &counts.not_stored);
            return;
        };
        self.shared.free_lane();
        if !self.is_welcome(&lane.record) {
            return self.give_up(lane);
        }
        let key = lane.record.header.key;
        match self.close_lane(lane, |appender, slot| appender.commit(key, slot)) {
            Ok(()) => self.shared.set_trouble(None),
            Err(why) => {
                self.shared.count(|counts| &counts.not_stored);
                self.note_unwritten(&why);
            }
        }
    }

    /// Completes the record of a lane, which is then free for another; `file` brings it into the
    /// index.
    pub(crate) fn close_lane<T>(
        &mut self,
        mut lane: LargeWrite,
        file: impl FnOnce(&Self, IndexSlot) -> T,
    ) -> Result<T, WriteFailure> {
        if let Err(why) = lane.complete(self.shared.salt) {
            self.give_up(lane);
            return Err(why.into());
        }
        let slot = self.enter(&mut lane.open, &lane.record);
        let filed = file(self, slot);
        self.put_back(lane.open, SegmentKind::Lanes);
        Ok(filed)
    }

    /// Gives up a large record whose writer went away.
    pub(crate) fn abort(&mut self, ticket: Ticket) {
        if let Some(lane) = self.busy.remove(&ticket) {
            self.shared.free_lane();
            self.give_up(lane);
        }
    }

    pub(crate) fn give_up(&mut self, lane: LargeWrite) {
        lane.failed.store(true, Relaxed);
        self.cut(lane.open, SegmentKind::Lanes);
    }
}
