//! Opening files beneath a folder, and nothing else.
//!
//! Every folder on the way is opened by itself, below the one before and without following a link;
//! where links are to be followed, their text is walked in the same way. So nothing outside the
//! root opens, whatever form a path has, and no private file or folder is passed or opened on any
//! way ([`crate::private_files`]). Used by the web door for its sites and by the gateway for files
//! that servers name.

use crate::private_files::{FileIdentity, PrivateFiles, PrivateSet};
use arc_swap::ArcSwap;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat};
use rustix::io::Errno;
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Components, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use vocab::Now;

/// A root is looked up again so often: it may be a link that a deployment has changed.
const REOPEN_AFTER_MS: u64 = 1000;
/// Links on one way, as the kernel has it (`path_resolution(7)`).
const LINKS_MAX: u32 = 40;
/// Folders, links and steps up of one way: a path of the longest kind has so many names of three
/// letters.
const STEPS_MAX: u32 = 1024;

/// Which symbolic links are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymlinkPolicy {
    /// None.
    Refuse,
    /// Links that stay beneath the root; one to an absolute path does not.
    Inside,
    /// All.
    Follow,
}

/// A folder by its path, opened again when something else stands there.
pub struct FolderRoot {
    path: PathBuf,
    links: SymlinkPolicy,
    private: Arc<PrivateFiles>,
    open: ArcSwap<OpenFolder>,
}

/// A root as it was opened.
pub struct OpenFolder {
    folder: OwnedFd,
    id: u64,
    identity: FileIdentity,
    secrecy: PathSecrecy,
    private: Arc<PrivateFiles>,
    /// The generation of what is private when this was opened.
    generation: u64,
    looked_up_ms: AtomicU64,
}

/// An open file or folder, with what `fstat` says of it.
#[derive(Debug)]
pub struct OpenedFile {
    /// The file.
    pub file: OwnedFd,
    /// Facts about it, as they were when it was opened.
    pub stat: Stat,
}

/// Reason why a folder cannot be a root.
#[derive(Debug)]
pub enum RootError {
    /// Failure to open it.
    Io(io::Error),
    /// A private folder, or one inside of such.
    Private,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PathSecrecy {
    Public,
    Private,
}

impl FolderRoot {
    /// The folder at `path`. Fails if there is none, and if nothing in it may be served.
    pub fn open(
        path: &Path,
        links: SymlinkPolicy,
        private: Arc<PrivateFiles>,
        now: Now,
    ) -> Result<Self, RootError> {
        let path = std::path::absolute(path).map_err(RootError::Io)?;
        let open = OpenFolder::open(&path, Arc::clone(&private), now);
        let open = open.map_err(|why| RootError::Io(why.into()))?;
        if open.secrecy == PathSecrecy::Private {
            return Err(RootError::Private);
        }
        Ok(Self { path, links, private, open: ArcSwap::from_pointee(open) })
    }

    /// Returns its path, absolute, for programs that open its files themselves.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder as it is now, looked up again once a second.
    pub fn current(&self, now: Now) -> arc_swap::Guard<Arc<OpenFolder>> {
        let open = self.open.load();
        if now.mono_ms < open.looked_up_ms.load(Relaxed).saturating_add(REOPEN_AFTER_MS) {
            return open;
        }
        open.looked_up_ms.store(now.mono_ms, Relaxed);
        // A folder that is gone for the moment is served as it was.
        if let Ok(fresh) = OpenFolder::open(&self.path, Arc::clone(&self.private), now)
            && !fresh.is_same(&open)
        {
            self.open.store(Arc::new(fresh));
            return self.open.load();
        }
        open
    }

    /// Files that are never served.
    pub fn private(&self) -> &PrivateFiles {
        &self.private
    }

