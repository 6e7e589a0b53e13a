//! Turns to read from disk: reads run on threads that may wait, so many at once and no more.

use std::sync::Arc;
use tokio::sync::Semaphore;

/// Reads of one cache at once, each on a thread of its own. At the cap others wait for their turn:
/// a disk that hangs must not gather threads.
const READS_MAX: usize = 32;

/// Holds whose turn it is to read from disk.
#[derive(Clone)]
pub(crate) struct DiskReadQueue(Arc<Semaphore>);

impl Default for DiskReadQueue {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(READS_MAX)))
    }
}

impl DiskReadQueue {
    /// Runs `read` on a thread that may wait. `None` only while the program ends.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let turn = Arc::clone(&self.0).acquire_owned().await.ok()?;
        let done = tokio::task::spawn_blocking(move || {
            // Given back when the disk has answered, though nobody may wait for it any longer.
            let _turn = turn;
            read()
        });
        done.await.ok()
    }
}
