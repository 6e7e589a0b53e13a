//! Records behind records: how small ones, and newer heads, come into a segment and into the index.
//!
//! A record is in the index only when all of it is written. Nothing here looks at the limit but the
//! two entrances. Part of the disk's thread.

use crate::appender::SegmentAppender;
use crate::body_chunks::BodyPieces;
use crate::index;
use crate::key::KeyHash;
use crate::labels::RecordLabels;
use crate::open_segment::{OpenSegment, SegmentKind, WriteFailure, mark_dead};
use crate::purge::PurgeEffect;
use crate::record::{self, PendingRecord};
use crate::segment_scan::FooterEntry;
use crate::slot::{IndexSlot, RecordLocation};
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering::Relaxed;

impl SegmentAppender {
    /// Writes a whole record to the segment for small ones.
    pub(crate) fn write(
        &mut self,
        record: PendingRecord,
        body: &BodyPieces,
    ) -> Result<(), WriteFailure> {
        if self.may_be_filed(&record) {
            self.make_room((record.text.len() + body.len()) as u64)?;
            let key = record.header.key;
            self.append(record, body, |appender, slot| appender.commit(key, slot))?;
        }
        Ok(())
    }

    /// Writes a newer head for a body that is there.
    pub(crate) fn renew(&mut self, record: PendingRecord) -> Result<(), WriteFailure> {
        let (key, until_s) = (record.header.key, record.header.useful_until_s);
        if !self.may_be_filed(&record) {
            return Ok(());
        }
        // First, because it may take away the body, or move it.
        self.make_room(record.text.len() as u64)?;
        let Some(body) = self.body_of(&record) else { return Ok(()) };
        self.append(record, &BodyPieces::default(), |appender, slot| {
            match appender.shared.index.renew(key, slot, body, until_s) {
                Ok(old) => {
                    if let Some(old) = old {
                        appender.mark_slot_dead(old);
                    }
                    appender.shared.count(|counts| &counts.stored);
                }
                Err(index::NoBody) => appender.mark_slot_dead(slot),
            }
        })?;
        Ok(())
    }

    /// Where the body is that a newer head is for, wherever it was moved to.
    fn body_of(&self, record: &PendingRecord) -> Option<RecordLocation> {
        let header = &record.header;
        let place = self.shared.index.full(header.key, header.variant)?.location();
        let segment = self.shared.segments.get(place.segment)?;
        let full = record::header(&segment, place.at, self.shared.salt).ok()?;
        (full.sequence == header.body_sequence && full.key == header.key).then_some(place)
    }

    /// True if no purge forbids to file a record. Only this thread forgets purges, so the answer
    /// holds until it has filed it; a purge that comes meanwhile is found by whoever reads the
    /// record.
    pub(crate) fn may_be_filed(&self, record: &PendingRecord) -> bool {
        let header = &record.header;
        let labels = RecordLabels::decode(&record.text[..header.labels_len as usize]);
        let purges = &self.shared.purges;
        let may_be_filed = purges.covers(header.moment)
            && labels.is_some_and(|labels| {
                purges.on(header.moment, header.key, &labels) < PurgeEffect::Hard
            });
        if !may_be_filed {
            self.shared.count(|counts| &counts.not_stored);
        }
        may_be_filed
    }

    /// Puts a record behind the others and lets `file` bring its slot into the index, before the
    /// segment may be closed: a footer lists what is in the index.
    pub(crate) fn append<T>(
        &mut self,
        mut record: PendingRecord,
        body: &BodyPieces,
        file: impl FnOnce(&Self, IndexSlot) -> T,
    ) -> io::Result<T> {
        let mut open = match self.small.take() {
            Some(open) => open,
            None => self.create()?,
        };
        record.write_into(body, self.shared.salt, open.next_offset(), &mut self.buffer);
        if let Err(why) = open.segment.file.write_all_at(&self.buffer, open.survey.end) {
            self.truncate(open, SegmentKind::Small);
            return Err(why);
        }
        let slot = self.index(&mut open, &record);
        let filed = file(self, slot);
        self.put_back(open, SegmentKind::Small);
        Ok(filed)
    }

    /// Notes a record that was just written at the end of `open`.
    pub(crate) fn index(&self, open: &mut OpenSegment, record: &PendingRecord) -> IndexSlot {
        let header = &record.header;
        let entry = FooterEntry::of(header, open.survey.end);
        open.survey.add(entry, header.moment);
        open.segment.moment_min.fetch_min(header.moment, Relaxed);
        self.shared.segments.resize(&open.segment, open.survey.end + open.survey.footer_len());
        index::slot(&entry, open.segment.slot)
    }

    /// Files a record that has its body, in place of an older one.
    pub(crate) fn commit(&self, key: KeyHash, slot: IndexSlot) {
        self.shared.index.commit(key, slot).into_iter().for_each(|old| self.mark_slot_dead(old));
        self.shared.count(|counts| &counts.stored);
    }

    /// Marks the record of a slot that is no longer in the index.
    pub(crate) fn mark_slot_dead(&self, slot: IndexSlot) {
        if let Some(segment) = self.shared.segments.get(slot.location().segment) {
            mark_dead(&segment, slot.location().at);
        }
    }
}
