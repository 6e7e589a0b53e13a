//! A confirmed commit (RFC 6241 §8.4): a change that is in force, and is taken back unless somebody
//! says in time that it works.
//!
//! The mark of [`WrittenFiles`] stays beside the configuration until then, so that a start after a
//! kill or a stop takes the files back too. One change waits at a time. What taking back means is
//! the caller's; it reads no clock but for the wait. Called by the program for changes that may
//! shut out whoever made them.

use crate::written_files::WrittenFiles;
use std::fmt;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The change that waits for confirmation, if one does. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct ConfirmedCommit(Arc<CommitDesk>);

#[derive(Debug, Default)]
struct CommitDesk {
    state: Mutex<CommitState>,
    decided: Condvar,
}

#[derive(Debug, Default)]
enum CommitState {
    /// Nothing waits.
    #[default]
    Settled,
    /// A change waits until this moment, in milliseconds since 1970.
    Waiting { written: WrittenFiles, until_ms: u64 },
    /// The time was over, and the change is being taken back.
    TakingBack,
}

/// Time for which a change waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfirmTimeout {
    /// Length of it.
    pub span: Duration,
    /// End of it, in milliseconds since 1970.
    pub until_ms: u64,
}

/// Refusal of a confirmation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotConfirmed {
    /// Nothing waits.
    NothingWaits,
    /// The time was over.
    TooLate,
}

impl ConfirmedCommit {
    /// Moment until which a change waits, in milliseconds since 1970; none where none does. One
    /// that is being taken back waits no more.
    pub fn waits_until(&self) -> Option<u64> {
        match &*self.0.lock() {
            CommitState::Waiting { until_ms, .. } => Some(*until_ms),
            CommitState::Settled | CommitState::TakingBack => None,
        }
    }

    /// True where nothing waits and nothing is being taken back.
    pub fn is_settled(&self) -> bool {
        matches!(*self.0.lock(), CommitState::Settled)
    }

    /// Has files that are in force wait. Unless they are confirmed in time, `take_back` is called
    /// with them, on a thread of its own.
    ///
    /// # Errors
    /// No thread can be had, or another change waits: the files come back.
    pub fn begin(
        &self,
        written: WrittenFiles,
        timeout: ConfirmTimeout,
        take_back: impl FnOnce(WrittenFiles) + Send + 'static,
    ) -> Result<(), (WrittenFiles, io::Error)> {
        let ConfirmTimeout { span, until_ms } = timeout;
        let mut state = self.0.lock();
        if !matches!(*state, CommitState::Settled) {
            return Err((written, io::Error::other("another change waits for confirmation")));
        }
        // Unlike a moment of the wall clock, the end of this wait comes once.
        let ends_at = Instant::now() + span;
        *state = CommitState::Waiting { written, until_ms };
        let desk = Arc::clone(&self.0);
        let wait = move || {
            if let Some(written) = desk.wait(ends_at, until_ms) {
                take_back(written);
                *desk.lock() = CommitState::Settled;
            }
        };
        match std::thread::Builder::new().name("confirm".into()).spawn(wait) {
            Ok(_) => Ok(()),
            Err(why) => match std::mem::take(&mut *state) {
                CommitState::Waiting { written, .. } => Err((written, why)),
                CommitState::Settled | CommitState::TakingBack => Ok(()),
            },
        }
    }

    /// Keeps the change that waits.
    ///
    /// # Errors
    /// None does, or no longer.
    pub fn confirm(&self) -> Result<(), NotConfirmed> {
        let mut state = self.0.lock();
        match std::mem::take(&mut *state) {
            CommitState::Waiting { written, .. } => {
                written.keep();
                self.0.decided.notify_all();
                Ok(())
            }
            CommitState::Settled => Err(NotConfirmed::NothingWaits),
            CommitState::TakingBack => {
                *state = CommitState::TakingBack;
                Err(NotConfirmed::TooLate)
            }
        }
    }
}

impl CommitDesk {
    /// The files, if nobody confirms them in time.
    fn wait(&self, ends_at: Instant, ours: u64) -> Option<WrittenFiles> {
        let mut state = self.lock();
        loop {
            let is_ours = |state: &CommitState| match state {
                CommitState::Waiting { until_ms, .. } => *until_ms == ours,
                CommitState::Settled | CommitState::TakingBack => false,
            };
            if !is_ours(&state) {
                return None;
            }
            let left = ends_at.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return match std::mem::replace(&mut *state, CommitState::TakingBack) {
                    CommitState::Waiting { written, .. } => Some(written),
                    CommitState::Settled | CommitState::TakingBack => None,
                };
            }
            let waited = self.decided.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, CommitState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for NotConfirmed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NothingWaits => "no change waits for confirmation",
            Self::TooLate => "the time is over, and the change is being taken back",
        })
    }
}

impl std::error::Error for NotConfirmed {}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::written_files::{FileChange, undo_mark};
    use std::fs;
    use std::path::PathBuf;
    use std::sync::mpsc::channel;
    use test_support::ScratchFolder;

    fn written(folder: &ScratchFolder) -> (PathBuf, WrittenFiles) {
        let path = folder.path().join("t.yaml");
        fs::write(&path, "a: 1\n").unwrap();
        let change =
            FileChange { path: path.clone(), before: "a: 1\n".into(), after: "a: 2\n".into() };
        let written = WrittenFiles::write(Some(&path), vec![change]).unwrap();
        (path, written)
    }

    fn timeout(span: Duration, until_ms: u64) -> ConfirmTimeout {
        ConfirmTimeout { span, until_ms }
    }

    #[test]
    fn what_nobody_confirms_is_taken_back_with_its_mark() {
        let folder = ScratchFolder::new();
        let (path, files) = written(&folder);
        let commit = ConfirmedCommit::default();
        assert_eq!(commit.confirm(), Err(NotConfirmed::NothingWaits));
        let (told, hears) = channel();
        let back = move |files: WrittenFiles| told.send(files.take_back()).unwrap();
        commit.begin(files, timeout(Duration::from_millis(20), 7), back).unwrap();
        assert_eq!(hears.recv().unwrap(), Vec::<String>::new());
        assert_eq!(fs::read_to_string(&path).unwrap(), "a: 1\n");
        assert!(!undo_mark(&path).exists());
        assert_eq!(commit.waits_until(), None);
    }

    #[test]
    fn what_is_confirmed_stays_and_one_change_waits_at_a_time() {
        let folder = ScratchFolder::new();
        let (path, files) = written(&folder);
        let commit = ConfirmedCommit::default();
        let long = Duration::from_mins(10);
        commit.begin(files, timeout(long, 9), |_| panic!("it was confirmed")).unwrap();
        assert_eq!((commit.waits_until(), commit.is_settled()), (Some(9), false));
        assert!(undo_mark(&path).exists(), "a start after a kill takes it back");
        let other = ScratchFolder::new();
        let (second, files) = written(&other);
        let (files, _) = commit.begin(files, timeout(long, 10), |_| ()).unwrap_err();
        files.take_back();
        assert_eq!(fs::read_to_string(second).unwrap(), "a: 1\n");
        commit.confirm().unwrap();
        assert!(commit.is_settled() && !undo_mark(&path).exists());
        assert_eq!(fs::read_to_string(&path).unwrap(), "a: 2\n");
        assert_eq!(commit.confirm(), Err(NotConfirmed::NothingWaits));
    }
}
