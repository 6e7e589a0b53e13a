//! Why an archive is not written, or not put back.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why an archive is not written, or not put back.
#[derive(Debug)]
pub enum ArchiveError {
    /// A file or folder could not be read or written.
    File(PathBuf, io::Error),
    /// The ledger could not be copied.
    Ledger(PathBuf, rusqlite::Error),
    /// A file changed under the hand.
    Changing(PathBuf),
    /// The path is longer than an archive can hold.
    LongPath(PathBuf),
    /// There is no state in that folder.
    NoState(PathBuf),
    /// The archive is none, or cannot be read to its end.
    Unreadable(io::Error),
    /// The archive was made by a newer Tidegate.
    Newer {
        /// The number that it has.
        found: u32,
        /// The largest number that is known here.
        known: u32,
    },
    /// Something in the archive that a backup never has.
    Hostile(HostileEntry),
    /// A file differs from what the manifest says.
    Differs(String),
    /// A restore into the state folder was cut off.
    Unfinished(PathBuf),
    /// A Tidegate runs on the state folder.
    InUse(PathBuf),
    /// The disk has no room for what is unpacked.
    NoRoom(PathBuf),
}

/// Something in an archive that a backup never has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostileEntry {
    /// A path that leads elsewhere, or is no text.
    Path(String),
    /// A link, a device, or another kind that is neither file nor folder.
    Kind(String),
    /// A second entry of the same name.
    Twice(String),
    /// More entries than a state has.
    Count,
    /// A head or manifest that is none.
    Manifest(String),
    /// A file that the manifest does not name, or the other way round.
    Unlisted(String),
}

impl ArchiveError {
    pub(crate) fn file(path: &Path) -> impl Fn(io::Error) -> Self {
        |why| Self::File(path.into(), why)
    }
}

impl From<HostileEntry> for ArchiveError {
    fn from(what: HostileEntry) -> Self {
        Self::Hostile(what)
    }
}

impl fmt::Display for HostileEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(f, "the path {path:?} leads out of it"),
            Self::Kind(path) => write!(f, "{path} is neither a file nor a folder"),
            Self::Twice(path) => write!(f, "{path} is in it twice"),
            Self::Count => f.write_str("it has more files than a state has"),
            Self::Manifest(why) => write!(f, "its manifest makes no sense: {why}"),
            Self::Unlisted(path) => write!(f, "{path} is in the file or in its manifest alone"),
        }
    }
}

impl fmt::Display for ArchiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, why) if why.kind() == io::ErrorKind::PermissionDenied => write!(
                f,
                "{}: {why}; the authority's folder can belong to root: use sudo",
                path.display()
            ),
            Self::File(path, why) => write!(f, "{}: {why}", path.display()),
            Self::Ledger(path, why) => {
                write!(f, "{}: it cannot be copied: {why}; try again", path.display())
            }
            Self::Changing(path) => {
                write!(f, "{} changed while it was read; try again", path.display())
            }
            Self::LongPath(path) => {
                write!(f, "{}: its path is longer than 255 bytes; move it", path.display())
            }
            Self::NoState(path) => write!(
                f,
                "there is no state in {}; name the folder of your Tidegate with --state",
                path.display()
            ),
            Self::Unreadable(why) => {
                write!(f, "this is no backup, or it is cut off: {why}; take another")
            }
            Self::Newer { found, known } => write!(
                f,
                "the backup has format {found}, and this Tidegate knows formats up to {known}; \
                 restore it with the newer Tidegate that made it"
            ),
            Self::Hostile(what) => {
                write!(f, "this is no backup of Tidegate: {what}; nothing was changed")
            }
            Self::Differs(path) => write!(
                f,
                "the backup is damaged: {path} is not what its manifest says; nothing was changed, \
                 take another"
            ),
            Self::Unfinished(path) => write!(
                f,
                "a restore into {} was cut off, and it is neither old nor new; run it again first",
                path.display()
            ),
            Self::InUse(path) => write!(
                f,
                "a Tidegate runs on the state folder {}; stop it first (systemctl stop tidegate)",
                path.display()
            ),
            Self::NoRoom(path) => write!(
                f,
                "the disk of {} has no room for what is in the backup beside what is there; \
                 nothing was changed, make room",
                path.display()
            ),
        }
    }
}

impl std::error::Error for ArchiveError {}
