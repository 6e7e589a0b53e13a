//! Counts of the disk tier, for metrics and the dashboard.

use std::fmt;
use std::io;
use std::sync::atomic::AtomicU64;

/// The figures of one moment. Counters begin at zero with the process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskFigures {
    /// Objects that can be found; some may turn out to be purged or damaged.
    pub objects: u64,
    /// Objects with a head newer than their body.
    pub renewed: u64,
    /// Bytes of all segments, against the limit.
    pub bytes: u64,
    /// Segments.
    pub segments: u64,
    /// Bytes that wait to be written.
    pub waiting_bytes: u64,
    /// Purges that are remembered one by one.
    pub purges: u64,
    /// Objects that were used.
    pub hits: u64,
    /// Look-ups that found nothing.
    pub misses: u64,
    /// Records written.
    pub stored: u64,
    /// Answers that were not stored, for a reason that their writer was told, or for trouble later.
    pub not_stored: u64,
    /// Records dropped because a checksum did not fit, or they could not be read.
    pub corrupted: u64,
    /// Segments reclaimed.
    pub reclaimed: u64,
    /// Records that were moved, because they were in use, before their segment was reclaimed.
    pub moved: u64,
    /// Objects that went with their segment.
    pub evicted: u64,
    /// Why nothing is written for now.
    pub failure: Option<DiskTrouble>,
}

/// The counters behind [`DiskFigures`].
#[derive(Default)]
pub(crate) struct DiskCounts {
    pub(crate) hits: AtomicU64,
    pub(crate) misses: AtomicU64,
    pub(crate) stored: AtomicU64,
    pub(crate) not_stored: AtomicU64,
    pub(crate) corrupted: AtomicU64,
    pub(crate) reclaimed: AtomicU64,
    pub(crate) moved: AtomicU64,
    pub(crate) evicted: AtomicU64,
}

/// Why nothing is written for now. What is stored is still served, as far as it can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskTrouble {
    /// The disk is full, though the limit is not reached: others use it too.
    DiskFull,
    /// The file system has become read-only.
    ReadOnly,
    /// The folder was removed or replaced.
    FolderGone,
    /// Anything else that the system says.
    Failed(String),
}

impl DiskTrouble {
    pub(crate) fn of(why: &io::Error) -> Self {
        match why.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull,
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => Self::ReadOnly,
            io::ErrorKind::NotFound => Self::FolderGone,
            _ => Self::Failed(why.to_string()),
        }
    }
}

impl fmt::Display for DiskTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DiskFull => f.write_str("the disk is full; make room, or set a lower size"),
            Self::ReadOnly => {
                f.write_str("the disk is read-only; look for what the kernel says about it")
            }
            Self::FolderGone => f.write_str("the folder is gone; restart to begin with a new one"),
            Self::Failed(why) => write!(f, "{why}; look for what the kernel says about the disk"),
        }
    }
}
