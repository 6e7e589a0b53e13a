//! Files that no door serves: the state folder, the configuration, keys and password files.
//!
//! A file is known by device and inode, so that a link or another spelling of its path is refused
//! like the file itself; and by its folder and name, so that a file which an editor or a renewal
//! puts in its place is refused from its first moment. The binary names the paths;
//! [`crate::beneath`] asks about every folder on its way and about what it opens.

use arc_swap::{ArcSwap, Guard};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags, Stat, fstat, openat};
use rustix::io::Errno;
use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use vocab::Now;

/// Private paths are looked up again so often. Their names hold at every moment; only what other
/// names a new file may have been given (hard links) is found so late.
const LOOK_UP_AFTER_MS: u64 = 1_000;
/// Files directly in a private folder that are known by their own identity too.
const CHILDREN_MAX: usize = 64;
/// Endings of files that programs leave beside another one with the same content: journals of
/// SQLite, copies of editors and package managers.
const COMPANION_ENDINGS: [&str; 12] = [
    "",
    "~",
    "-wal",
    "-shm",
    "-journal",
    ".bak",
    ".old",
    ".orig",
    ".save",
    ".new",
    ".swp",
    ".dpkg-old",
];

/// Device and inode of a file: the same under every name that the file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileIdentity {
    device: u64,
    inode: u64,
}

/// Paths of what is not served, absolute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrivatePaths {
    /// Files, and folders with everything below them. A path where nothing stands yet counts as
    /// well.
    pub private: Vec<PathBuf>,
    /// Folders inside private ones that may be served as a root of their own.
    pub public: Vec<PathBuf>,
}

impl PrivatePaths {
    /// Both these paths and `more`.
    #[must_use]
    pub fn with(&self, more: &Self) -> Self {
        let mut both = self.clone();
        let new = more.private.iter().filter(|path| !self.private.contains(path));
        both.private.extend(new.cloned());
        let new = more.public.iter().filter(|path| !self.public.contains(path));
        both.public.extend(new.cloned());
        both
    }
}

/// Private paths as they were found on disk.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PrivateSet {
    private: HashSet<FileIdentity>,
    public: HashSet<FileIdentity>,
    /// Names by the folder they stand in.
    names: HashMap<FileIdentity, Vec<OsString>>,
    /// Number of replacements of the paths.
    generation: u64,
}

/// The private paths of the running program, shared by all doors that open files.
#[derive(Debug, Default)]
pub struct PrivateFiles {
    paths: ArcSwap<PrivatePaths>,
    set: ArcSwap<PrivateSet>,
    looked_up_ms: AtomicU64,
}

impl FileIdentity {
    /// Identity of a file whose `stat` this is.
    #[allow(clippy::useless_conversion, reason = "the types differ between machines")]
    pub fn of(stat: &Stat) -> Self {
        Self { device: u64::from(stat.st_dev), inode: u64::from(stat.st_ino) }
    }

    fn at(path: &Path) -> Option<Self> {
        let found = std::fs::metadata(path).ok()?;
        Some(Self { device: found.dev(), inode: found.ino() })
    }
}

impl PrivateFiles {
    /// Private files at these paths.
    pub fn new(paths: PrivatePaths) -> Self {
        let set = ArcSwap::from_pointee(PrivateSet::look_up(&paths, 0));
        Self { paths: ArcSwap::from_pointee(paths), set, looked_up_ms: AtomicU64::new(0) }
    }

    /// The paths that are private now.
    pub fn paths(&self) -> Arc<PrivatePaths> {
        self.paths.load_full()
    }

    /// Makes these paths private in place of those before. Files that doors hold in memory are
    /// looked at again within a second.
    pub fn replace(&self, paths: PrivatePaths) {
        if paths == **self.paths.load() {
            return;
        }
        let set = PrivateSet::look_up(&paths, self.set.load().generation + 1);
        self.paths.store(Arc::new(paths));
        self.set.store(Arc::new(set));
    }

    /// `true` where a private path lies in `folder`, a real path, or is it: who moves that folder
    /// moves what is private.
    pub fn lie_in(&self, folder: &Path) -> bool {
        self.paths.load().private.iter().any(|path| {
            path.starts_with(folder) || path.canonicalize().is_ok_and(|it| it.starts_with(folder))
        })
    }

