//! The store: one SQLite file in WAL mode, and the only place that knows SQLite.
//!
//! kill -9 loses at most the batch that was not committed; a damaged file is set aside under
//! another name and a new one begun, so that nothing stored is lost; a newer version's file is
//! refused. The writer thread owns the [`LedgerStore`]; each question opens a
//! [`read::LedgerReader`].
#![allow(
    clippy::cast_possible_wrap,
    reason = "SQLite's integers are signed, and no time, count or number of ours reaches 2^63"
)]

mod block;
mod block_view;
mod by_client;
pub(crate) mod convert;
pub(crate) mod follow;
pub(crate) mod glimpses;
pub(crate) mod join;
pub(crate) mod read;
pub(crate) mod recorded;
pub(crate) mod retain;
mod row_search;
pub(crate) mod statistics;
mod text_search;
mod top;
mod varint;
pub(crate) mod write;

use crate::error::OpenError;
use convert::OlderRows;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension};
use statistics::backfill::{self, UncountedRows};
use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Version of the tables, kept in the file as `user_version`.
pub(crate) const VERSION: u32 = 4;
/// Bytes that the tables of a new ledger take on disk with their log and its index, about.
const ROOM_BYTES_MIN: u64 = 1 << 20;
/// Rights of its files: it tells who asked for what.
const MODE: u32 = 0o600;
/// `TGLG`: says in the file's header whose it is.
const APPLICATION_ID: i32 = 0x5447_4c47;
/// Time to wait for another process's lock before calling the file locked.
const BUSY: Duration = Duration::from_secs(2);
/// Files up to this size are checked as a whole when they are opened, in some milliseconds.
const CHECKED_BYTES_MAX: u64 = 16 << 20;

/// Times are in milliseconds or minutes since 1970. Rows stand in blocks ([`block`]): a row's
/// number is that of its block's first row plus its place in the block. A search for a moment, and
/// for what is past its time, reads the index alone.
const SCHEMA: &str = "
    CREATE TABLE blocks (
        first INTEGER PRIMARY KEY, rows INTEGER NOT NULL, first_ms INTEGER NOT NULL,
        last_ms INTEGER NOT NULL, doors INTEGER NOT NULL, actions INTEGER NOT NULL,
        summary BLOB NOT NULL, body BLOB NOT NULL);
    CREATE INDEX block_times ON blocks (last_ms, first_ms);
";

/// Counts of requests by the minute, in all versions alike.
const MINUTES: &str = "
    CREATE TABLE minutes (
        minute INTEGER, door INTEGER, action INTEGER, source INTEGER, count INTEGER NOT NULL,
        PRIMARY KEY (minute, door, action, source)) WITHOUT ROWID;
";

/// What version 2 has more than version 1. The rows that are there are not touched.
const FROM_1: &str = "ALTER TABLE events ADD COLUMN caching INTEGER NOT NULL DEFAULT 0";

/// The writing side of the store.
pub(crate) struct LedgerStore {
    path: PathBuf,
    connection: Connection,
    /// The number of the next row.
    next_row: i64,
    older: OlderRows,
    uncounted: UncountedRows,
    /// Held so that no second process takes the file for its own; given up for the one that
    /// follows.
    lock: Option<File>,
}

/// Why a batch was not stored.
#[derive(Debug)]
pub(crate) struct StoreError {
    pub(crate) reason: String,
    /// What is to be done about it.
    pub(crate) remedy: StoreRemedy,
}

/// Tells what is to be done about a store that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreRemedy {
    /// Try again with the next batch: a full disk, a lock.
    Retry,
    /// Set the file aside: it is damaged.
    Renew,
}

impl LedgerStore {
    /// Opens the store of the folder `dir`, or begins one. A damaged file is set aside under
    /// another name; beside a newer version's or another program's, which stay as they are, a file
    /// of another name is used. Both are told in the warning.
    pub(crate) fn open(dir: &Path, now_ms: u64) -> Result<(Self, Option<String>), OpenError> {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
        made.map_err(|why| OpenError::Folder { path: dir.into(), reason: why.to_string() })?;
        let lock = lock(dir)?;
        let path = dir.join(crate::FILE_NAME);
        restrict_to_owner(&path);
        let (path, warning) = match connect(&path) {
            Ok(opened) => return Ok((Self::new(path, opened, lock), None)),
            Err(StoreFault::Damaged(why)) => {
                let aside = move_aside(&path, now_ms).map_err(|fault| OpenError::Store {
                    path: path.clone(),
                    reason: format!("it is damaged ({why}) and cannot be renamed: {fault}"),
                })?;
                let warning = damage_warning(&path, &aside, &why);
                (path, warning)
            }
            Err(fault @ (StoreFault::Newer(_) | StoreFault::Foreign)) => {
                let beside = suffixed(&path, &format!(".version-{VERSION}"));
                let why = fault.open_error(&path);
                (beside.clone(), format!("{why}; until then {} is used", beside.display()))
            }
            Err(fault @ StoreFault::Sqlite(_)) => return Err(fault.open_error(&path)),
        };
        let opened = connect(&path).map_err(|fault| fault.open_error(&path))?;
        Ok((Self::new(path, opened, lock), Some(warning)))
    }

