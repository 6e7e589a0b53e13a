//! Deletion of every row at once, when somebody asks for it.
//!
//! Done by the writer between two batches, so that nothing else writes meanwhile. Called by
//! [`crate::Ledger::clear`], which waits for it.

use super::{BATCH_ROWS, LedgerWriter, WriterShared, WriterWake, lock};
use crate::store::retain::CleanupProgress;

/// Outcome of deleting all rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowsCleared {
    /// All are gone.
    All,
    /// They stay: the file is not open, is another process's, or is being converted.
    NotNow,
}

impl WriterShared {
    /// Has every row deleted that was recorded before this call.
    pub(crate) fn clear(&self) -> RowsCleared {
        lock(&self.commands).clear = WriterWake::Yes;
        self.flush();
        match std::mem::take(&mut lock(&self.commands).clear) {
            WriterWake::No => RowsCleared::All,
            WriterWake::Yes => RowsCleared::NotNow,
        }
    }
}

impl LedgerWriter {
    /// Deletes all rows, if that is wanted; it stays wanted where they cannot be deleted now.
    pub(super) fn clear_if_wanted(&mut self) {
        if lock(&self.shared.commands).clear == WriterWake::No {
            return;
        }
        let Some(store) = &self.store else { return };
        // Rows of an older form have their blocks made first.
        if !store.is_owned() || store.has_older_rows() {
            return;
        }
        let cut = store.cut_all();
        loop {
            let Some(store) = &mut self.store else { return };
            match store.retain_step((self.clock)(), cut) {
                Ok(CleanupProgress::More) if self.shared.queue.len() >= BATCH_ROWS => self.write(),
                Ok(CleanupProgress::More) => {}
                Ok(CleanupProgress::Done) => match store.compact() {
                    Ok(()) => break,
                    Err(error) => return self.handle_error(&error),
                },
                Err(error) => return self.handle_error(&error),
            }
        }
        lock(&self.shared.commands).clear = WriterWake::No;
    }
}
