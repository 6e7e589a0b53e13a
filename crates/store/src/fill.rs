//! One body on its way: one writer, any number of readers, each at its own pace.
//!
//! A byte that an attached reader has not got is never freed. A fill is [`FillMode::Retained`]
//! while every byte stays until the body is whole and can be stored, or [`FillMode::Streaming`]
//! when it is too large for that: then bytes that every reader has got are freed, and the writer
//! waits while its slowest reader lags by a window. It fetches nothing. Made by the store when an
//! answer's head is there; doors write what the origin sends and read what their clients get.

mod body;
mod reader;
mod slab;
mod state;
#[cfg(test)]
mod tests;
mod writer;

use crate::budget::{Budget, CountedFill};
pub use body::FillBody;
pub use reader::FillReader;
use state::{FillOutcome, FillState, ReaderOffset};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
pub use writer::FillWriter;

/// Readers of one fill. At the cap a further one is refused and its door fetches for itself: more
/// than this many waiting on one wake-up stall a core.
pub const READERS_MAX: usize = 1 << 16;
/// A range that begins further ahead of the writer than this, in bytes, is refused: its door has it
/// sooner by its own fetch.
pub const AHEAD_BYTES_MAX: u64 = 256 << 10;
/// An abandoned fill of at most this many bytes is finished: on a kept connection that costs less
/// than a new one, and the next client finds it.
pub const FINISH_BYTES_MAX: u64 = 1 << 20;
/// Time, summed over a fill, for which a slow reader may keep others waiting before it is sent off
/// to fetch the rest for itself. Two round trips to the far side of the earth and a lost packet or
/// two take less.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of a fill besides its slabs: itself and one reader with its wakers. Measured by
/// `tests/resident.rs`.
pub(crate) const FILL_BYTES: u64 = 1 << 10;

/// Tells whether a fill's bytes stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FillMode {
    /// Every byte stays until the body is whole.
    Retained,
    /// Bytes that every attached reader has got are freed.
    Streaming,
}

/// Why a body is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FillPurpose {
    /// For clients: once the last has left, it is finished only where that is cheap.
    Clients,
    /// To have it (a revalidation in the background): it is finished without readers.
    Store,
}

/// Tells whether the rest of a body can be asked for by `Range` and `If-Range`: it needs a strong
/// validator (RFC 9110 §13.1.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResumeSupport {
    /// The fetch can be resumed.
    Possible,
    /// Cannot: what breaks stays broken, and nobody is sent off.
    Impossible,
}

/// Tells whether a body is kept elsewhere too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OtherCopy {
    /// Nowhere: only a kept one is worth finishing when nobody reads it.
    Absent,
    /// On disk.
    Disk,
}

/// Holds what is known of a body before its first byte.
pub(crate) struct FillPlan {
    /// Length in bytes, where the head says so.
    pub(crate) length: Option<u64>,
    /// More than this many bytes are not kept.
    pub(crate) keep_bytes_max: u64,
    pub(crate) purpose: FillPurpose,
    pub(crate) resume: ResumeSupport,
    pub(crate) other_copy: OtherCopy,
    /// A fill that lost its last reader is finished if at least this share of it is there, in
    /// percent.
    pub(crate) finish_percent: u8,
    /// Bytes of an earlier fetch that broke; empty otherwise.
    pub(crate) prefix: FillBody,
}

/// Why a reader gets no more, or a writer may not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FillBroken {
    /// The writer was dropped or said that the origin failed.
    Origin,
    /// The body ended before its stated length.
    Short,
    /// The origin sent more than its stated length.
    Overlong,
    /// Nobody reads it any more, and finishing it is not worth it.
    Abandoned,
    /// This reader kept others waiting; it fetches the rest from this offset itself.
    Detached(u64),
    /// The stored part was purged while the rest was fetched, or cannot be read any more.
    Lost,
}

/// Why nobody can start reading here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadRefused {
    /// The first bytes of the range are freed already.
    Freed,
    /// The writer is far from its first byte.
    TooFarAhead,
    /// [`READERS_MAX`] read it.
    TooManyReaders,
    /// Is broken.
    Broken(FillBroken),
}

/// A body on its way.
pub struct Fill {
    budget: Arc<Budget>,
    plan: FillPlan,
    state: Mutex<FillState>,
    _entered: CountedFill,
}

impl Fill {
    /// A fill and its writer. `None` where the account has no room for another: the body then goes
    /// from origin to client without the store.
    pub(crate) fn start(budget: &Arc<Budget>, plan: FillPlan) -> Option<(Arc<Self>, FillWriter)> {
        let entered = budget.admit_fill(FILL_BYTES)?;
        let mode = match plan.length {
            Some(length) if length > plan.keep_bytes_max => FillMode::Streaming,
            Some(_) | None => FillMode::Retained,
        };
        let state = Mutex::new(FillState::new(mode, &plan.prefix));
        let fill = Arc::new(Self { budget: Arc::clone(budget), plan, state, _entered: entered });
        let writer = FillWriter::new(Arc::clone(&fill));
        Some((fill, writer))
    }

    /// Begins to read a range of the body; `0..u64::MAX` is all of it.
    pub fn attach(self: &Arc<Self>, range: Range<u64>) -> Result<FillReader, ReadRefused> {
        let mut state = self.lock();
        if let FillOutcome::Broken(why) = state.outcome {
            return Err(ReadRefused::Broken(why));
        }
        if range.start < state.base() {
            return Err(ReadRefused::Freed);
        }
        if range.start.saturating_sub(state.end) > AHEAD_BYTES_MAX {
            return Err(ReadRefused::TooFarAhead);
        }
        if state.readers.len() >= READERS_MAX {
            return Err(ReadRefused::TooManyReaders);
        }
        let id = state.readers.insert(ReaderOffset::at(range.start));
        state.attached = state.attached.saturating_add(1);
        state.slowest = state.slowest.min(range.start);
        drop(state);
        Ok(FillReader::new(Arc::clone(self), id, range))
    }

    /// The body's length in bytes, where it is known.
    pub fn length(&self) -> Option<u64> {
        match self.lock().outcome {
            FillOutcome::Finished(length) => Some(length),
            FillOutcome::Running | FillOutcome::Broken(_) => self.plan.length,
        }
    }

    /// Bytes that came so far.
    pub fn written(&self) -> u64 {
        self.lock().end
    }

    /// Returns whether its bytes stay.
    pub fn mode(&self) -> FillMode {
        self.lock().mode
    }

    /// Returns how many read it now.
    pub fn readers(&self) -> usize {
        self.lock().readers.len()
    }

    fn lock(&self) -> MutexGuard<'_, FillState> {
        // Nothing under this lock leaves the state half changed: a panic there is a mistake of ours
        // in one fill, and the others go on.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for FillBroken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Origin => f.write_str("the origin broke off: ask again"),
            Self::Short => f.write_str("the origin sent less than it promised: ask again"),
            Self::Overlong => f.write_str("the origin sent more than it promised: ask it why"),
            Self::Abandoned => f.write_str("everybody who wanted it has left"),
            Self::Detached(at) => {
                write!(f, "too slow for the others: fetch the rest from byte {at} on")
            }
            Self::Lost => f.write_str("what was stored of it is gone: ask again"),
        }
    }
}

impl std::error::Error for FillBroken {}

impl fmt::Display for ReadRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Freed => f.write_str("its first bytes are gone already: fetch it"),
            Self::TooFarAhead => f.write_str("its bytes are far from coming: fetch them"),
            Self::TooManyReaders => f.write_str("too many read it: fetch it"),
            Self::Broken(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for ReadRefused {}