    fn new(path: PathBuf, opened: OpenedFile, lock: File) -> Self {
        let OpenedFile { connection, next_row, older, uncounted } = opened;
        Self { path, connection, next_row, older, uncounted, lock: Some(lock) }
    }

    /// Sets a file aside that turned out damaged, and begins a new one. Gives the warning.
    pub(crate) fn renew(&mut self, why: &str, now_ms: u64) -> Result<String, StoreError> {
        let retry = |why: String| StoreError { reason: why, remedy: StoreRemedy::Retry };
        let aside = move_aside(&self.path, now_ms).map_err(|fault| retry(fault.to_string()))?;
        let fresh =
            connect(&self.path).map_err(|fault| retry(fault.open_error(&self.path).to_string()))?;
        (self.connection, self.next_row, self.older) =
            (fresh.connection, fresh.next_row, fresh.older);
        self.uncounted = fresh.uncounted;
        Ok(damage_warning(&self.path, &aside, why))
    }

    /// Lets another process take the file for its own. Both may write rows.
    pub(crate) fn give_up_lock(&mut self) {
        self.lock = None;
    }

    /// Takes the file for its own again, unless another process has.
    pub(crate) fn take_lock(&mut self) {
        if let (None, Some(dir)) = (&self.lock, self.path.parent()) {
            self.lock = lock(dir).ok();
        }
    }

    /// True if the file is this process's: what is in it may be deleted, joined and set aside.
    pub(crate) fn is_owned(&self) -> bool {
        self.lock.is_some()
    }

    /// The number of the newest row; 0 before the first.
    pub(crate) fn newest_row(&self) -> u64 {
        (self.next_row - 1).cast_unsigned()
    }

    /// Where the file is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Folds the write-ahead log into the file, as the last thing before it is closed.
    pub(crate) fn checkpoint(&self) -> Result<(), StoreError> {
        Ok(self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?)
    }
}

/// A file whose tables are as this version has them.
struct OpenedFile {
    connection: Connection,
    next_row: i64,
    older: OlderRows,
    uncounted: UncountedRows,
}

/// Why a file could not be used.
enum StoreFault {
    Damaged(String),
    Newer(u32),
    Foreign,
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for StoreFault {
    fn from(error: rusqlite::Error) -> Self {
        if is_damage(&error) { Self::Damaged(error.to_string()) } else { Self::Sqlite(error) }
    }
}

impl StoreFault {
    fn open_error(self, path: &Path) -> OpenError {
        let path = path.to_path_buf();
        match self {
            Self::Newer(found) => OpenError::Newer { path, found, known: VERSION },
            Self::Foreign => {
                OpenError::Store { path, reason: "it is another program's database".into() }
            }
            Self::Damaged(why) => OpenError::Store { path, reason: why },
            Self::Sqlite(error) => match error.sqlite_error_code() {
                Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                    OpenError::ReadOnly { path }
                }
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                    OpenError::Busy { path }
                }
                // SQLite calls it an I/O error where its index has no room.
                _ if !has_disk_space(&path) => OpenError::Full { path },
                _ => OpenError::Store { path, reason: error.to_string() },
            },
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let cure = if is_damage(&error) { StoreRemedy::Renew } else { StoreRemedy::Retry };
        Self { reason: error.to_string(), remedy: cure }
    }
}

fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Takes the rights to the file and its companions away from everybody but their owner, where an
/// earlier version has made them. What is another user's stays as it is.
fn restrict_to_owner(path: &Path) {
    for companion in ["", "-wal", "-shm"] {
        let path = suffixed(path, companion);
        if path.metadata().is_ok_and(|facts| facts.mode() & 0o077 != 0) {
            drop(std::fs::set_permissions(&path, Permissions::from_mode(MODE)));
        }
    }
}

/// Opens the file for writing and brings its tables about.
fn connect(path: &Path) -> Result<OpenedFile, StoreFault> {
    // SQLite makes files that everybody may read, and its log and index with the rights of the
    // file. Only where there is none: to close a file that is open elsewhere would end SQLite's
    // locks on it.
    drop(OpenOptions::new().write(true).create_new(true).mode(MODE).open(path));
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    let version: u32 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version > VERSION {
        return Err(StoreFault::Newer(version));
    }
    let tables: u32 =
        connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
    if version == 0 && tables > 0 {
        return Err(StoreFault::Foreign);
    }
    // WAL with NORMAL: a commit costs no fsync. kill -9 loses nothing committed; a power cut may
    // lose the last commits, and never the file (sqlite.org/wal.html).
    connection.query_row("PRAGMA journal_mode=WAL", [], |_| Ok(()))?;
    connection.execute_batch(
        "PRAGMA synchronous=NORMAL; PRAGMA cache_size=-4096; PRAGMA journal_size_limit=67108864;",
    )?;
    // Takes the write lock now, so that a locked or read-only file is known at the start.
    connection.execute_batch("BEGIN IMMEDIATE")?;
    bring_forward(&connection, version)?;
    connection.execute_batch("COMMIT")?;
    check(&connection, path)?;
    let older = convert::older_rows(&connection)?;
    let next_row = row_after(&connection, older)?;
    let uncounted = backfill::uncounted(&connection)?;
    Ok(OpenedFile { connection, next_row, older, uncounted })
}

