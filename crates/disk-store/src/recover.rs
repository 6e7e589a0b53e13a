//! Finding again what is on the disk: footers are read, open segments walked, nothing else is
//! touched.
//!
//! Of two records of one variant the one with the greater sequence counts, wherever they lie. A
//! head counts only beside the very body that it was for. Called once, at the start.

use crate::appender::RecoveryTasks;
use crate::durable_file::options;
use crate::folder::{FolderListing, OpenError, segment_path};
use crate::format::RecordKind;
use crate::index;
use crate::segment_scan::{FooterEntry, SegmentEnding, SegmentSurvey, count, scan_segment};
use crate::segments::DiskSegment;
use crate::shared::DiskShared;
use crate::slot::IndexSlot;
use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// Where the sequences of records are remembered until all are found: the index has no room for
/// them.
#[derive(Default)]
struct RecordSequences {
    /// By place in the table of segments: beginnings and sequences, in the order of the beginnings.
    of: Vec<Vec<(u64, u64)>>,
}

impl RecordSequences {
    fn note(&mut self, segment: &DiskSegment, entries: &[FooterEntry]) {
        let slot = segment.slot as usize;
        self.of.resize_with(self.of.len().max(slot + 1), Vec::new);
        self.of[slot] = entries.iter().map(|entry| (entry.at, entry.sequence)).collect();
    }

    fn get(&self, slot: IndexSlot) -> u64 {
        let place = slot.location();
        let of = self.of.get(place.segment as usize).map_or(&[][..], Vec::as_slice);
        of.binary_search_by_key(&place.at, |(at, _)| *at).map_or(0, |found| of[found].1)
    }
}

/// Holds what was found.
#[derive(Default)]
pub(crate) struct RecoveryFindings {
    pub(crate) tasks: RecoveryTasks,
    /// Segments without a footer.
    pub(crate) scanned: u64,
    /// Files of ours that were no segments any more, and were removed.
    pub(crate) removed: u64,
}

/// Fills the index from the segments in `listing`.
pub(crate) fn recover(
    shared: &DiskShared,
    listing: &FolderListing,
) -> Result<RecoveryFindings, OpenError> {
    let mut found = RecoveryFindings::default();
    let mut sequences = RecordSequences::default();
    let mut heads = Vec::new();
    let mut files = Vec::new();
    for id in &listing.segments {
        let path = segment_path(&shared.folder.path, *id);
        let opened = options().open(&path).and_then(|file| Ok((file.metadata()?.len(), file)));
        let (len, file) = opened.map_err(|why| OpenError::of(&path, why))?;
        files.push((*id, path, len, file));
    }
    shared.index.reserve(files.iter().map(|(_, _, len, file)| count(file, *len)).sum());
    for (id, path, len, file) in files {
        let Some(survey) = scan_segment(&file, len, id, shared.salt) else {
            // The process ended before its first bytes were written, or they are damaged.
            fs::remove_file(&path).map_err(|why: io::Error| OpenError::of(&path, why))?;
            found.removed += 1;
            continue;
        };
        let segment = shared.segments.add(id, file, path);
        segment.moment_min.store(survey.moment_min, Relaxed);
        shared.segments.resize(&segment, len.max(survey.end + survey.footer_len()));
        shared.next.fetch_max(survey.sequence_max.saturating_add(1), SeqCst);
        sequences.note(&segment, &survey.entries);
        for entry in &survey.entries {
            match entry.kind {
                RecordKind::Full => {
                    file_full(shared, &segment, &survey, entry, &sequences, &mut found);
                }
                RecordKind::Head => heads.push((segment.clone(), survey.ending, *entry)),
            }
        }
        match survey.ending {
            SegmentEnding::Sealed => segment.is_closed.store(true, Relaxed),
            SegmentEnding::Open => {
                found.scanned += 1;
                found.tasks.unsealed.push((segment, survey));
            }
        }
    }
    for (segment, ending, head) in &heads {
        file_head(shared, segment, *ending, head, &sequences, &mut found);
    }
    Ok(found)
}

/// Files a record with a body, if it is not older than one that was found before.
fn file_full(
    shared: &DiskShared,
    segment: &Arc<DiskSegment>,
    survey: &SegmentSurvey,
    entry: &FooterEntry,
    sequences: &RecordSequences,
    found: &mut RecoveryFindings,
) {
    let before = shared.index.full(entry.key, entry.variant);
    if before.is_some_and(|before| sequences.get(before) > entry.sequence) {
        return found.tasks.dead.push((segment.clone(), entry.at));
    }
    let older = shared.index.commit(entry.key, index::slot(entry, segment.slot));
    found.mark_dead_if_unmarked(shared, survey.ending, older);
}

/// Files a newer head, if the body that it is for counts, and no newer head does.
fn file_head(
    shared: &DiskShared,
    segment: &Arc<DiskSegment>,
    ending: SegmentEnding,
    entry: &FooterEntry,
    sequences: &RecordSequences,
    found: &mut RecoveryFindings,
) {
    let full = shared.index.full(entry.key, entry.variant);
    let Some(full) = full.filter(|full| sequences.get(*full) == entry.body_sequence) else {
        return;
    };
    let before = shared.index.head(entry.key, entry.variant);
    if before.is_some_and(|before| sequences.get(before) > entry.sequence) {
        return;
    }
    let slot = index::slot(entry, segment.slot);
    if let Ok(older) = shared.index.renew(entry.key, slot, full.location(), entry.useful_until_s) {
        found.mark_dead_if_unmarked(shared, ending, older.into_iter().collect());
    }
}

impl RecoveryFindings {
    /// A record that is superseded is marked when its successor is written. Only where the process
    /// ended at that moment the mark may be missing, and then the successor's segment is open.
    fn mark_dead_if_unmarked(
        &mut self,
        shared: &DiskShared,
        ending: SegmentEnding,
        older: Vec<IndexSlot>,
    ) {
        if ending == SegmentEnding::Open {
            for slot in older {
                if let Some(segment) = shared.segments.get(slot.location().segment) {
                    self.tasks.dead.push((segment, slot.location().at));
                }
            }
        }
    }
}
