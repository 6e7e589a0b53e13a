//! The folder of a site, and opening what is below it.
//!
//! The kernel resolves every path beneath the folder (`openat2`, `RESOLVE_BENEATH`): whatever form a
//! path has, and whatever links stand in it, nothing outside opens. Only regular files and folders
//! do. Called by `request`.

use arc_swap::ArcSwap;
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat, openat2};
use rustix::io::Errno;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use vocab::Now;

/// The folder is looked up anew so often: it may be a link that a deployment has changed.
const REOPEN_AFTER_MS: u64 = 1000;
/// A path is resolved anew when something on it was moved meanwhile, so often at most.
const RESOLVE_TRIES: u32 = 4;

/// The folder of a site.
pub(crate) struct Root {
    path: PathBuf,
    open: ArcSwap<Open>,
}

struct Open {
    folder: OwnedFd,
    at_ms: u64,
}

/// What stands at a path.
pub(crate) enum Found {
    File(OwnedFd, Facts),
    Folder,
}

/// What is known of a file without reading it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    pub(crate) len: u64,
    pub(crate) modified_secs: u64,
    pub(crate) modified_nanos: u32,
    pub(crate) inode: u64,
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
    pub(crate) fn open(path: PathBuf, now: Now) -> io::Result<Self> {
        let folder = open_folder(&path)?;
        // Linux 5.6 has openat2; some containers forbid it.
        openat2(&folder, ".", OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), BENEATH)?;
        Ok(Self { path, open: ArcSwap::from_pointee(Open { folder, at_ms: now.mono_ms }) })
    }

    /// What stands at `below`, a relative path.
    pub(crate) fn find(&self, below: &Path, now: Now) -> Result<Found, NotOpened> {
        if below.as_os_str().is_empty() {
            return Ok(Found::Folder);
        }
        // A FIFO without a writer would have us wait.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let root = self.current(now);
        let mut opened = Err(Errno::AGAIN);
        for _ in 0..RESOLVE_TRIES {
            opened = openat2(&root.folder, below, flags, Mode::empty(), BENEATH);
            if opened.as_ref().err() != Some(&Errno::AGAIN) {
                break;
            }
        }
        let file = opened.map_err(NotOpened::from_errno)?;
        let stat = fstat(&file).map_err(NotOpened::from_errno)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok(Found::File(file, Facts::new(&stat))),
            FileType::Directory => Ok(Found::Folder),
            // Devices, sockets and pipes: no file to serve.
            _ => Err(NotOpened::Nothing),
        }
    }

    fn current(&self, now: Now) -> Arc<Open> {
        let open = self.open.load_full();
        if now.mono_ms < open.at_ms.saturating_add(REOPEN_AFTER_MS) {
            return open;
        }
        // A folder that is gone for the moment is served as it was.
        let Ok(folder) = open_folder(&self.path) else { return open };
        let fresh = Arc::new(Open { folder, at_ms: now.mono_ms });
        self.open.store(Arc::clone(&fresh));
        fresh
    }
}

/// No link leads out, nor through `/proc`'s magic ones. A link to an absolute path leads out.
const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);

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
    #[allow(
        clippy::cast_sign_loss,
        clippy::unnecessary_cast,
        reason = "the types of these fields differ between machines; a date before 1970 is as good as 1970"
    )]
    fn new(stat: &Stat) -> Self {
        Self {
            len: stat.st_size.max(0) as u64,
            modified_secs: (stat.st_mtime as i64).max(0) as u64,
            modified_nanos: stat.st_mtime_nsec as u32,
            inode: stat.st_ino as u64,
        }
    }
}
