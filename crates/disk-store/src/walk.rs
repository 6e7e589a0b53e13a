//! A walk through all that is stored, for whoever lists it: from records, segment by segment.
//!
//! It reads heads and no bodies, takes no lock for longer than a look-up, and holds the list of one
//! segment at a time (56 bytes a record). What is written or moved meanwhile may be left out, or
//! come twice. It waits for the disk. Called by the store.

use crate::DiskStore;
use crate::format::{RecordHeader, RecordKind};
use crate::labels::RecordLabels;
use crate::purge::PurgeEffect;
use crate::record::{self, RecordText};
use crate::segment_scan::{FooterEntry, scan_segment};
use crate::segments::DiskSegment;
use crate::slot::RecordLocation;
use std::ops::ControlFlow;

/// A stored answer, as a walk comes by it.
#[derive(Clone, Copy, Debug)]
pub struct WalkedAnswer<'w> {
    /// The URL that it answers.
    pub url: &'w str,
    /// Which of the answers to it: a hash of the selecting fields, 0 where nothing varies.
    pub variant: u64,
    /// The head, as the writer encoded it; the newer one where it was renewed.
    pub head: &'w [u8],
    /// Bytes of its body.
    pub body_len: u64,
    /// Effect of purges on it: never [`PurgeEffect::Hard`], which takes it out.
    pub purged: PurgeEffect,
}

impl DiskStore {
    /// Shows each stored answer, those of the oldest segment first, until `each` ends it.
    pub fn walk(
        &self,
        mut each: impl FnMut(&WalkedAnswer<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut places: Vec<(u64, u32)> =
            self.shared.segments.all().iter().map(|it| (it.id, it.slot)).collect();
        places.sort_unstable();
        for (id, slot) in places {
            // Held one at a time: what is reclaimed meanwhile gives its bytes back.
            let segment = self.shared.segments.get(slot).filter(|it| it.id == id);
            if let Some(segment) = segment {
                self.walk_segment(&segment, &mut each)?;
            }
        }
        ControlFlow::Continue(())
    }

    fn walk_segment(
        &self,
        segment: &DiskSegment,
        each: &mut impl FnMut(&WalkedAnswer<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let len = segment.file.metadata().map_or(0, |metadata| metadata.len());
        let found = scan_segment(&segment.file, len, segment.id, self.shared.salt);
        let entries = found.map_or_else(Vec::new, |found| found.entries);
        for entry in entries.iter().filter(|entry| entry.kind == RecordKind::Full) {
            let place = RecordLocation { segment: segment.slot, at: entry.at };
            // Most of what lies in an old segment is not stored any more.
            if self.shared.index.at(entry.key, place).is_some()
                && let Some((body, text)) = self.newest_text(segment, entry)
                && let Some(answer) = self.walked(&body, &text)
            {
                each(&answer)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// The header of a body, and the text that counts for it: its own, or that of a newer head.
    fn newest_text(
        &self,
        segment: &DiskSegment,
        entry: &FooterEntry,
    ) -> Option<(RecordHeader, RecordText)> {
        let own = record::load_text(segment, entry.at, self.shared.salt).ok()?;
        if own.header.key != entry.key {
            return None;
        }
        let body = own.header.clone();
        let Some(slot) = self.shared.index.head(body.key, body.variant) else {
            return Some((body, own));
        };
        let newer = self.shared.segments.get(slot.location().segment)?;
        let newer = record::load_text(&newer, slot.location().at, self.shared.salt).ok()?;
        // Otherwise it is of another key with the same bits in the index.
        let is_its = newer.header.key == body.key && newer.header.body_sequence == body.sequence;
        Some((body, if is_its { newer } else { own }))
    }

    fn walked<'w>(&self, body: &RecordHeader, found: &'w RecordText) -> Option<WalkedAnswer<'w>> {
        let (labels, head) = found.text.split_at_checked(found.header.labels_len as usize)?;
        let labels = RecordLabels::decode(labels)?;
        let purged = self.shared.purges.on(found.header.moment, body.key, &labels);
        (purged != PurgeEffect::Hard).then_some(WalkedAnswer {
            url: labels.url,
            variant: body.variant,
            head,
            body_len: body.body_len,
            purged,
        })
    }
}
