//! The folder of a site, and opening what is below it.
//!
//! Nothing outside the folder opens, unless the site says that links are to be followed, and
//! nothing that is private ([`file_access::beneath`]). Only regular files and folders do. Called by
//! `look`, `store` and `listing`.

use crate::settings::written::SymlinkMode;
use file_access::beneath::{FolderRoot, OpenFolder, OpenedFile, RootError, SymlinkPolicy};
use file_access::private_files::PrivateFiles;
use rustix::fd::OwnedFd;
use rustix::fs::{FileType, OFlags, Stat};
use rustix::io::Errno;
use std::path::Path;
use std::sync::Arc;
use vocab::Now;

/// The folder of a site.
pub(crate) struct SiteRoot(Arc<FolderRoot>);

/// Tells what stands at a path.
pub(crate) enum FoundPath {
    File(FoundFile),
    Folder,
}

/// A file that is open, as it was when it was opened.
pub(crate) struct FoundFile {
    pub(crate) file: OwnedFd,
    pub(crate) facts: FileFacts,
}

/// Holds what a file is known by: two files with the same are the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FileId {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) len: u64,
    pub(crate) modified_secs: u64,
    pub(crate) modified_nanos: u32,
}

impl FileId {
    /// True if it was changed before the other.
    pub(crate) fn is_older_than(&self, other: &Self) -> bool {
        (self.modified_secs, self.modified_nanos) < (other.modified_secs, other.modified_nanos)
    }
}

/// Holds what is known of a file without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileFacts {
    pub(crate) len: u64,
    pub(crate) modified_secs: u64,
    pub(crate) modified_nanos: u32,
    /// When its bytes, rights or names changed last: no program can set this back.
    pub(crate) changed_secs: u64,
    pub(crate) changed_nanos: u32,
    pub(crate) inode: u64,
    pub(crate) device: u64,
    /// Names that it has: one that is changed under another name is not seen by a watch.
    pub(crate) links: u64,
}

/// Why nothing was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotOpened {
    /// Nothing that could be served stands there.
    NotFound,
    /// Something stands there, and this process may not read it.
    Forbidden,
    /// The machine failed, or has run out of descriptors.
    Failed,
}

impl SiteRoot {
    /// Opens the folder. Fails if it is none, or a private one.
    pub(crate) fn open(
        path: &Path,
        symlinks: SymlinkMode,
        private: &Arc<PrivateFiles>,
        now: Now,
    ) -> Result<Self, RootError> {
        let links = match symlinks {
            SymlinkMode::Inside => SymlinkPolicy::Inside,
            SymlinkMode::Refuse => SymlinkPolicy::Refuse,
            SymlinkMode::Follow => SymlinkPolicy::Follow,
        };
        let root = FolderRoot::open(path, links, Arc::clone(private), now)?;
        Ok(Self(Arc::new(root)))
    }

    /// The folder, for whoever writes in it.
    pub(crate) fn shared(&self) -> Arc<FolderRoot> {
        Arc::clone(&self.0)
    }

    /// The folder's path, for programs that open its files themselves.
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Returns what stands at `below`, a relative path.
    pub(crate) fn find(&self, below: &Path, now: Now) -> Result<FoundPath, NotOpened> {
        if below.as_os_str().is_empty() {
            let is_private = self.current(now).is_private();
            return if is_private { Err(NotOpened::NotFound) } else { Ok(FoundPath::Folder) };
        }
        found(self.0.open_beneath(below, READING, now))
    }

    /// The same, if no link stands in the way.
    pub(crate) fn find_plain(open: &OpenFolder, below: &Path) -> Result<FoundPath, NotOpened> {
        found(open.open_beneath(below, READING, SymlinkPolicy::Refuse))
    }

    /// Opens what stands at `below`, to be listed or looked at; no byte of it is read.
    pub(crate) fn open_at(
        &self,
        below: &Path,
        flags: OFlags,
        now: Now,
    ) -> Result<OpenedFile, NotOpened> {
        self.0.open_beneath(below, flags, now).map_err(NotOpened::from_errno)
    }

    /// The folder, looked up again once a second.
    pub(crate) fn current(&self, now: Now) -> arc_swap::Guard<Arc<OpenFolder>> {
        self.0.current(now)
    }
}

/// A FIFO without a writer would have us wait.
const READING: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

fn found(opened: Result<OpenedFile, Errno>) -> Result<FoundPath, NotOpened> {
    let OpenedFile { file, stat } = opened.map_err(NotOpened::from_errno)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {
            Ok(FoundPath::File(FoundFile { file, facts: FileFacts::new(&stat) }))
        }
        FileType::Directory => Ok(FoundPath::Folder),
        // Devices, sockets and pipes: no file to serve.
        _ => Err(NotOpened::NotFound),
    }
}

impl NotOpened {
    fn from_errno(why: Errno) -> Self {
        match why {
            Errno::ACCESS | Errno::PERM => Self::Forbidden,
            Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::IO | Errno::AGAIN => Self::Failed,
            // Not there, a file where a folder should be, out of the root, a loop of links, too
            // long a name, a socket.
            _ => Self::NotFound,
        }
    }
}

impl FileFacts {
    /// The file's entity tag, without quotes. It is strong: a file's inode, size or time (to the
    /// grain of the file system's clock) changes with its bytes.
    pub(crate) fn tag(&self) -> String {
        let nanos =
            u128::from(self.modified_secs) * 1_000_000_000 + u128::from(self.modified_nanos);
        format!("{:x}-{:x}-{nanos:x}", self.inode, self.len)
    }

    /// By what the file is known where its coded forms are kept.
    pub(crate) fn id(&self) -> FileId {
        FileId {
            device: self.device,
            inode: self.inode,
            len: self.len,
            modified_secs: self.modified_secs,
            modified_nanos: self.modified_nanos,
        }
    }

    #[allow(
        clippy::cast_sign_loss,
        clippy::unnecessary_cast,
        reason = "the types of these fields differ between machines; a date before 1970 is as good as 1970"
    )]
    pub(crate) fn new(stat: &Stat) -> Self {
        Self {
            len: stat.st_size.max(0) as u64,
            modified_secs: (stat.st_mtime as i64).max(0) as u64,
            modified_nanos: stat.st_mtime_nsec as u32,
            changed_secs: (stat.st_ctime as i64).max(0) as u64,
            changed_nanos: stat.st_ctime_nsec as u32,
            inode: stat.st_ino as u64,
            device: stat.st_dev as u64,
            links: stat.st_nlink as u64,
        }
    }
}