/// Makes the tables that an older version has not, or all of them.
fn bring_forward(connection: &Connection, version: u32) -> rusqlite::Result<()> {
    match version {
        0 => {
            connection.execute_batch(MINUTES)?;
            connection.execute_batch(SCHEMA)?;
            connection.pragma_update(None, "application_id", APPLICATION_ID)?;
        }
        1 => {
            connection.execute_batch(FROM_1)?;
            connection.execute_batch(SCHEMA)?;
        }
        2 => connection.execute_batch(SCHEMA)?,
        _ => {}
    }
    if version < 4 {
        connection.execute_batch(statistics::TABLES)?;
    }
    if (1..4).contains(&version) {
        let older = convert::older_rows(connection)?;
        backfill::begin(connection, row_after(connection, older)?)?;
    }
    if version < VERSION {
        connection.pragma_update(None, "user_version", VERSION)?;
    }
    Ok(())
}

/// The number of the row that is written next.
fn row_after(connection: &Connection, older: OlderRows) -> rusqlite::Result<i64> {
    let next = next_row(connection)?;
    Ok(match older {
        OlderRows::Waiting => next.max(convert::newest_id(connection)? + 1),
        OlderRows::None => next,
    })
}

/// The bytes of a column; none in a damaged row that has something else there, so that it hides no
/// other row.
fn bytes_of<'r>(row: &'r rusqlite::Row<'_>, column: usize) -> rusqlite::Result<&'r [u8]> {
    Ok(row.get_ref(column)?.as_bytes().unwrap_or_default())
}

/// The number after that of the newest row that stands in a block; the first is 1.
fn next_row(connection: &Connection) -> rusqlite::Result<i64> {
    let newest = "SELECT first + rows FROM blocks ORDER BY first DESC LIMIT 1";
    Ok(connection.query_row(newest, [], |row| row.get(0)).optional()?.unwrap_or(1))
}

/// Looks for damage: in a small file everywhere, in a large one where it costs nothing.
fn check(connection: &Connection, path: &Path) -> Result<(), StoreFault> {
    connection.query_row("SELECT max(first) FROM blocks", [], |_| Ok(()))?;
    if std::fs::metadata(path).is_ok_and(|file| file.len() <= CHECKED_BYTES_MAX) {
        let said: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        if said != "ok" {
            return Err(StoreFault::Damaged(said));
        }
    }
    Ok(())
}

/// `false` where the file's disk has no room for a ledger that begins.
fn has_disk_space(path: &Path) -> bool {
    let disk = rustix::fs::statvfs(path.parent().unwrap_or(path));
    disk.map_or(true, |disk| disk.f_bavail.saturating_mul(disk.f_frsize) >= ROOM_BYTES_MIN)
}

/// Takes the folder's lock, which the system releases however the process ends.
fn lock(dir: &Path) -> Result<File, OpenError> {
    let path = dir.join("ledger.lock");
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).mode(MODE);
    let file = options.open(&path).map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            OpenError::Folder { path: dir.into(), reason: error.to_string() }
        }
        io::ErrorKind::StorageFull => OpenError::Full { path: path.clone() },
        _ => OpenError::Store { path: path.clone(), reason: error.to_string() },
    })?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(OpenError::Locked { path: dir.join(crate::FILE_NAME) })
        }
        Err(TryLockError::Error(error)) => {
            Err(OpenError::Store { path, reason: error.to_string() })
        }
    }
}

/// Renames the file and what belongs to it; nothing is deleted.
fn move_aside(path: &Path, now_ms: u64) -> io::Result<PathBuf> {
    let seconds = now_ms / 1000;
    let aside = (0..1000)
        .map(|more| suffixed(path, &format!(".damaged-{}", seconds + more)))
        .find(|free| !free.exists())
        .ok_or_else(|| io::Error::other("a thousand damaged files lie there already"))?;
    std::fs::rename(path, &aside)?;
    for companion in ["-wal", "-shm"] {
        match std::fs::rename(suffixed(path, companion), suffixed(&aside, companion)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(aside)
}

fn suffixed(base: &Path, suffix: &str) -> PathBuf {
    let mut name = base.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn damage_warning(path: &Path, aside: &Path, why: &str) -> String {
    format!(
        "{} was damaged ({why}); it is kept as {} and a new one was begun",
        path.display(),
        aside.display()
    )
}

#[cfg(test)]
#[path = "store/tests.rs"]
mod tests;
