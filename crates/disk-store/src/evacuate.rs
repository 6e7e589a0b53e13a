//! Moving what is still wanted out of a segment that is reclaimed.
//!
//! Every byte is compared with its checksum before it is written anew, so damage is not passed on
//! under a fresh sum. At most half a segment's worth is moved; the rest goes. Part of the disk's
//! thread.

use crate::appender::SegmentAppender;
use crate::body_chunks::BodyPieces;
use crate::format::{BLOCK_BYTES, RecordKind, blocks};
use crate::labels::RecordLabels;
use crate::large_write::LargeWrite;
use crate::open_segment::WriteFailure;
use crate::purge::PurgeEffect;
use crate::reclaim::EvacuationRule;
use crate::record::{self, LoadedRecord, PendingRecord};
use crate::segment_scan::{FooterEntry, SegmentEnding, scan_segment};
use crate::segments::DiskSegment;
use crate::slot::{IndexSlot, RecordLocation};
use crate::writer::GATHERED_BYTES_MAX;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

impl SegmentAppender {
    /// Moves what is to be kept, and takes everything else of it out of the index.
    pub(crate) fn evacuate(&mut self, segment: &DiskSegment, keep: EvacuationRule) {
        let len = segment.file.metadata().map_or(0, |metadata| metadata.len());
        let found = scan_segment(&segment.file, len, segment.id, self.shared.salt);
        let is_whole = found.as_ref().is_some_and(|found| found.ending == SegmentEnding::Sealed);
        let mut budget = self.shared.limits.segment_bytes / 2;
        for entry in found.map_or_else(Vec::new, |found| found.entries) {
            let place = RecordLocation { segment: segment.slot, at: entry.at };
            let Some(slot) = self.shared.index.at(entry.key, place) else { continue };
            let is_moved = entry.len <= budget
                && self.should_keep(slot, keep)
                && self.relocate(segment, &entry).is_some();
            if is_moved {
                budget -= entry.len;
                self.shared.count(|counts| &counts.moved);
            } else {
                self.evict(&entry, place);
            }
        }
        if !is_whole {
            // Records that could not be listed any more.
            self.shared.index.forget_segment(segment.slot);
        }
    }

    fn should_keep(&self, slot: IndexSlot, keep: EvacuationRule) -> bool {
        // A newer head goes only with its body: without it, the older one would count again.
        let is_kept =
            slot.is_hot() || keep == EvacuationRule::Useful || slot.kind() == RecordKind::Head;
        is_kept && !slot.is_expired(self.shared.unix_s())
    }

    /// Takes an object out. What of it lies in other segments is not to be found at a restart.
    fn evict(&self, entry: &FooterEntry, place: RecordLocation) {
        let gone = self.shared.index.remove(entry.key, place);
        if !gone.is_empty() {
            self.shared.count(|counts| &counts.evicted);
        }
        gone.into_iter()
            .filter(|slot| slot.location() != place)
            .for_each(|slot| self.mark_slot_dead(slot));
    }

    /// Writes a record anew; `None` where it was not worth it or could not be done.
    fn relocate(&mut self, segment: &DiskSegment, entry: &FooterEntry) -> Option<()> {
        let loaded = record::load(segment, entry.at, entry.len, self.shared.salt).ok()?;
        if loaded.header.key != entry.key {
            return None;
        }
        let mut header = loaded.header.clone();
        let labels = RecordLabels::decode(loaded.text.get(..header.labels_len as usize)?)?;
        let is_renewed = header.kind == RecordKind::Full
            && self.shared.index.head(header.key, header.variant).is_some();
        if !is_renewed {
            // The moment is taken before the purges are asked: one that comes between is then
            // later. It is a new one, so that the purges that let this record live need not be
            // remembered for it.
            let moment = self.shared.moment();
            match self.shared.purges.on(header.moment, header.key, &labels) {
                PurgeEffect::Hard => return None,
                PurgeEffect::Soft => {}
                PurgeEffect::No => header.moment = moment.0,
            }
        }
        let record = PendingRecord { header, text: loaded.text.to_vec() };
        let from = RecordLocation { segment: segment.slot, at: entry.at };
        self.copy(segment, from, &loaded, record).ok()?
    }

    /// Copies a record, and lets the index point to the copy; `None` where a block is not what it
    /// was, or the record has gone meanwhile.
    fn copy(
        &mut self,
        segment: &DiskSegment,
        from: RecordLocation,
        loaded: &LoadedRecord,
        record: PendingRecord,
    ) -> Result<Option<()>, WriteFailure> {
        let key = record.header.key;
        let file = |appender: &Self, slot: IndexSlot| {
            let is_there = appender.shared.index.relocate(key, from, slot.location());
            if !is_there {
                appender.mark_slot_dead(slot);
            }
            is_there.then_some(())
        };
        if let Some(body) = &loaded.inline {
            return Ok(self.append(record, &BodyPieces::of(body), file)?);
        }
        let Some(sums) = record::checksums(segment, from.at, &loaded.header, self.shared.salt)
        else {
            return Ok(None);
        };
        let len = loaded.header.body_len;
        let block = |number: u64| -> Option<Vec<u8>> {
            let offset = number * BLOCK_BYTES;
            let mut bytes = vec![0; BLOCK_BYTES.min(len - offset) as usize];
            segment.file.read_exact_at(&mut bytes, loaded.layout.body_at + offset).ok()?;
            (Some(&crc32c::crc32c(&bytes)) == sums.get(number as usize)).then_some(bytes)
        };
        if len <= GATHERED_BYTES_MAX as u64 {
            let Some(body) = (0..blocks(len)).map(block).collect::<Option<Vec<_>>>() else {
                return Ok(None);
            };
            return Ok(self.append(record, &BodyPieces::from(body), file)?);
        }
        let mut large_write = LargeWrite::new(self.large_segment()?, record, Arc::default());
        for number in 0..blocks(len) {
            let written = block(number).map(|bytes| self.extend(&mut large_write, &bytes));
            match written {
                Some(Ok(())) => {}
                None => {
                    self.abandon(large_write);
                    return Ok(None);
                }
                Some(Err(why)) => {
                    self.abandon(large_write);
                    return Err(why);
                }
            }
        }
        self.complete_large_write(large_write, file)
    }
}
