//! The folder of a site, and opening what is below it.
//!
//! The kernel resolves every path beneath the folder (`openat2`, `RESOLVE_BENEATH`): whatever form a
//! path has, and whatever links stand in it, nothing outside opens, unless the site says that links
//! are to be followed. Only regular files and folders do. Called by `look`, `store` and `listing`.

use crate::compress::FileId;
use crate::settings::written::Symlinks;
use arc_swap::ArcSwap;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat, openat2};
use rustix::io::Errno;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use vocab::Now;

/// The folder is looked up anew so often: it may be a link that a deployment has changed.
const REOPEN_AFTER_MS: u64 = 1000;
/// A path is resolved anew when something on it was moved meanwhile, so often at most.
const RESOLVE_TRIES: u32 = 4;

/// The folder of a site.
pub(crate) struct Root {
    path: PathBuf,
    resolve: ResolveFlags,
    open: ArcSwap<Open>,
}

/// The folder as it was opened.
pub(crate) struct Open {
    folder: OwnedFd,
    /// Tells it from every other folder that this process has opened for a site.
    pub(crate) id: u64,
    identity: (u64, u64),
    looked_up_ms: AtomicU64,
}

/// What stands at a path.
pub(crate) enum Found {
    File(OwnedFd, Facts),
    Folder,
}

/// What is known of a file without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
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
    Nothing,
    /// Something stands there, and this process may not read it.
    Forbidden,
    /// The machine failed, or has run out of descriptors.
    Failed,
}

impl Root {
    /// Opens the folder. Fails if it is none, and where the kernel cannot resolve beneath it.
    pub(crate) fn open(path: PathBuf, symlinks: Symlinks, now: Now) -> io::Result<Self> {
        let path = std::path::absolute(path)?;
        let open = Open::new(open_folder(&path)?, now)?;
        // Linux 5.6 has openat2; some containers forbid it.
        openat2(&open.folder, ".", OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), INSIDE)?;
        let resolve = match symlinks {
            Symlinks::Inside => INSIDE,
            Symlinks::Refuse => PLAIN,
            Symlinks::Follow => ResolveFlags::NO_MAGICLINKS,
        };
        Ok(Self { path, resolve, open: ArcSwap::from_pointee(open) })
    }

    /// The folder's path, for programs that open its files themselves.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What stands at `below`, a relative path.
    pub(crate) fn find(&self, below: &Path, now: Now) -> Result<Found, NotOpened> {
        if below.as_os_str().is_empty() {
            return Ok(Found::Folder);
        }
        find(&self.current(now), below, self.resolve)
    }

    /// The same, if no link stands in the way.
    pub(crate) fn find_plain(open: &Open, below: &Path) -> Result<Found, NotOpened> {
        find(open, below, PLAIN)
    }

    /// Opens what stands at `below`, to be listed or looked at; no byte of it is read.
    pub(crate) fn open_at(
        &self,
        below: &Path,
        flags: OFlags,
        now: Now,
    ) -> Result<OwnedFd, NotOpened> {
        let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
        resolved(&self.current(now), below, flags | OFlags::CLOEXEC, self.resolve)
            .map_err(NotOpened::from_errno)
    }

    /// The folder, looked up anew once a second.
    pub(crate) fn current(&self, now: Now) -> arc_swap::Guard<Arc<Open>> {
        let open = self.open.load();
        if now.mono_ms < open.looked_up_ms.load(Relaxed).saturating_add(REOPEN_AFTER_MS) {
            return open;
        }
        open.looked_up_ms.store(now.mono_ms, Relaxed);
        // A folder that is gone for the moment is served as it was.
        let fresh = open_folder(&self.path).and_then(|folder| Open::new(folder, now));
        if let Ok(fresh) = fresh
            && fresh.identity != open.identity
        {
            self.open.store(Arc::new(fresh));
            return self.open.load();
        }
        open
    }
}

impl Open {
    fn new(folder: OwnedFd, now: Now) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let stat = fstat(&folder)?;
        #[allow(clippy::useless_conversion, reason = "their types differ between machines")]
        let identity = (u64::from(stat.st_dev), u64::from(stat.st_ino));
        let id = COUNT.fetch_add(1, Relaxed);
        Ok(Self { folder, id, identity, looked_up_ms: AtomicU64::new(now.mono_ms) })
    }

    /// A path of `below` for calls that take no folder.
    pub(crate) fn path_of(&self, below: &Path) -> PathBuf {
        Path::new("/proc/self/fd").join(self.folder.as_raw_fd().to_string()).join(below)
    }
}

fn resolved(
    root: &Open,
    below: &Path,
    flags: OFlags,
    resolve: ResolveFlags,
) -> Result<OwnedFd, Errno> {
    let mut opened = Err(Errno::AGAIN);
    for _ in 0..RESOLVE_TRIES {
        opened = openat2(&root.folder, below, flags, Mode::empty(), resolve);
        if opened.as_ref().err() != Some(&Errno::AGAIN) {
            break;
        }
    }
    opened
}

fn find(root: &Open, below: &Path, resolve: ResolveFlags) -> Result<Found, NotOpened> {
    // A FIFO without a writer would have us wait.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = resolved(root, below, flags, resolve).map_err(NotOpened::from_errno)?;
    let stat = fstat(&file).map_err(NotOpened::from_errno)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(Found::File(file, Facts::new(&stat))),
        FileType::Directory => Ok(Found::Folder),
        // Devices, sockets and pipes: no file to serve.
        _ => Err(NotOpened::Nothing),
    }
}

/// No link leads out, nor through `/proc`'s magic ones. A link to an absolute path leads out.
const INSIDE: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);
/// No link at all.
const PLAIN: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS);

fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(openat(CWD, path, flags, Mode::empty())?)
}

impl NotOpened {
    fn from_errno(why: Errno) -> Self {
        match why {
            Errno::ACCESS | Errno::PERM => Self::Forbidden,
            Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::IO | Errno::AGAIN => Self::Failed,
            // Not there, a file where a folder should be, out of the root, a loop of links, too long
            // a name, a socket.
            _ => Self::Nothing,
        }
    }
}

impl Facts {
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
