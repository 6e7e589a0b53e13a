//! Quota of a folder: how many bytes all its files may have.
//!
//! The files are counted when the first is written, and again every few minutes, since others may
//! write there too; between, what is written here is added. An upload takes its room as it comes,
//! and gives it back if it comes to nothing.

use crate::fault::DavFault;
use crate::trees;
use file_access::beneath::FolderRoot;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;
use vocab::Now;

/// Time for which a count is believed.
const COUNT_AFTER_MS: u64 = 5 * 60 * 1000;

/// The quota of one folder.
#[derive(Debug)]
pub(crate) struct FolderQuota {
    max: u64,
    used: AtomicU64,
    /// When the files were counted last; locked while they are.
    counted_ms: Mutex<Option<u64>>,
}

/// Room that something takes which is not yet there; given back when dropped.
#[derive(Debug)]
pub(crate) struct QuotaShare {
    quota: Option<Arc<FolderQuota>>,
    taken: u64,
}

impl FolderQuota {
    pub(crate) fn new(max: u64) -> Self {
        Self { max, used: AtomicU64::new(0), counted_ms: Mutex::const_new(None) }
    }

    /// Bytes that are used, and those that are left.
    pub(crate) fn usage(&self) -> (u64, u64) {
        let used = self.used.load(Relaxed);
        (used, self.max.saturating_sub(used))
    }

    /// Counts the files if that is due. A folder with more of them than are counted has no room.
    pub(crate) async fn count(&self, root: &Arc<FolderRoot>, now: Now) {
        let mut counted = self.counted_ms.lock().await;
        if counted.is_some_and(|at| now.mono_ms < at.saturating_add(COUNT_AFTER_MS)) {
            return;
        }
        let root = Arc::clone(root);
        let found = spawn_blocking(move || trees::bytes_below(&root, now)).await;
        if let Ok(bytes) = found {
            self.used.store(bytes.unwrap_or(self.max), Relaxed);
            *counted = Some(now.mono_ms);
        }
    }

    /// Gives back the room of what is gone.
    pub(crate) fn release(&self, bytes: u64) {
        let fewer = |used: u64| Some(used.saturating_sub(bytes));
        let _ = self.used.fetch_update(Relaxed, Relaxed, fewer);
    }
}

impl QuotaShare {
    /// None yet.
    pub(crate) fn none(quota: Option<&Arc<FolderQuota>>) -> Self {
        Self { quota: quota.cloned(), taken: 0 }
    }

    /// Takes room for `bytes` in all.
    pub(crate) fn grow_to(&mut self, bytes: u64) -> Result<(), DavFault> {
        let more = bytes.saturating_sub(self.taken);
        let Some(quota) = &self.quota else { return Ok(()) };
        let room = |used: u64| used.checked_add(more).filter(|used| *used <= quota.max);
        quota.used.fetch_update(Relaxed, Relaxed, room).map_err(|_| DavFault::NoRoom)?;
        self.taken += more;
        Ok(())
    }

    /// Keeps what was taken as used, and gives `replaced` bytes back.
    pub(crate) fn settle(mut self, replaced: u64) {
        self.taken = 0;
        if let Some(quota) = &self.quota {
            quota.release(replaced);
        }
    }
}

impl Drop for QuotaShare {
    fn drop(&mut self) {
        if let Some(quota) = &self.quota {
            quota.release(self.taken);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_taken_and_given_back() {
        let quota = Arc::new(FolderQuota::new(10));
        let mut first = QuotaShare::none(Some(&quota));
        assert_eq!(first.grow_to(6), Ok(()));
        assert_eq!(first.grow_to(8), Ok(()));
        let mut second = QuotaShare::none(Some(&quota));
        assert_eq!(second.grow_to(3), Err(DavFault::NoRoom));
        assert_eq!(quota.usage(), (8, 2));
        drop(first);
        assert_eq!(second.grow_to(3), Ok(()));
        second.settle(1);
        assert_eq!(quota.usage(), (2, 8));
        assert_eq!(QuotaShare::none(None).grow_to(u64::MAX), Ok(()));
    }
}
