//! The disk's thread: it alone writes segments, one job after the other.
//!
//! A failed write costs its record and is reported as trouble; it never stops the thread. Started
//! with the store and ended with it; told what to do through the queue.

use crate::figures::DiskTrouble;
use crate::large_write::LargeWrite;
use crate::open_segment::{OpenSegment, WriteFailure, mark_dead};
use crate::queue::{DiskJob, Ticket};
use crate::segment_scan::SegmentSurvey;
use crate::segments::DiskSegment;
use crate::shared::DiskShared;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

/// Sealed segments that wait to be synced; more are left to the kernel, which writes them by
/// itself.
const SYNCS_MAX: usize = 64;

/// The thread's own state.
pub(crate) struct SegmentAppender {
    pub(crate) shared: Arc<DiskShared>,
    /// For small records.
    pub(crate) small: Option<OpenSegment>,
    /// Segments for large records that none uses now, the one used last at the end.
    pub(crate) idle_segments: Vec<OpenSegment>,
    pub(crate) large_writes: HashMap<Ticket, LargeWrite>,
    pub(crate) buffer: Vec<u8>,
    pub(crate) sync: SyncSender<Arc<DiskSegment>>,
}

/// Holds what is left to do from the start: it needs writing, and the start does not wait for that.
#[derive(Default)]
pub(crate) struct RecoveryTasks {
    /// Segments without a footer.
    pub(crate) unsealed: Vec<(Arc<DiskSegment>, SegmentSurvey)>,
    /// Records that were found beside newer ones.
    pub(crate) dead: Vec<(Arc<DiskSegment>, u64)>,
}

/// Starts the thread, and a second one that only syncs: a sync may take seconds.
pub(crate) fn start(shared: Arc<DiskShared>, tasks: RecoveryTasks) -> io::Result<JoinHandle<()>> {
    let (sync, to_sync) = sync_channel::<Arc<DiskSegment>>(SYNCS_MAX);
    let syncer = Builder::new().name("disk-sync".into()).spawn(move || {
        for segment in to_sync {
            // What could not be synced is still compared with its checksums when it is read.
            let _ = segment.file.sync_data();
        }
    })?;
    let (small, idle_segments, large_writes, buffer) =
        (None, Vec::new(), HashMap::new(), Vec::new());
    let mut appender = SegmentAppender { shared, small, idle_segments, large_writes, buffer, sync };
    Builder::new().name("disk".into()).spawn(move || {
        appender.run_recovery_tasks(tasks);
        while appender.job() {}
        appender.close();
        drop(appender);
        // It ends when it has synced what it was given: the sender was dropped above.
        let _ = syncer.join();
    })
}

impl SegmentAppender {
    fn run_recovery_tasks(&mut self, tasks: RecoveryTasks) {
        tasks.dead.iter().for_each(|(segment, at)| mark_dead(segment, *at));
        for (segment, survey) in tasks.unsealed {
            // What was torn behind the last record goes, so that the footer is the end of the file.
            match segment.file.set_len(survey.end) {
                Ok(()) => self.seal(OpenSegment { segment, survey }),
                Err(why) => self.note_failure(&why),
            }
        }
    }

    /// Does the next job; false at the end.
    fn job(&mut self) -> bool {
        match self.shared.queue.next() {
            DiskJob::Small(record, body) => {
                let written = self.write(record, &body);
                self.note(written);
            }
            DiskJob::StartLarge(ticket, record, body, failed) => {
                self.start_large(ticket, record, &body, &failed);
            }
            DiskJob::More(ticket, body) => self.more(ticket, &body),
            DiskJob::Finish(ticket) => self.finish(ticket),
            DiskJob::Abort(ticket) => self.abort(ticket),
            DiskJob::Renew(record) => {
                let written = self.renew(record);
                self.note(written);
            }
            DiskJob::MarkDead(segment, at) => mark_dead(&segment, at),
            DiskJob::Flush(done) => {
                // Whoever asked may have gone.
                let _ = done.send(());
            }
            DiskJob::Stop => return false,
        }
        true
    }

    fn note(&mut self, written: Result<(), WriteFailure>) {
        match written {
            Ok(()) => self.shared.set_failure(None),
            Err(why) => {
                self.shared.count(|counts| &counts.not_stored);
                self.note_unwritten(&why);
            }
        }
    }

    /// Reports trouble, if it is any.
    pub(crate) fn note_unwritten(&mut self, why: &WriteFailure) {
        match why {
            WriteFailure::NoRoom => {}
            WriteFailure::Failed(why) => self.note_failure(why),
        }
    }

    fn note_failure(&mut self, why: &io::Error) {
        let trouble = DiskTrouble::of(why);
        if trouble == DiskTrouble::DiskFull {
            // Others fill the disk too: what is the oldest here goes.
            self.reclaim();
        }
        self.shared.set_failure(Some(trouble));
    }

    /// Cuts off what is unfinished and closes all segments, so that the next start need not walk
    /// them.
    fn close(&mut self) {
        let tickets: Vec<Ticket> = self.large_writes.keys().copied().collect();
        for ticket in tickets {
            self.abort(ticket);
        }
        let open: Vec<OpenSegment> =
            self.small.take().into_iter().chain(self.idle_segments.drain(..)).collect();
        self.seal_all(open);
    }
}
