//! Changes beneath a folder: files that are there whole or not at all, folders, renames, removals.
//!
//! A place is a folder that was opened on the way that reading takes ([`crate::beneath`]), and a
//! name in it. So nothing outside the root is changed, whatever else is renamed meanwhile; a link
//! with that name is replaced or removed, never followed; and what is private is refused. Called by
//! `webdav`.

use crate::beneath::{FolderRoot, OpenedFile};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, Stat, copy_file_range, fchmod, fstat, linkat, mkdirat,
    openat, renameat, statat, unlinkat,
};
use rustix::io::{Errno, pread, pwrite};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use vocab::Now;

/// Begin of the names that unfinished files have for a moment, or for as long as they are written
/// where the file system knows no files without a name.
const UNFINISHED_PREFIX: &str = ".tidegate-unfinished-";
/// Bytes that are copied at once.
const COPY_BYTES: usize = 1 << 20;
/// Rights of a new file and a new folder, less the process's mask (umask(2)).
const FILE_MODE: Mode = Mode::from_raw_mode(0o644);
const FOLDER_MODE: Mode = Mode::from_raw_mode(0o755);

/// A name in an open folder beneath a root.
#[derive(Clone, Debug)]
pub struct WritablePlace {
    folder: Arc<OwnedFd>,
    name: OsString,
}

/// A file that is written, and gets its name when it is whole. Dropped before, it is gone.
#[derive(Debug)]
pub struct UnfinishedFile {
    file: OwnedFd,
    place: WritablePlace,
    /// Name until then; none where the file system lets it have none.
    temporary: Option<OsString>,
}

/// Fate of a file that has the name already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExistingFile {
    /// Replaced, at one moment for all who look.
    Replaced,
    /// Kept, and the new one is given up: [`Errno::EXIST`].
    Kept,
}

impl FolderRoot {
    /// The place of `below`, a relative path; its folder must be there. Fails with
    /// [`Errno::PERM`] for the root itself, and with [`Errno::ACCESS`] for what is private.
    pub fn writable_place(&self, below: &Path, now: Now) -> Result<WritablePlace, Errno> {
        let (Some(parent), Some(name)) = (below.parent(), below.file_name()) else {
            return Err(Errno::PERM);
        };
        let OpenedFile { file: folder, stat } =
            self.open_beneath(parent, OFlags::PATH | OFlags::DIRECTORY, now)?;
        let place = WritablePlace { folder: Arc::new(folder), name: name.to_owned() };
        // A name may be private before anything has it.
        let entry = place.stat().unwrap_or(stat);
        if self.current(now).is_hidden(&stat, name, &entry) {
            return Err(Errno::ACCESS);
        }
        Ok(place)
    }
}

impl WritablePlace {
    /// Facts about what stands here; of a link itself, not of where it leads.
    pub fn stat(&self) -> Result<Stat, Errno> {
        statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// True for a folder, and not for a link to one.
    pub fn is_folder(&self) -> bool {
        self.stat().is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
    }

    /// The path as the kernel has it now, for a look at what stands in the way of a change.
    pub fn real_path(&self) -> Result<PathBuf, Errno> {
        let folder = format!("/proc/self/fd/{}", self.folder.as_raw_fd());
        let folder = std::fs::read_link(folder).map_err(|why| errno_of(&why))?;
        Ok(folder.join(&self.name))
    }

    /// Makes a folder.
    pub fn make_folder(&self) -> Result<(), Errno> {
        mkdirat(&self.folder, &self.name, FOLDER_MODE)
    }

    /// Removes a file or a link.
    pub fn remove_file(&self) -> Result<(), Errno> {
        unlinkat(&self.folder, &self.name, AtFlags::empty())
    }

    /// Removes a folder that is empty.
    pub fn remove_folder(&self) -> Result<(), Errno> {
        unlinkat(&self.folder, &self.name, AtFlags::REMOVEDIR)
    }

    /// Gives what stands here the other place; a file or an empty folder there is replaced.
    pub fn rename_to(&self, other: &Self) -> Result<(), Errno> {
        renameat(&self.folder, &self.name, &other.folder, &other.name)
    }

    /// Opens a file to be written and given this name later.
    pub fn begin_file(&self) -> Result<UnfinishedFile, Errno> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let unnamed = openat(&self.folder, ".", flags | OFlags::TMPFILE, FILE_MODE);
        let (file, temporary) = match unnamed {
            Ok(file) => (file, None),
            // Some file systems know no such files, and kernels say so in several ways.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => {
                let name = unfinished_name();
                let flags = flags | OFlags::CREATE | OFlags::EXCL;
                (openat(&self.folder, &name, flags, FILE_MODE)?, Some(name))
            }
            Err(why) => return Err(why),
        };
        Ok(UnfinishedFile { file, place: self.clone(), temporary })
    }
}

