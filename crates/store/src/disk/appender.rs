//! The disk's thread: it alone writes segments, one job after the other.
//!
//! A failed write costs its record and is reported as trouble; it never stops the thread. Started with
//! the store and ended with it; told what to do through the queue.

use super::figures::Trouble;
use super::format::{DEAD, Spot};
use super::lane::Lane;
use super::queue::{Job, Ticket};
use super::segments::Segment;
use super::shared::Shared;
use super::survey::Survey;
use std::collections::HashMap;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

/// Sealed segments that wait to be synced; more are left to the kernel, which writes them by itself.
const SYNCS_MAX: usize = 64;

/// A segment that is written to.
pub(super) struct Open {
    pub(super) segment: Arc<Segment>,
    /// What was written to it.
    pub(super) survey: Survey,
}

impl Open {
    /// Where the next record begins.
    pub(super) fn spot(&self) -> Spot {
        Spot { segment: self.segment.id, at: self.survey.end }
    }
}

/// Why something was not written.
#[derive(Debug)]
pub(super) enum Unwritten {
    /// Nothing could be reclaimed: all space belongs to bodies that are being written.
    NoRoom,
    /// The system refused.
    Failed(io::Error),
}

impl From<io::Error> for Unwritten {
    fn from(why: io::Error) -> Self {
        Self::Failed(why)
    }
}

/// The thread's own state.
pub(super) struct Appender {
    pub(super) shared: Arc<Shared>,
    /// For small records.
    pub(super) small: Option<Open>,
    /// Lanes that nobody uses now, the one used last at the end.
    pub(super) idle: Vec<Open>,
    pub(super) busy: HashMap<Ticket, Lane>,
    pub(super) buffer: Vec<u8>,
    pub(super) sync: SyncSender<Arc<Segment>>,
}

/// What is left to do from the start: it needs writing, and the start does not wait for that.
#[derive(Default)]
pub(super) struct Chores {
    /// Segments without a footer.
    pub(super) unsealed: Vec<(Arc<Segment>, Survey)>,
    /// Records that were found beside newer ones.
    pub(super) dead: Vec<(Arc<Segment>, u64)>,
}

/// Starts the thread, and a second one that only syncs: a sync may take seconds.
pub(super) fn start(shared: Arc<Shared>, chores: Chores) -> io::Result<JoinHandle<()>> {
    let (sync, to_sync) = sync_channel::<Arc<Segment>>(SYNCS_MAX);
    let syncer = Builder::new().name("disk-sync".into()).spawn(move || {
        for segment in to_sync {
            // What could not be synced is still compared with its checksums when it is read.
            let _ = segment.file.sync_data();
        }
    })?;
    let (small, idle, busy, buffer) = (None, Vec::new(), HashMap::new(), Vec::new());
    let mut appender = Appender { shared, small, idle, busy, buffer, sync };
    Builder::new().name("disk".into()).spawn(move || {
        appender.do_chores(chores);
        while appender.job() {}
        appender.close();
        drop(appender);
        // It ends when it has synced what it was given: the sender was dropped above.
        let _ = syncer.join();
    })
}

/// Marks a record as dead, so that no restart finds it. Where that fails, a restart may find an older
/// answer again, as after a power cut.
pub(super) fn bury(segment: &Segment, at: u64) {
    let _ = segment.file.write_all_at(&DEAD, Spot { segment: segment.id, at }.dead_at());
}

impl Appender {
    fn do_chores(&mut self, chores: Chores) {
        chores.dead.iter().for_each(|(segment, at)| bury(segment, *at));
        for (segment, survey) in chores.unsealed {
            // What was torn behind the last record goes, so that the footer is the end of the file.
            match segment.file.set_len(survey.end) {
                Ok(()) => self.seal(Open { segment, survey }),
                Err(why) => self.note_trouble(&why),
            }
        }
    }

    /// Does the next job; false at the end.
    fn job(&mut self) -> bool {
        match self.shared.queue.take() {
            Job::Whole(record, body) => {
                let written = self.write(record, &body);
                self.note(written);
            }
            Job::Begin(ticket, record, body, failed) => self.begin(ticket, record, &body, &failed),
            Job::More(ticket, body) => self.more(ticket, &body),
            Job::Finish(ticket) => self.finish(ticket),
            Job::Abort(ticket) => self.abort(ticket),
            Job::Renew(record) => {
                let written = self.renew(record);
                self.note(written);
            }
            Job::Bury(segment, at) => bury(&segment, at),
            Job::Settle(done) => {
                // Whoever asked may have gone.
                let _ = done.send(());
            }
            Job::Stop => return false,
        }
        true
    }

    fn note(&mut self, written: Result<(), Unwritten>) {
        match written {
            Ok(()) => self.shared.set_trouble(None),
            Err(why) => {
                self.shared.count(|counts| &counts.not_stored);
                self.note_unwritten(&why);
            }
        }
    }

    /// Reports trouble, if it is any.
    pub(super) fn note_unwritten(&mut self, why: &Unwritten) {
        match why {
            Unwritten::NoRoom => {}
            Unwritten::Failed(why) => self.note_trouble(why),
        }
    }

    fn note_trouble(&mut self, why: &io::Error) {
        let trouble = Trouble::of(why);
        if trouble == Trouble::DiskFull {
            // Others fill the disk too: what is the oldest here goes.
            self.reclaim();
        }
        self.shared.set_trouble(Some(trouble));
    }

    /// Cuts off what is unfinished and closes all segments, so that the next start need not walk them.
    fn close(&mut self) {
        let tickets: Vec<Ticket> = self.busy.keys().copied().collect();
        for ticket in tickets {
            self.abort(ticket);
        }
        let open: Vec<Open> = self.small.take().into_iter().chain(self.idle.drain(..)).collect();
        self.seal_all(open);
    }
}
