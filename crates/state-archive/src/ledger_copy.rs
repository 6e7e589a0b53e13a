//! A copy of the ledger while it is written: SQLite's online backup (sqlite.org/backup.html).

use crate::error::ArchiveError;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

/// Time to wait for the writer's lock.
const BUSY: Duration = Duration::from_secs(10);
/// Tries, should another copy hold it.
const TRIES_MAX: u32 = 100;
const ALL_PAGES: i32 = -1;

/// Copies `ledger` to `copy`, which must not exist.
pub(crate) fn copy_ledger(ledger: &Path, copy: &Path) -> Result<(), ArchiveError> {
    let failed = |why| ArchiveError::Ledger(ledger.into(), why);
    let mut options = OpenOptions::new();
    options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(copy)
        .map_err(ArchiveError::file(copy))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let source = Connection::open_with_flags(ledger, flags).map_err(failed)?;
    source.busy_timeout(BUSY).map_err(failed)?;
    let mut target = Connection::open(copy).map_err(failed)?;
    let backup = Backup::new(&source, &mut target).map_err(failed)?;
    for _ in 0..TRIES_MAX {
        // At one go, in one read transaction: the writer goes on beside it, in its log. Taken in
        // steps, the copy would begin anew whenever it writes.
        match backup.step(ALL_PAGES).map_err(failed)? {
            StepResult::Done => return Ok(()),
            _ => std::thread::sleep(Duration::from_millis(50)),
        }
    }
    Err(ArchiveError::Changing(ledger.into()))
}

/// The version of the ledger's tables; none where it is no ledger.
pub(crate) fn tables_version(ledger: &Path) -> Option<u32> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(ledger, flags).ok()?;
    connection.query_row("PRAGMA user_version", [], |row| row.get(0)).ok()
}
