//! A large body on its way: a segment of its own until it is complete.
//!
//! The body is written as it comes, behind the room that its header and text will need; the header
//! comes last, so what is unfinished is nothing to whoever walks the segment, and is cut off when
//! it is given up. Part of the disk's thread; also used to move large records.

use crate::appender::{OpenSegment, SegmentAppender, WriteFailure};
use crate::filing::SegmentKind;
use crate::format::{self, ChecksumSalt, HEADER_BYTES, INLINE_BODY_BYTES_MAX};
use crate::pieces::BodyPieces;
use crate::queue::Ticket;
use crate::record::{BlockSums, PendingRecord};
use crate::slot::IndexSlot;
use crate::writer::GATHERED_BYTES_MAX;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

// Where a body begins depends on its length only below what is gathered.
const _: () = assert!(GATHERED_BYTES_MAX as u64 >= INLINE_BODY_BYTES_MAX);

/// A large record that is being written.
pub(crate) struct LargeWrite {
    open: OpenSegment,
    record: PendingRecord,
    body_at: u64,
    len: u64,
    sums: BlockSums,
    /// Tells the writer that it writes in vain.
    failed: Arc<AtomicBool>,
}

impl LargeWrite {
    pub(crate) fn new(open: OpenSegment, record: PendingRecord, failed: Arc<AtomicBool>) -> Self {
        let text_end = open.survey.end + (HEADER_BYTES + record.text.len()) as u64;
        let body_at = format::body_at(text_end, u64::MAX);
        Self { open, record, body_at, len: 0, sums: BlockSums::default(), failed }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.open.segment.file.write_all_at(bytes, self.body_at + self.len)?;
        self.len += bytes.len() as u64;
        self.sums.add(bytes);
        Ok(())
    }

    /// Trailer, text and, last of all, the header.
    fn complete(&mut self, salt: ChecksumSalt) -> io::Result<()> {
        let (file, spot) = (&self.open.segment.file, self.open.spot());
        let header = &mut self.record.header;
        header.body_len = self.len;
        header.text_sum = crc32c::crc32c(&self.record.text);
        let layout = header.layout(spot.at);
        let sums = std::mem::take(&mut self.sums).finish();
        let mut trailer = format::encode_trailer(salt, spot, header.sequence, &sums);
        trailer.resize((layout.end - layout.trailer_at) as usize, 0);
        file.write_all_at(&trailer, layout.trailer_at)?;
        file.write_all_at(&self.record.text, layout.text_at)?;
        file.write_all_at(&header.encode(salt, spot), spot.at)
    }
}

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

    /// It is complete.
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

    /// Its writer went away.
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
