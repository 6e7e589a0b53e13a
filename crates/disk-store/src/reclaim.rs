//! Segments come and go: made, truncated, sealed, and which of them is reclaimed.
//!
//! The limit holds at every moment, with one segment's worth kept free to move records to. The
//! order is that of a queue (FIFO): first those that are nearly empty, then the oldest, but a
//! segment of which half is in use is spared some times. Part of the disk's thread.

use crate::appender::SegmentAppender;
use crate::durable_file::options;
use crate::folder::segment_path;
use crate::open_segment::{OpenSegment, SegmentKind, WriteFailure};
use crate::segment_scan::{SegmentSurvey, opening};
use crate::segments::{DiskSegment, SEGMENTS_OPEN_MAX};
use crate::slot::RecordLocation;
use std::collections::HashSet;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// A segment of which less than one part in this many is of use counts as nearly empty.
const NEARLY_EMPTY: u64 = 8;
/// Number of times that a segment is spared of which half is in use. Then it is reclaimed like any
/// other, so that what shares it with something popular does not stay for ever.
const DEFERRED_MAX: u32 = 7;
/// Kept free besides a segment, for openings, footers and alignment.
const MARGIN_BYTES: u64 = 16 << 10;

/// Holds how much of a segment is of use: bytes of its records that are in the index.
#[derive(Clone, Copy, Default)]
pub(crate) struct SegmentCensus {
    useful: u64,
    hot: u64,
}

/// Which records of a segment are moved before it is reclaimed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum EvacuationRule {
    /// Records that were hit since reclaiming last came by.
    Hot,
    /// All that are of use: there are few.
    Useful,
}

impl SegmentAppender {
    /// A new segment.
    pub(crate) fn create(&mut self) -> io::Result<OpenSegment> {
        if self.shared.segments.count() >= SEGMENTS_OPEN_MAX {
            self.reclaim();
        }
        // Nothing is written into a folder that came in place of the one that is locked.
        if !self.shared.folder.still_exists() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let id = self.shared.segments.next_id();
        let path = segment_path(&self.shared.folder.path, id);
        let file = options().create_new(true).open(&path)?;
        let written = file.write_all_at(&opening(self.shared.salt, id), 0);
        let segment = self.shared.segments.add(id, file, path);
        if let Err(why) = written {
            self.shared.segments.remove(&segment);
            return Err(why);
        }
        let survey = SegmentSurvey::empty();
        self.shared.segments.resize(&segment, survey.end + survey.footer_len());
        Ok(OpenSegment { segment, survey })
    }

    /// Puts a segment back where it is written to, or closes it if it is full.
    pub(crate) fn put_back(&mut self, open: OpenSegment, from: SegmentKind) {
        if open.survey.end >= self.shared.limits.segment_bytes {
            return self.seal(open);
        }
        match from {
            SegmentKind::Large => self.idle_segments.push(open),
            SegmentKind::Small => {
                // There is another only where space was made while this one was in hand.
                if let Some(other) = self.small.replace(open) {
                    self.seal(other);
                }
            }
        }
    }

    /// Cuts off what was not written wholly.
    pub(crate) fn truncate(&mut self, open: OpenSegment, from: SegmentKind) {
        let bytes = open.survey.end + open.survey.footer_len();
        match open.segment.file.set_len(open.survey.end) {
            Ok(()) => {
                self.shared.segments.resize(&open.segment, bytes);
                self.put_back(open, from);
            }
            // Nothing more is written behind what nobody knows; without a footer it is walked.
            Err(_) => open.segment.is_closed.store(true, Relaxed),
        }
    }

    /// Closes a segment: a footer with what still counts, and a sync that nobody waits for.
    pub(crate) fn seal(&mut self, mut open: OpenSegment) {
        let OpenSegment { segment, survey } = &mut open;
        let place = |at| RecordLocation { segment: segment.slot, at };
        survey.entries.retain(|entry| self.shared.index.at(entry.key, place(entry.at)).is_some());
        if survey.entries.is_empty() {
            return self.shared.segments.remove(segment);
        }
        let footer = survey.footer(self.shared.salt, segment.id);
        // A segment whose footer is not whole is walked at the next start.
        if segment.file.write_all_at(&footer, survey.end).is_ok() {
            let _ = self.sync.try_send(segment.clone());
        }
        self.shared.segments.resize(segment, survey.end + footer.len() as u64);
        segment.is_closed.store(true, Relaxed);
    }

