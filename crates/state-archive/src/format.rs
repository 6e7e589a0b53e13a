//! The number of the state's format, kept in the state folder, and what an upgrade keeps of an
//! older one.
//!
//! A newer state is left alone. Of an older one a copy is kept of what will be changed: of the
//! ledger, whose tables are brought up to date when it is opened. Called by the start, which holds
//! the folder's lock.

use crate::backup::beside;
use crate::error::ArchiveError;
use crate::ledger_copy::{copy_ledger, tables_version};
use durable_file::FileReplacement;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The format that this program reads and writes. A change that an earlier program would not
/// understand, in any file of the state, has the next number.
pub const STATE_FORMAT: u32 = 1;
/// The file with the number.
const FILE: &str = "format";

/// Why a state is not used.
#[derive(Debug)]
pub enum FormatError {
    /// A newer Tidegate has written it.
    Newer {
        /// The number that was found.
        found: u32,
        /// The file that has it.
        file: PathBuf,
    },
    /// The file holds no number.
    Unreadable(PathBuf),
    /// No copy could be kept of what is to change.
    NotKept(ArchiveError),
}

/// The number in a state folder; none where there is none.
pub(crate) fn read(state: &Path) -> Option<u32> {
    fs::read_to_string(state.join(FILE)).ok()?.trim().parse().ok()
}

/// Takes a state folder into use: refuses what is newer, keeps a copy of what will be migrated, and
/// writes the number. Gives the copies.
pub fn admit_format(state: &Path) -> Result<Vec<PathBuf>, FormatError> {
    let file = state.join(FILE);
    let text = match fs::read_to_string(&file) {
        Ok(text) => Some(text),
        Err(why) if why.kind() == io::ErrorKind::NotFound => None,
        Err(_) => return Err(FormatError::Unreadable(file)),
    };
    // An empty one was cut off by a full disk.
    let text = text.filter(|text| !text.trim().is_empty());
    let found: Option<u32> = match text {
        Some(text) => Some(text.trim().parse().map_err(|_| FormatError::Unreadable(file.clone()))?),
        None => None,
    };
    if let Some(found) = found.filter(|found| *found > STATE_FORMAT) {
        return Err(FormatError::Newer { found, file });
    }
    let kept = keep_ledger(&state.join(ledger::FILE_NAME)).map_err(FormatError::NotKept)?;
    if found != Some(STATE_FORMAT) {
        // On a disk that is full, or cannot be written, the next start does it.
        let _ = FileReplacement::private(&file).write(format!("{STATE_FORMAT}\n").as_bytes());
    }
    Ok(kept.into_iter().collect())
}

/// Keeps a copy of a ledger whose tables are older than this program's.
fn keep_ledger(ledger: &Path) -> Result<Option<PathBuf>, ArchiveError> {
    if !ledger.is_file() {
        return Ok(None);
    }
    // What is no ledger is told by the ledger itself.
    let Some(version) =
        tables_version(ledger).filter(|it| (1..ledger::TABLES_VERSION).contains(it))
    else {
        return Ok(None);
    };
    let kept = beside(ledger, &format!(".kept-{version}"));
    if kept.exists() {
        return Ok(None);
    }
    let draft = beside(&kept, ".draft");
    let _ = fs::remove_file(&draft);
    let copied = copy_ledger(ledger, &draft)
        .and_then(|()| fs::rename(&draft, &kept).map_err(ArchiveError::file(&kept)));
    if copied.is_err() {
        let _ = fs::remove_file(&draft);
    }
    copied.map(|()| Some(kept))
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Newer { found, file } => write!(
                f,
                "{}: the state has format {found}, and this Tidegate knows formats up to \
                 {STATE_FORMAT}; start the newer Tidegate that wrote it, or restore a backup of \
                 this version (tidegate restore), or name another folder with --state",
                file.display()
            ),
            Self::Unreadable(file) => write!(
                f,
                "{}: this is no number of a state's format; restore a backup, or remove the file \
                 if this Tidegate wrote the state",
                file.display()
            ),
            Self::NotKept(why) => write!(
                f,
                "no copy can be kept of the ledger, whose tables this version changes: {why}; make \
                 room for one, or remove ledger.db to do without the old records"
            ),
        }
    }
}

impl std::error::Error for FormatError {}
