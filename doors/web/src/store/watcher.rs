//! The thread that hears from the kernel which files have changed (inotify).
//!
//! One for a door, with one inotify instance for all its sites. It reads no file. At a limit, or
//! where the kernel hears nothing (network file systems), it says so and the store looks for
//! itself. Called by `store`.

use super::tree::{ChangeMark, NotWatched, Watch, WatchTrees};
use file_access::beneath::OpenFolder;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fd::OwnedFd;
use rustix::fs::fstatfs;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::{Errno, write};
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Everything by which a file, or what stands at its name, can become another.
const EVENTS: WatchFlags = WatchFlags::MODIFY
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::EXCL_UNLINK)
    .union(WatchFlags::ONLYDIR)
    .union(WatchFlags::DONT_FOLLOW);
/// Events that are read at once: a few hundred.
const EVENT_BYTES: usize = 16 << 10;
/// File systems whose files change on other machines or by other programs without a word to this
/// kernel (statfs(2)): NFS, SMB, CIFS, SMB2, FUSE, 9P, AFS, Ceph, GFS2, OCFS2, Coda.
const UNWATCHABLE: [u32; 11] = [
    0x6969,
    0x517B,
    0xFF53_4D42,
    0xFE53_4D42,
    0x6573_5546,
    0x0102_1997,
    0x5346_414F,
    0x00C3_6400,
    0x0116_1970,
    0x7461_636F,
    0x7375_7245,
];

/// Watches the folders of all sites.
pub(crate) struct FolderWatcher {
    shared: Option<Arc<WatchShared>>,
    thread: Option<JoinHandle<()>>,
}

struct WatchShared {
    inotify: OwnedFd,
    stop: OwnedFd,
    trees: Mutex<WatchTrees>,
    is_deaf: AtomicBool,
}

impl FolderWatcher {
    /// Starts watching; if the kernel does not let us, nothing is watched.
    pub(crate) fn start() -> Arc<Self> {
        Arc::new(Self::try_start().unwrap_or(Self { shared: None, thread: None }))
    }

    /// One that watches nothing.
    pub(crate) fn off() -> Arc<Self> {
        Arc::new(Self { shared: None, thread: None })
    }

    fn try_start() -> Option<Self> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
        let stop = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok()?;
        let heard =
            Arc::new(WatchShared { inotify, stop, trees: Mutex::default(), is_deaf: false.into() });
        let listening = Arc::clone(&heard);
        let thread = std::thread::Builder::new()
            .name("web-watch".into())
            .spawn(move || listening.listen())
            .ok()?;
        Some(Self { shared: Some(heard), thread: Some(thread) })
    }

    /// True if the kernel hears of every change to this file's file system.
    pub(crate) fn can_watch(&self, file: &OwnedFd) -> bool {
        #[allow(clippy::cast_sign_loss, clippy::unnecessary_cast, reason = "a magic number: bits")]
        let known = fstatfs(file).is_ok_and(|it| !UNWATCHABLE.contains(&(it.f_type as u32)));
        self.shared.is_some() && known
    }

    /// Watches the way to each of these files, and gives their marks. A change after this call sets
    /// one of them, within the moment that the thread takes to hear of it.
    pub(crate) fn watch_files<'f>(
        &self,
        open: &OpenFolder,
        files: impl Iterator<Item = &'f Path>,
    ) -> Result<Box<[Arc<ChangeMark>]>, NotWatched> {
        let heard = self.shared.as_ref().ok_or(NotWatched::Impossible)?;
        let mut watch = |below: &Path| heard.watch(&open.path_of(below));
        let mut trees = heard.trees();
        // Asked under the lock, which is taken once more after the thread has said so.
        if heard.is_deaf.load(Relaxed) {
            return Err(NotWatched::Impossible);
        }
        files.map(|file| trees.watch_path(open.id(), file, &mut watch)).collect()
    }

    /// Forgets the folders of a site that is gone, or whose root is another now.
    pub(crate) fn forget(&self, root: u64) {
        if let Some(heard) = &self.shared {
            let needless = heard.trees().forget(root);
            heard.unwatch(&needless);
        }
    }
}

impl Drop for FolderWatcher {
    fn drop(&mut self) {
        if let Some(heard) = &self.shared {
            // It cannot be full: nobody else writes to it.
            let _ = write(&heard.stop, &1u64.to_ne_bytes());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl WatchShared {
    /// The lock is never held while a thread could panic over half a change.
    fn trees(&self) -> MutexGuard<'_, WatchTrees> {
        self.trees.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watch(&self, folder: &Path) -> Result<Watch, NotWatched> {
        inotify::add_watch(&self.inotify, folder, EVENTS).map_err(|why| match why {
            Errno::NOSPC | Errno::NOMEM => NotWatched::Full,
            _ => NotWatched::Impossible,
        })
    }

    fn unwatch(&self, needless: &[Watch]) {
        for watch in needless {
            // The kernel has dropped the watch of a folder that is gone.
            let _ = inotify::remove_watch(&self.inotify, *watch);
        }
    }

    fn listen(&self) {
        loop {
            let mut ready =
                [PollFd::new(&self.stop, PollFlags::IN), PollFd::new(&self.inotify, PollFlags::IN)];
            match poll(&mut ready, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return self.distrust_all(),
            }
            if !ready[0].revents().is_empty() {
                return;
            }
            if !self.read_events() {
                return self.distrust_all();
            }
        }
    }

    /// Takes what the kernel has to tell. False if it tells nothing any more.
    fn read_events(&self) -> bool {
        let mut buffer = [MaybeUninit::uninit(); EVENT_BYTES];
        let mut reader = inotify::Reader::new(&self.inotify, &mut buffer);
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::AGAIN) => return true,
                Err(Errno::INTR) => continue,
                Err(_) => return false,
            };
            let (watch, kinds) = (event.wd(), event.events());
            let mut trees = self.trees();
            let needless = if kinds.contains(ReadFlags::QUEUE_OVERFLOW) {
                trees.forget_all()
            } else if let Some(name) = event.file_name() {
                trees.changed(watch, OsStr::from_bytes(name.to_bytes()))
            } else if kinds.intersects(ENDED) {
                trees.remove(watch)
            } else {
                Vec::new()
            };
            // Within the lock: a number that is given back may be given out again.
            self.unwatch(&needless);
        }
    }

    /// Nothing that is kept can be trusted by its marks any more.
    fn distrust_all(&self) {
        self.is_deaf.store(true, Relaxed);
        let needless = self.trees().forget_all();
        self.unwatch(&needless);
    }
}

/// A folder itself is not what or where it was.
const ENDED: ReadFlags = ReadFlags::DELETE_SELF
    .union(ReadFlags::MOVE_SELF)
    .union(ReadFlags::UNMOUNT)
    .union(ReadFlags::IGNORED);