    /// Opens what stands at `below`, a relative path; the root itself where it is empty.
    pub fn open_beneath(&self, below: &Path, flags: OFlags, now: Now) -> Result<OpenedFile, Errno> {
        self.current(now).open_beneath(below, flags, self.links)
    }
}

impl OpenFolder {
    fn open(path: &Path, private: Arc<PrivateFiles>, now: Now) -> Result<Self, Errno> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let folder = open_folder(path)?;
        let identity = FileIdentity::of(&fstat(&folder)?);
        let set = private.current(now);
        let secrecy =
            if set.is_private_root(&folder)? { PathSecrecy::Private } else { PathSecrecy::Public };
        let generation = set.generation();
        drop(set);
        let id = COUNT.fetch_add(1, Relaxed);
        let looked_up_ms = AtomicU64::new(now.mono_ms);
        Ok(Self { folder, id, identity, secrecy, private, generation, looked_up_ms })
    }

    fn is_same(&self, other: &Self) -> bool {
        self.identity == other.identity
            && self.secrecy == other.secrecy
            && self.generation == other.generation
    }

    /// A number that no other root of this process has. Another folder at the same path gets
    /// another number, and so does the same one when other paths become private.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// `true` where nothing in it may be served any more.
    pub fn is_private(&self) -> bool {
        self.secrecy == PathSecrecy::Private
    }

    /// `true` for an entry of a folder beneath this one that is not served.
    pub fn is_hidden(&self, folder: &Stat, name: &OsStr, entry: &Stat) -> bool {
        self.private.snapshot().contains(FileIdentity::of(folder), name, FileIdentity::of(entry))
    }

    /// A path of `below` for calls that take no folder.
    pub fn path_of(&self, below: &Path) -> PathBuf {
        Path::new("/proc/self/fd").join(self.folder.as_raw_fd().to_string()).join(below)
    }

    /// Opens what stands at `below`, a relative path; the root itself where it is empty.
    pub fn open_beneath(
        &self,
        below: &Path,
        flags: OFlags,
        links: SymlinkPolicy,
    ) -> Result<OpenedFile, Errno> {
        if self.is_private() {
            return Err(Errno::NOENT);
        }
        let walk = PathWalk {
            root: self,
            private: &self.private.snapshot(),
            links,
            folders: Vec::new(),
            outside: None,
            linked: Vec::new(),
            links_left: LINKS_MAX,
            steps_left: STEPS_MAX,
        };
        walk.open(below.components(), flags | OFlags::CLOEXEC | OFlags::NOFOLLOW)
    }
}

