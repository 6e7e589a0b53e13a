//! Jobs of the disk's thread, with a cap in bytes and in number.
//!
//! Nobody waits here but that thread: at the cap a record is not stored. Jobs that carry no bytes
//! and release something are always taken; there are at most as many as there are writers. Called
//! by writers and by readers that found damage.

use crate::body_chunks::BodyPieces;
use crate::not_stored::NotStored;
use crate::record::PendingRecord;
use crate::segments::DiskSegment;
use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Bytes of records that wait to be written where nothing else is asked for: a second's worth for a
/// slow disk.
pub const QUEUE_BYTES_USUAL: usize = 16 << 20;
/// Jobs that wait.
pub const QUEUE_JOBS_MAX: usize = 8192;

/// Number of a record while it is written in pieces.
pub(crate) type Ticket = u64;

/// Something for the disk's thread.
pub(crate) enum DiskJob {
    /// A whole small record.
    Small(PendingRecord, BodyPieces),
    /// The first bytes of a large one. The flag is raised when it cannot be stored.
    StartLarge(Ticket, PendingRecord, BodyPieces, Arc<AtomicBool>),
    /// More of its bytes.
    More(Ticket, BodyPieces),
    /// Is complete.
    Finish(Ticket),
    /// Will never be.
    Abort(Ticket),
    /// A newer head.
    Renew(PendingRecord),
    /// A record that is not to be found again after a restart.
    MarkDead(Arc<DiskSegment>, u64),
    /// To say so when all before it is done.
    Flush(SyncSender<()>),
    /// To end.
    Stop,
}

impl DiskJob {
    /// Bytes of memory that it holds.
    fn weight(&self) -> usize {
        match self {
            Self::Small(record, body) | Self::StartLarge(_, record, body, _) => {
                record.text.capacity() + body.weight()
            }
            Self::More(_, body) => body.weight(),
            Self::Renew(record) => record.text.capacity(),
            Self::Finish(_) | Self::Abort(_) | Self::MarkDead(..) | Self::Flush(_) | Self::Stop => {
                0
            }
        }
    }
}

#[derive(Default)]
struct State {
    jobs: VecDeque<DiskJob>,
    bytes: usize,
    /// Once the thread was told to stop.
    is_closed: bool,
}

/// The queue.
pub(crate) struct DiskQueue {
    /// Bytes that may wait.
    bytes_max: usize,
    state: Mutex<State>,
    ready: Condvar,
}

impl DiskQueue {
    /// An empty one for so many bytes.
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { bytes_max, state: Mutex::default(), ready: Condvar::new() }
    }

    /// Adds a job unless the queue is full.
    pub(crate) fn offer(&self, job: DiskJob) -> Result<(), NotStored> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = state.bytes + job.weight();
        if state.is_closed {
            return Err(NotStored::Closed);
        }
        if bytes > self.bytes_max || state.jobs.len() >= QUEUE_JOBS_MAX {
            return Err(NotStored::QueueFull);
        }
        state.bytes = bytes;
        state.jobs.push_back(job);
        self.ready.notify_one();
        Ok(())
    }

    /// Adds a job that releases something.
    pub(crate) fn push(&self, job: DiskJob) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.is_closed {
            state.is_closed = matches!(job, DiskJob::Stop);
            state.jobs.push_back(job);
            self.ready.notify_one();
        }
    }

    /// The next job; waits for it.
    pub(crate) fn next(&self) -> DiskJob {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(job) = state.jobs.pop_front() {
                state.bytes -= job.weight();
                return job;
            }
            state = self.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Bytes that wait.
    pub(crate) fn bytes(&self) -> usize {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).bytes
    }
}
