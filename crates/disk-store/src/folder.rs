//! The folder of the disk tier: whose it is, who holds it, and which files in it are ours.
//!
//! It deletes nothing that it does not know, and takes over no folder with other people's files.
//! One process at a time: a lock that the kernel drops with the process. Called once, at the start.

use crate::durable_file::{options, replace};
use crate::format::u32_at;
use crate::key::KeySeed;
use crate::purge_log::{self, PurgeLog};
use crate::segment_scan::VERSION;
use std::fmt;
use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

const IDENTITY: &str = "identity";
const LOCK: &str = "lock";
/// Folder of another store within this one, with what is for one person alone. Below it, so that
/// whoever guards the folder guards both.
pub const PRIVATE_FOLDER: &str = "private";
const SEGMENT_ENDING: &str = ".segment";
const IDENTITY_BYTES: usize = 40;
const IDENTITY_MAGIC: &[u8; 16] = b"tidegate store\n\0";
/// Names of foreign files that are remembered for the notes; more are only counted.
const FOREIGN_NAMES_MAX: usize = 8;

/// Why the disk tier cannot be used. Whoever opened it goes on without one.
#[derive(Debug)]
pub enum OpenError {
    /// A limit is out of its bounds.
    Limits(String),
    /// Another process uses the folder.
    InUse(PathBuf),
    /// The folder, or what it is on, cannot be written to.
    ReadOnly(PathBuf),
    /// Has files that are not ours, and never was a store.
    Foreign(PathBuf, String),
    /// A newer release wrote it: the version found.
    Newer(PathBuf, u32),
    /// The file that says which store it is cannot be read.
    Damaged(PathBuf),
    /// The system refused.
    Failed(PathBuf, io::Error),
}

impl OpenError {
    pub(crate) fn of(path: &Path, why: io::Error) -> Self {
        match why.kind() {
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
                Self::ReadOnly(path.into())
            }
            _ => Self::Failed(path.into(), why),
        }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limits(what) => write!(f, "{what}"),
            Self::InUse(path) => write!(
                f,
                "{} is in use by another process; give each its own folder",
                path.display()
            ),
            Self::ReadOnly(path) => write!(
                f,
                "{} cannot be written to; mount it for writing and make it this user's",
                path.display()
            ),
            Self::Foreign(path, name) => write!(
                f,
                "{} has files that are not a store's ({name}); give the store an empty folder",
                path.display()
            ),
            Self::Newer(path, version) => write!(
                f,
                "{} is of version {version}, this release knows {VERSION}; use the newer release or another folder",
                path.display()
            ),
            Self::Damaged(path) => write!(
                f,
                "{}/{IDENTITY} is damaged; empty the folder to start again",
                path.display()
            ),
            Self::Failed(path, why) => {
                write!(f, "{}: {why}; check the path and the disk", path.display())
            }
        }
    }
}

impl std::error::Error for OpenError {}

/// The folder, held.
pub(crate) struct DiskFolder {
    pub(crate) path: PathBuf,
    pub(crate) seed: KeySeed,
    lock: File,
}

/// Holds what lies in it.
#[derive(Default)]
pub(crate) struct FolderListing {
    /// Numbers of the segments, the oldest first.
    pub(crate) segments: Vec<u64>,
    /// Names of some files that are not ours.
    pub(crate) foreign: Vec<String>,
}

/// The file of a segment.
pub(crate) fn segment_path(folder: &Path, id: u64) -> PathBuf {
    folder.join(format!("{id:016x}{SEGMENT_ENDING}"))
}

impl DiskFolder {
    /// Takes the folder at `path`, makes it where there is none. A new one gets `seed`.
    pub(crate) fn open(
        path: &Path,
        seed: KeySeed,
    ) -> Result<(Self, FolderListing, PurgeLog), OpenError> {
        let failed = |why| OpenError::of(path, why);
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
        let lock = options().create(true).open(path.join(LOCK)).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(OpenError::InUse(path.into())),
            Err(TryLockError::Error(why)) => return Err(failed(why)),
        }
        let listing = FolderListing::of(path).map_err(failed)?;
        let (seed, log) = match fs::read(path.join(IDENTITY)) {
            Ok(bytes) => (identity(path, &bytes)?, PurgeLog::open(path).map_err(failed)?),
            Err(why) if why.kind() == io::ErrorKind::NotFound => {
                if let Some(name) = listing.foreign.first() {
                    return Err(OpenError::Foreign(path.into(), name.clone()));
                }
                if !listing.segments.is_empty() {
                    // Segments whose purges and keys nobody knows any more.
                    return Err(OpenError::Damaged(path.into()));
                }
                let log = PurgeLog::create(path).map_err(failed)?;
                replace(path, IDENTITY, &identity_bytes(&seed)).map_err(failed)?;
                (seed, log)
            }
            Err(why) => return Err(failed(why)),
        };
        Ok((Self { path: path.into(), seed, lock }, listing, log))
    }

    /// Lets another process have it, though readers may still hold on to files of it.
    pub(crate) fn release(&self) {
        // Failing that, the lock goes with the last reader.
        let _ = self.lock.unlock();
    }

    /// True if the folder that is there now is still the one that was taken: it may have been
    /// removed, or another file system mounted over it.
    pub(crate) fn still_exists(&self) -> bool {
        let same = |there: fs::Metadata| {
            let held = self.lock.metadata();
            held.is_ok_and(|held| (held.dev(), held.ino()) == (there.dev(), there.ino()))
        };
        fs::metadata(self.path.join(LOCK)).is_ok_and(same)
    }
}

impl FolderListing {
    fn of(path: &Path) -> io::Result<Self> {
        let mut listing = Self::default();
        for found in fs::read_dir(path)? {
            let found = found?;
            let name = found.file_name().to_string_lossy().into_owned();
            let number = name.strip_suffix(SEGMENT_ENDING).filter(|number| number.len() == 16);
            let number = number.and_then(|number| u64::from_str_radix(number, 16).ok());
            let kind = found.file_type()?;
            let is_file = kind.is_file();
            let plain = name.strip_suffix(".new").unwrap_or(&name);
            match number {
                Some(number) if is_file => listing.segments.push(number),
                _ if is_file && [IDENTITY, LOCK, purge_log::NAME].contains(&plain) => {}
                _ if kind.is_dir() && name == PRIVATE_FOLDER => {}
                _ if listing.foreign.len() < FOREIGN_NAMES_MAX => listing.foreign.push(name),
                _ => {}
            }
        }
        listing.segments.sort_unstable();
        listing.foreign.sort_unstable();
        Ok(listing)
    }
}

fn identity_bytes(seed: &KeySeed) -> Vec<u8> {
    let mut bytes = IDENTITY_MAGIC.to_vec();
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend(seed.0);
    bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
    bytes
}

fn identity(path: &Path, bytes: &[u8]) -> Result<KeySeed, OpenError> {
    let damaged = || OpenError::Damaged(path.into());
    if bytes.len() < IDENTITY_BYTES || &bytes[..16] != IDENTITY_MAGIC {
        return Err(damaged());
    }
    // The version comes before the checksum: a newer release may keep more in this file.
    match u32_at(bytes, 16) {
        VERSION => {}
        newer if newer > VERSION => return Err(OpenError::Newer(path.into(), newer)),
        _ => return Err(damaged()),
    }
    if bytes.len() != IDENTITY_BYTES || u32_at(bytes, 36) != crc32c::crc32c(&bytes[..36]) {
        return Err(damaged());
    }
    bytes[20..36].try_into().map(KeySeed).map_err(|_| damaged())
}
