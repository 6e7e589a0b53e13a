//! Turns: so many scripts at once, and so many requests that wait for theirs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Requests that wait for a turn; the next is refused: 503.
const WAITING_MAX: u32 = 1024;

/// Turns at one server or folder of programs.
pub(crate) struct ScriptTurns {
    permits: Arc<Semaphore>,
    waiting: AtomicU32,
}

/// [`WAITING_MAX`] requests wait already, or this one has waited for its whole time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoTurn;

impl ScriptTurns {
    /// At most `most` at once.
    pub(crate) fn new(most: u32) -> Self {
        Self { permits: Arc::new(Semaphore::new(most as usize)), waiting: AtomicU32::new(0) }
    }

    /// The next turn. Waits `patience` at most.
    pub(crate) async fn take(&self, patience: Duration) -> Result<OwnedSemaphorePermit, NoTurn> {
        if let Ok(turn) = Arc::clone(&self.permits).try_acquire_owned() {
            return Ok(turn);
        }
        let _place = WaitingPlace::take(&self.waiting).ok_or(NoTurn)?;
        match timeout(patience, Arc::clone(&self.permits).acquire_owned()).await {
            Ok(Ok(turn)) => Ok(turn),
            Ok(Err(_)) | Err(_) => Err(NoTurn),
        }
    }
}

/// A place among those that wait.
struct WaitingPlace<'w>(&'w AtomicU32);

impl<'w> WaitingPlace<'w> {
    fn take(waiting: &'w AtomicU32) -> Option<Self> {
        if waiting.fetch_add(1, Relaxed) >= WAITING_MAX {
            waiting.fetch_sub(1, Relaxed);
            return None;
        }
        Some(Self(waiting))
    }
}

impl Drop for WaitingPlace<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}
