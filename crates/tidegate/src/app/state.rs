//! The state folder: made on first use, readable by its owner alone, used by one process.

use rustix::fs::{FlockOperation, flock};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The folder, and the lock that says it is in use; freed when this is dropped.
#[derive(Debug)]
pub(crate) struct StateDir {
    path: PathBuf,
    _lock: File,
}

/// Why the folder cannot be used.
#[derive(Debug)]
pub(crate) enum StateError {
    /// It cannot be made or written.
    NotWritable(PathBuf, io::Error),
    /// Another Tidegate uses it.
    InUse(PathBuf),
}

impl StateDir {
    /// Makes the folder if need be (mode 0700) and takes its lock.
    pub(crate) fn open(path: &Path) -> Result<Self, StateError> {
        let failed = |error| StateError::NotWritable(path.into(), error);
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(path.join("lock"))
            .map_err(failed)?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self { path: path.into(), _lock: lock }),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(StateError::InUse(path.into())),
            Err(error) => Err(failed(error.into())),
        }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Replaces a file as a whole: written beside it, synced, renamed. A reader, or a crash, sees the
/// old one or the new one.
pub(crate) fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = path.with_extension("draft");
    let mut file =
        OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&draft)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&draft, path)
}

impl std::fmt::Display for StateError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotWritable(path, error) => write!(
                f,
                "the state folder {} cannot be written: {error}; name another with --state DIR",
                path.display()
            ),
            Self::InUse(path) => write!(
                f,
                "the state folder {} is in use by a running Tidegate; stop that one, or name \
                 another folder with --state DIR",
                path.display()
            ),
        }
    }
}