    /// Closes several.
    pub(crate) fn seal_all(&mut self, open: Vec<OpenSegment>) {
        for open in open {
            self.seal(open);
        }
    }

    /// Makes room for a record with `bytes` of text and body.
    pub(crate) fn make_room(&mut self, bytes: u64) -> Result<(), WriteFailure> {
        let limits = self.shared.limits;
        let need = bytes + limits.segment_bytes + MARGIN_BYTES;
        let is_over = |appender: &Self| {
            appender.shared.segments.bytes() + need > limits.bytes
                || appender.shared.index.objects() >= limits.objects
        };
        while is_over(self) {
            if !self.reclaim() {
                return Err(WriteFailure::NoRoom);
            }
        }
        Ok(())
    }

    /// Reclaims a segment; false where there is none that could be.
    pub(crate) fn reclaim(&mut self) -> bool {
        let Some((victim, keep)) = self.victim().or_else(|| {
            // All are open: those that nobody writes to at this moment are closed for it.
            let open: Vec<OpenSegment> =
                self.small.take().into_iter().chain(self.idle_segments.drain(..)).collect();
            self.seal_all(open);
            self.victim()
        }) else {
            return false;
        };
        self.evacuate(&victim, keep);
        self.shared.segments.remove(&victim);
        self.shared.count(|counts| &counts.reclaimed);
        self.shared.purges.forget_below(self.shared.segments.moment_min(), &self.shared.next);
        true
    }

    fn victim(&self) -> Option<(Arc<DiskSegment>, EvacuationRule)> {
        let mut closed = self.shared.segments.all();
        closed.retain(|segment| segment.is_closed.load(Relaxed));
        let census = self.census();
        let of =
            |segment: &DiskSegment| census.get(segment.slot as usize).copied().unwrap_or_default();
        // In thousandths of its length, so that the emptiest is first.
        let share = |segment: &DiskSegment| of(segment).useful * 1000 / segment.bytes().max(1);
        let emptiest = closed.iter().min_by_key(|segment| share(segment))?;
        if share(emptiest) * NEARLY_EMPTY < 1000 {
            return Some((emptiest.clone(), EvacuationRule::Useful));
        }
        closed.sort_unstable_by_key(|segment| segment.age.load(Relaxed));
        let is_spared = |segment: &DiskSegment| {
            of(segment).hot * 2 >= segment.bytes() && segment.deferred.load(Relaxed) < DEFERRED_MAX
        };
        let oldest = closed.iter().position(|segment| !is_spared(segment)).unwrap_or(0);
        self.defer(&closed[..oldest]);
        Some((closed[oldest].clone(), EvacuationRule::Hot))
    }

    /// Returns how much of each segment is of use, by its place in the table.
    fn census(&self) -> Vec<SegmentCensus> {
        let unix_s = self.shared.unix_s();
        let mut census: Vec<SegmentCensus> = Vec::new();
        self.shared.index.for_each(|slot| {
            let number = slot.location().segment as usize;
            if census.len() <= number {
                census.resize(number + 1, SegmentCensus::default());
            }
            if !slot.is_expired(unix_s) {
                census[number].useful += slot.len();
                census[number].hot += if slot.is_hot() { slot.len() } else { 0 };
            }
        });
        census
    }

    /// Puts segments behind all others; their records have to be hit again.
    fn defer(&self, spared: &[Arc<DiskSegment>]) {
        if spared.is_empty() {
            return;
        }
        for segment in spared {
            segment.age.store(self.shared.segments.next_age(), Relaxed);
            segment.deferred.fetch_add(1, Relaxed);
        }
        let spared: HashSet<u32> = spared.iter().map(|segment| segment.slot).collect();
        self.shared.index.for_each(|slot| {
            if spared.contains(&slot.location().segment) {
                slot.cool();
            }
        });
    }
}
