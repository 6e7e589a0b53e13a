//! One body while it is being taken: its beginning in memory, the rest in a file without a name.
//!
//! The file is never linked into its folder, or unlinked before it holds a byte: it is gone with
//! the process, however that ends. Writing is done by a helper thread. Called by the parent module.

use super::UploadRules;
use super::budget::BudgetShare;
use super::replay::ReplayBody;
use bytes::{Bytes, BytesMut};
use file_access::writable::write_all;
use http_engine::content::CHUNK_BYTES;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, unlinkat};
use rustix::io::Errno;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tokio::task::spawn_blocking;

/// A body that is being taken.
pub(super) struct UploadSpool {
    memory: BytesMut,
    /// Where more of it goes.
    destination: SpoolPlace,
    file: Option<Arc<OwnedFd>>,
    written: u64,
    /// Bytes to be written next: pieces as they come are too small.
    unwritten: BytesMut,
    shares: SpoolShares,
    caps: SpoolCaps,
    folder: Arc<Path>,
}

/// Holds what a body holds of the budgets.
#[derive(Debug)]
pub(super) struct SpoolShares {
    memory: BudgetShare,
    disk: BudgetShare,
}

#[derive(Clone, Copy)]
struct SpoolCaps {
    memory_each: u64,
    memory_all: u64,
    disk_all: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SpoolPlace {
    Memory,
    Disk,
}

/// Outcome of a piece. It is kept in any case.
pub(super) enum SpoolOutcome {
    /// There is room for more.
    Stored,
    /// Is in memory for want of another place: no more of the body is to be taken.
    Unwritten,
}

impl UploadSpool {
    pub(super) fn new(uploads: &UploadRules) -> Self {
        let (settings, used) = (&uploads.settings, &uploads.usage);
        Self {
            memory: BytesMut::new(),
            destination: SpoolPlace::Memory,
            file: None,
            written: 0,
            unwritten: BytesMut::new(),
            shares: SpoolShares {
                memory: BudgetShare::none(&used.memory),
                disk: BudgetShare::none(&used.disk),
            },
            caps: SpoolCaps {
                memory_each: settings.memory.bytes(),
                memory_all: settings.memory_max.bytes(),
                disk_all: settings.disk_max.bytes(),
            },
            folder: uploads.folder.as_path().into(),
        }
    }

    /// Returns how much of the body is here, in bytes.
    pub(super) fn len(&self) -> u64 {
        self.memory.len() as u64 + self.written + self.unwritten.len() as u64
    }

    /// True if all of it is in memory.
    pub(super) fn is_in_memory(&self) -> bool {
        self.destination == SpoolPlace::Memory
    }

    /// Takes the next piece.
    pub(super) async fn add(&mut self, piece: Bytes) -> SpoolOutcome {
        let bytes = piece.len() as u64;
        if self.destination == SpoolPlace::Memory {
            let fits = self.memory.len() as u64 + bytes <= self.caps.memory_each;
            if fits && self.shares.memory.grow(bytes, self.caps.memory_all).is_ok() {
                self.memory.extend_from_slice(&piece);
                return SpoolOutcome::Stored;
            }
            self.destination = SpoolPlace::Disk;
        }
        self.unwritten.extend_from_slice(&piece);
        if self.shares.disk.grow(bytes, self.caps.disk_all).is_err() {
            return SpoolOutcome::Unwritten;
        }
        if self.unwritten.len() < CHUNK_BYTES { SpoolOutcome::Stored } else { self.write().await }
    }

    async fn write(&mut self) -> SpoolOutcome {
        let (piece, at) = (self.unwritten.split().freeze(), self.written);
        let (file, folder) = (self.file.clone(), Arc::clone(&self.folder));
        let bytes = piece.clone();
        let written = spawn_blocking(move || {
            let file = match file {
                Some(file) => file,
                None => Arc::new(unnamed_file(&folder)?),
            };
            write_all(&file, &bytes, at).map(|()| file)
        });
        if let Ok(Ok(file)) = written.await {
            self.file = Some(file);
            self.written += piece.len() as u64;
            return SpoolOutcome::Stored;
        }
        self.unwritten = piece.into();
        SpoolOutcome::Unwritten
    }

    /// Returns what was taken.
    pub(super) fn finish(mut self) -> ReplayBody {
        if self.file.is_none() {
            self.memory.extend_from_slice(&self.unwritten.split());
        }
        let file = self.file.map(|file| (file, self.written));
        ReplayBody::new(self.memory.freeze(), file, self.unwritten.freeze(), self.shares)
    }
}

/// A new file that stands in no folder.
fn unnamed_file(folder: &Path) -> Result<OwnedFd, Errno> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    match openat(CWD, folder, flags | OFlags::TMPFILE, mode) {
        Ok(file) => Ok(file),
        // Some file systems know no such files, and kernels say so in several ways.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => {
            let number = COUNT.fetch_add(1, Relaxed);
            let path = folder.join(format!(".upload-{}-{number}", std::process::id()));
            let file = openat(CWD, &path, flags | OFlags::CREATE | OFlags::EXCL, mode)?;
            unlinkat(CWD, &path, AtFlags::empty())?;
            Ok(file)
        }
        Err(why) => Err(why),
    }
}
