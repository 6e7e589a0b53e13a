//! Why a ledger could not be opened.
//!
//! Every error names the file and what to do about it. A damaged file is none of these: it is set
//! aside and a new one begun. Returned by [`crate::open`], printed by the binary.

use std::fmt;
use std::path::PathBuf;

/// Why the ledger could not be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// The folder cannot be made or written in.
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// The file cannot be written.
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// Another process holds the file.
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// Another program writes to the file at this moment.
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// No space is left for it.
    Full {
        /// The file.
        path: PathBuf,
    },
    /// A newer Tidegate wrote the file.
    Newer {
        /// The file.
        path: PathBuf,
        /// The version of its tables.
        found: u32,
        /// The newest version known here.
        known: u32,
    },
    /// The store failed in another way.
    Store {
        /// The file.
        path: PathBuf,
        /// What it said.
        reason: String,
    },
    /// The writer's thread did not start.
    Thread {
        /// What the system said.
        reason: String,
    },
}

impl OpenError {
    /// `true` for what may pass while the program runs: the ledger is opened as soon as it has.
    pub(crate) const fn is_transient(&self) -> bool {
        match self {
            Self::ReadOnly { .. }
            | Self::Busy { .. }
            | Self::Full { .. }
            | Self::Newer { .. }
            | Self::Store { .. } => true,
            Self::Folder { .. } | Self::Locked { .. } | Self::Thread { .. } => false,
        }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder { path, reason: why } => write!(
                f,
                "{}: {why}; give this user the right to write there, or name another folder with --state",
                path.display()
            ),
            Self::ReadOnly { path } => write!(
                f,
                "{}: the ledger cannot be written; give this user the right to write the file and its folder, or name another folder with --state",
                path.display()
            ),
            Self::Locked { path } => write!(
                f,
                "{}: another process holds the ledger; stop it, or name another folder with --state",
                path.display()
            ),
            Self::Busy { path } => write!(
                f,
                "{}: another program has locked the ledger; end that program",
                path.display()
            ),
            Self::Full { path } => write!(
                f,
                "{}: no space is left on the disk for the ledger; make room there, or name another folder with --state",
                path.display()
            ),
            Self::Newer { path, found, known } => write!(
                f,
                "{}: written by a newer Tidegate (tables version {found}, known here up to {known}); run that version, or move the file away",
                path.display()
            ),
            Self::Store { path, reason: why } => write!(
                f,
                "{}: the ledger cannot be opened: {why}; look at the disk, or move the file away to begin a new one",
                path.display()
            ),
            Self::Thread { reason: why } => {
                write!(f, "the ledger's writer did not start: {why}; look at the limit on threads")
            }
        }
    }
}

impl std::error::Error for OpenError {}
