//! A segment that is written to, and why a write may fail.
//!
//! Plain parts of the disk's thread, which alone uses them.

use crate::format::{DEAD, SegmentOffset};
use crate::segment_scan::SegmentSurvey;
use crate::segments::DiskSegment;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// A segment that is written to.
pub(crate) struct OpenSegment {
    pub(crate) segment: Arc<DiskSegment>,
    /// Records that were written to it.
    pub(crate) survey: SegmentSurvey,
}

impl OpenSegment {
    /// Where the next record begins.
    pub(crate) fn next_offset(&self) -> SegmentOffset {
        SegmentOffset { segment: self.segment.id, at: self.survey.end }
    }
}

/// Why something was not written.
#[derive(Debug)]
pub(crate) enum WriteFailure {
    /// Nothing could be reclaimed: all space belongs to bodies that are being written.
    NoRoom,
    /// The system refused.
    Failed(io::Error),
}

impl From<io::Error> for WriteFailure {
    fn from(why: io::Error) -> Self {
        Self::Failed(why)
    }
}

/// Where a segment is kept while it is open.
#[derive(Clone, Copy)]
pub(crate) enum SegmentKind {
    /// For small records.
    Small,
    /// For large records.
    Large,
}

/// Marks a record as dead, so that no restart finds it. Where that fails, a restart may find an
/// older answer again, as after a power cut.
pub(crate) fn mark_dead(segment: &DiskSegment, at: u64) {
    let _ = segment.file.write_all_at(&DEAD, SegmentOffset { segment: segment.id, at }.dead_at());
}