    /// Looks the paths up again: files were made there.
    pub fn refresh(&self) {
        let known = self.set.load_full();
        let fresh = PrivateSet::look_up(&self.paths.load(), known.generation);
        if fresh != *known {
            // A reload that came in between knows better.
            self.set.compare_and_swap(&known, Arc::new(fresh));
        }
    }

    /// The paths as they were found last.
    pub(crate) fn snapshot(&self) -> Guard<Arc<PrivateSet>> {
        self.set.load()
    }

    /// The paths as they stand on disk, looked up again once a second.
    pub(crate) fn current(&self, now: Now) -> Guard<Arc<PrivateSet>> {
        let looked_up = self.looked_up_ms.load(Relaxed);
        if now.mono_ms >= looked_up.saturating_add(LOOK_UP_AFTER_MS)
            // One thread of several looks.
            && self.looked_up_ms.compare_exchange(looked_up, now.mono_ms, Relaxed, Relaxed).is_ok()
        {
            self.refresh();
        }
        self.snapshot()
    }
}

impl PrivateSet {
    /// Looks the paths up. A path that this user cannot reach is known by its name alone: no door
    /// can open what stands there either.
    fn look_up(paths: &PrivatePaths, generation: u64) -> Self {
        let mut set = Self { generation, ..Self::default() };
        for path in &paths.private {
            set.private.extend(FileIdentity::at(path));
            set.private.extend(files_in(path));
            set.name(path);
            // The name that a link leads to is refused like the link's own.
            if let Ok(real) = std::fs::canonicalize(path)
                && real != *path
            {
                set.name(&real);
            }
        }
        set.public.extend(paths.public.iter().filter_map(|path| FileIdentity::at(path)));
        set
    }

    fn name(&mut self, path: &Path) {
        if let (Some(folder), Some(name)) = (path.parent(), path.file_name())
            && let Some(folder) = FileIdentity::at(folder)
        {
            let names = self.names.entry(folder).or_default();
            if names.iter().all(|known| known != name) {
                names.push(name.into());
            }
        }
    }

    /// `true` for a private file or folder: `identity` is what was found under `name` in `folder`.
    pub fn contains(&self, folder: FileIdentity, name: &OsStr, identity: FileIdentity) -> bool {
        self.private.contains(&identity)
            || self.names.get(&folder).is_some_and(|names| {
                let ending = |known: &OsString| name.as_bytes().strip_prefix(known.as_bytes());
                let is_companion = |ending: &[u8]| {
                    COMPANION_ENDINGS.iter().any(|companion| companion.as_bytes() == ending)
                };
                names.iter().filter_map(ending).any(is_companion)
            })
    }

    /// A number that changes with the private paths, and not with what stands there.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// `true` for a folder that is private itself, as far as its own identity tells.
    pub(crate) fn contains_folder(&self, identity: FileIdentity) -> bool {
        self.private.contains(&identity)
    }

    /// `true` for a folder that must not be a root: private, or inside a private folder.
    pub(crate) fn is_private_root(&self, folder: &impl AsFd) -> Result<bool, Errno> {
        let mut identity = FileIdentity::of(&fstat(folder)?);
        let mut above: Option<OwnedFd> = None;
        loop {
            if self.public.contains(&identity) {
                return Ok(false);
            }
            if self.private.contains(&identity) {
                return Ok(true);
            }
            let here = above.as_ref().map_or(folder.as_fd(), |above| above.as_fd());
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let parent = openat(here, "..", flags, Mode::empty())?;
            let of_parent = FileIdentity::of(&fstat(&parent)?);
            if of_parent == identity {
                return Ok(false);
            }
            (identity, above) = (of_parent, Some(parent));
        }
    }
}

/// The files directly in a folder: a hard link to one of them is refused wherever it lies.
fn files_in(folder: &Path) -> impl Iterator<Item = FileIdentity> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(CHILDREN_MAX);
    let found = entries.filter_map(|entry| entry.metadata().ok());
    let files = found.filter(std::fs::Metadata::is_file);
    files.map(|file| FileIdentity { device: file.dev(), inode: file.ino() })
}