fn open_folder(path: &Path) -> Result<OwnedFd, Errno> {
    openat(CWD, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// A way from the root to what is opened.
struct PathWalk<'r> {
    root: &'r OpenFolder,
    private: &'r PrivateSet,
    links: SymlinkPolicy,
    /// The folders passed so far, below the root or below `outside`.
    folders: Vec<PassedFolder>,
    /// Where the way begins since a link has led out of the root.
    outside: Option<PassedFolder>,
    /// Names that links have put before the rest of the path, the next one last.
    linked: Vec<OsString>,
    links_left: u32,
    steps_left: u32,
}

struct PassedFolder {
    folder: OwnedFd,
    identity: FileIdentity,
}

impl PathWalk<'_> {
    fn open(mut self, mut rest: Components<'_>, flags: OFlags) -> Result<OpenedFile, Errno> {
        loop {
            let name = match self.linked.pop() {
                Some(name) => Cow::Owned(name),
                None => match rest.next() {
                    Some(Component::Normal(name)) => Cow::Borrowed(name),
                    Some(Component::ParentDir) => Cow::Borrowed(OsStr::new("..")),
                    Some(Component::CurDir) => continue,
                    Some(Component::RootDir | Component::Prefix(_)) => return Err(Errno::XDEV),
                    None => return self.open_current(flags),
                },
            };
            self.steps_left = self.steps_left.checked_sub(1).ok_or(Errno::NAMETOOLONG)?;
            let is_last = self.linked.is_empty() && rest.clone().next().is_none();
            if &*name == ".." {
                self.ascend()?;
            } else if !is_last {
                self.descend(&name)?;
            } else if let Some(opened) = self.open_last(&name, flags)? {
                return Ok(opened);
            }
        }
    }

    /// The folder that the way has come to.
    fn current_folder(&self) -> (BorrowedFd<'_>, FileIdentity) {
        match self.folders.last().or(self.outside.as_ref()) {
            Some(passed) => (passed.folder.as_fd(), passed.identity),
            None => (self.root.folder.as_fd(), self.root.identity),
        }
    }

    /// Goes into the folder `name`, or to where the link of this name leads.
    fn descend(&mut self, name: &OsStr) -> Result<(), Errno> {
        let (here, identity) = self.current_folder();
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = openat(here, name, flags, Mode::empty())?;
        let stat = fstat(&folder)?;
        let passed = PassedFolder { folder, identity: FileIdentity::of(&stat) };
        if self.private.contains(identity, name, passed.identity) {
            return Err(Errno::NOENT);
        }
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {
                self.folders.push(passed);
                Ok(())
            }
            FileType::Symlink => self.follow_link(name),
            _ => Err(Errno::NOTDIR),
        }
    }

    fn ascend(&mut self) -> Result<(), Errno> {
        if self.folders.pop().is_some() {
            return Ok(());
        }
        match self.links {
            SymlinkPolicy::Refuse | SymlinkPolicy::Inside => Err(Errno::XDEV),
            SymlinkPolicy::Follow => {
                let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
                let folder = openat(self.current_folder().0, "..", flags, Mode::empty())?;
                self.start_at(folder)
            }
        }
    }

    fn start_at(&mut self, folder: OwnedFd) -> Result<(), Errno> {
        let identity = FileIdentity::of(&fstat(&folder)?);
        if self.private.contains_folder(identity) {
            return Err(Errno::NOENT);
        }
        self.outside = Some(PassedFolder { folder, identity });
        Ok(())
    }

    /// Puts the text of the link `name` before what is left of the path.
    fn follow_link(&mut self, name: &OsStr) -> Result<(), Errno> {
        if self.links == SymlinkPolicy::Refuse {
            return Err(Errno::LOOP);
        }
        self.links_left = self.links_left.checked_sub(1).ok_or(Errno::LOOP)?;
        let text = readlinkat(self.current_folder().0, name, Vec::new())?;
        let target = PathBuf::from(OsString::from_vec(text.into_bytes()));
        if target.is_absolute() {
            if self.links != SymlinkPolicy::Follow {
                return Err(Errno::XDEV);
            }
            self.folders.clear();
            self.start_at(open_folder(Path::new("/"))?)?;
        }
        let names = target.components().rev().filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
        });
        self.linked.extend(names);
        Ok(())
    }

    /// Opens the last name of the path; nothing where it is a link, which is walked first.
    fn open_last(&mut self, name: &OsStr, flags: OFlags) -> Result<Option<OpenedFile>, Errno> {
        let (here, folder) = self.current_folder();
        let file = match openat(here, name, flags, Mode::empty()) {
            Ok(file) => file,
            // A link is either of the two, by the flags.
            Err(why @ (Errno::LOOP | Errno::NOTDIR)) => {
                return match self.follow_link(name) {
                    Ok(()) => Ok(None),
                    Err(Errno::INVAL) => Err(why),
                    Err(why) => Err(why),
                };
            }
            Err(why) => return Err(why),
        };
        let stat = fstat(&file)?;
        if self.private.contains(folder, name, FileIdentity::of(&stat)) {
            return Err(Errno::NOENT);
        }
        if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
            return self.follow_link(name).map(|()| None);
        }
        Ok(Some(OpenedFile { file, stat }))
    }

    /// Opens the folder that the way has come to.
    fn open_current(&self, flags: OFlags) -> Result<OpenedFile, Errno> {
        let file = openat(self.current_folder().0, ".", flags, Mode::empty())?;
        let stat = fstat(&file)?;
        Ok(OpenedFile { file, stat })
    }
}

impl fmt::Debug for FolderRoot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FolderRoot").field("path", &self.path).finish_non_exhaustive()
    }
}

impl fmt::Display for RootError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(why) => why.fmt(f),
            Self::Private => f.write_str(
                "this folder holds Tidegate's own keys, passwords or records, or lies among them",
            ),
        }
    }
}

impl std::error::Error for RootError {}

#[cfg(test)]
mod tests;