impl UnfinishedFile {
    /// The file, open for reading and writing.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Writes all of `bytes` at `at`.
    pub fn write_all(&self, bytes: &[u8], at: u64) -> Result<(), Errno> {
        write_all(&self.file, bytes, at)
    }

    /// Copies all of an open file into this one, within the kernel where it can; returns how much
    /// that is, in bytes.
    pub fn copy_from(&self, source: BorrowedFd<'_>) -> Result<u64, Errno> {
        let (mut from, mut to) = (0, 0);
        loop {
            match copy_file_range(source, Some(&mut from), &self.file, Some(&mut to), COPY_BYTES) {
                Ok(0) => return Ok(to),
                Ok(_) | Err(Errno::INTR) => {}
                // Not between these two file systems.
                Err(Errno::XDEV | Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS) => break,
                Err(why) => return Err(why),
            }
        }
        let mut piece = vec![0; COPY_BYTES];
        loop {
            match pread(source, &mut *piece, to) {
                Ok(0) => return Ok(to),
                Ok(count) => {
                    self.write_all(&piece[..count], to)?;
                    to += count as u64;
                }
                Err(Errno::INTR) => {}
                Err(why) => return Err(why),
            }
        }
    }

    /// Gives the file its name, with the rights of the one that it replaces. Whoever looks finds
    /// the one or the other, whole. Returns its facts.
    pub fn publish(mut self, existing: ExistingFile) -> Result<Stat, Errno> {
        let place = self.place.clone();
        if existing == ExistingFile::Replaced
            && let Ok(before) = place.stat()
            && FileType::from_raw_mode(before.st_mode) == FileType::RegularFile
        {
            fchmod(&self.file, Mode::from_raw_mode(before.st_mode & 0o777))?;
        }
        if existing == ExistingFile::Kept {
            self.link(&place.name)?;
            return fstat(&self.file);
        }
        if self.temporary.is_none() {
            // In most cases nothing stands there, and this is all.
            match self.link(&place.name) {
                Ok(()) => return fstat(&self.file),
                Err(Errno::EXIST) => {}
                Err(why) => return Err(why),
            }
            let name = unfinished_name();
            self.link(&name)?;
            self.temporary = Some(name);
        }
        if let Some(name) = &self.temporary {
            renameat(&place.folder, name, &place.folder, &place.name)?;
            self.temporary = None;
        }
        fstat(&self.file)
    }

    /// Gives the file one more name in its folder.
    fn link(&self, name: &OsStr) -> Result<(), Errno> {
        let folder = &self.place.folder;
        if let Some(temporary) = &self.temporary {
            return linkat(folder, temporary, folder, name, AtFlags::empty());
        }
        let open = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        linkat(CWD, open, folder, name, AtFlags::SYMLINK_FOLLOW)
    }
}

impl Drop for UnfinishedFile {
    fn drop(&mut self) {
        if let Some(name) = &self.temporary {
            // One that cannot be removed stays hidden: its name begins with a dot.
            let _ = unlinkat(&self.place.folder, name, AtFlags::empty());
        }
    }
}

/// Writes all of `bytes` into an open file at `at`.
pub fn write_all(file: &impl AsFd, bytes: &[u8], mut at: u64) -> Result<(), Errno> {
    let mut left = bytes;
    while !left.is_empty() {
        match pwrite(file, left, at) {
            Ok(0) => return Err(Errno::IO),
            Ok(count) => {
                left = &left[count..];
                at += count as u64;
            }
            Err(Errno::INTR) => {}
            Err(why) => return Err(why),
        }
    }
    Ok(())
}

fn unfinished_name() -> OsString {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Relaxed);
    format!("{UNFINISHED_PREFIX}{}-{number}", std::process::id()).into()
}

fn errno_of(why: &std::io::Error) -> Errno {
    Errno::from_io_error(why).unwrap_or(Errno::IO)
}

#[cfg(test)]
mod tests;
