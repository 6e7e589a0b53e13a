//! A site's small files in memory, each with its finished heads.
//!
//! Bounded in bytes; what is asked for most stays. A file is kept only if it did not change while
//! it was read, and is served only while nothing on its way has: the kernel tells (`watcher`), and
//! where it cannot, the file is looked at once a second. It decides nothing about requests. Called
//! by `look` and `negotiate`.

mod kept;
mod tree;
mod watcher;

pub(crate) use self::kept::KeptFile;
pub(crate) use self::watcher::FolderWatcher;

use self::kept::FileTrust;
use self::tree::ChangeMark;
use crate::answer::FileMeta;
use crate::path::PathTarget;
use crate::root::{FileFacts, FoundFile, FoundPath, NotOpened, SiteRoot};
use crate::rules::SiteRules;
use file_access::beneath::OpenFolder;
use http_engine::content;
use http_engine::encoding::{ContentCoding, PREFERENCE};
use quick_cache::sync::Cache;
use quick_cache::{Equivalent, Weighter};
use rustix::fd::OwnedFd;
use rustix::fs::fstat;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use vocab::{ByteSize, Now};

/// The largest file that is kept, in bytes: beyond, sending costs so much more than opening that
/// the memory does more good elsewhere.
pub(crate) const FILE_BYTES_MAX: u64 = 256 << 10;
/// Time for which a file is trusted that the kernel watches. It tells of every change but those
/// through a memory map that outlives its descriptor.
const WATCHED_TRUST_MS: u64 = 10_000;
/// Time for which a file is trusted that nobody watches.
const UNWATCHED_TRUST_MS: u64 = 1_000;
/// A file that nobody watches is kept once it has rested so long: the times of file systems have a
/// grain, within which a second change would leave no trace.
const SETTLED_MS: u64 = 2_000;

/// The files of one site.
pub(crate) struct FileStore {
    cache: Option<Cache<FormKey, Arc<KeptFile>, FormWeights>>,
    watcher: Arc<FolderWatcher>,
    /// The folder whose files are watched: a site's root may become another one.
    tree: AtomicU64,
}

/// Which of a file's forms it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum StoredForm {
    /// As it is on disk.
    Plain,
    /// What goes to those that like this coding best.
    Coded(ContentCoding),
}

/// Holds what a form is found by: the path of the URL as it was sent.
#[derive(Clone, PartialEq, Eq)]
struct FormKey {
    path: Box<str>,
    form: StoredForm,
}

/// The same, borrowed.
struct KeyRef<'k> {
    path: &'k str,
    form: StoredForm,
}

#[derive(Clone)]
struct FormWeights;

/// Holds what a file is kept under and served by.
pub(crate) struct ServedPlace<'p> {
    /// The path of the URL as it was sent.
    pub(crate) url: &'p str,
    pub(crate) form: StoredForm,
    /// The file below the root.
    pub(crate) file: &'p PathTarget,
    /// Files that would be served in its place if they were there, or whose change makes it void.
    pub(crate) before: &'p [PathTarget],
    /// A kept file that this one depends on.
    pub(crate) with: Option<&'p KeptFile>,
}

impl FileStore {
    /// An empty store of at most `memory`.
    pub(crate) fn new(memory: ByteSize, watcher: Arc<FolderWatcher>) -> Self {
        let bytes = memory.bytes();
        // Room in its tables for files of 16 KiB on average; they grow.
        let files = (bytes >> 14).clamp(16, 4096) as usize;
        let cache = (bytes > 0).then(|| Cache::with_weighter(files, bytes, FormWeights));
        Self { cache, watcher, tree: AtomicU64::new(u64::MAX) }
    }

    /// Returns what is kept under this path and may be served at this moment. One look-up; no
    /// system call, but for one look at the file when its trust has run out.
    pub(crate) fn get(
        &self,
        url: &str,
        form: StoredForm,
        root: &SiteRoot,
        now: Now,
    ) -> Option<Arc<KeptFile>> {
        let cache = self.cache.as_ref()?;
        let key = KeyRef { path: url, form };
        let kept = cache.get(&key)?;
        let open = root.current(now);
        if kept.is_trusted(&open, now) {
            return Some(kept);
        }
        if kept.is_unchanged(&open) && kept.check_unchanged(root, now) {
            kept.renew_trust(now);
            return Some(kept);
        }
        cache.remove_if(&key, |it| Arc::ptr_eq(it, &kept));
        None
    }

    /// Gives up every form of the file at this path.
    pub(crate) fn forget(&self, url: &str) {
        let Some(cache) = &self.cache else { return };
        let codings = PREFERENCE.map(StoredForm::Coded);
        for form in std::iter::once(StoredForm::Plain).chain(codings) {
            cache.remove(&KeyRef { path: url, form });
        }
    }

    /// Gives up every file.
    pub(crate) fn forget_all(&self) {
        if let Some(cache) = &self.cache {
            cache.clear();
        }
    }

    /// Reads a small file and keeps it, if that can be done at once and in safety. `seen` is what
    /// was found when it was opened.
    pub(crate) fn keep(
        &self,
        place: &ServedPlace<'_>,
        seen: &FoundFile,
        root: &SiteRoot,
        rules: &SiteRules,
        meta: impl FnOnce(FileFacts) -> FileMeta,
        now: Now,
    ) -> Option<Arc<KeptFile>> {
        let cache = self.cache.as_ref()?;
        if seen.facts.len > FILE_BYTES_MAX {
            return None;
        }
        let open = Arc::clone(&root.current(now));
        let before = self.tree.swap(open.id(), Relaxed);
        if before != open.id() {
            self.watcher.forget(before);
        }
        let (held, trust_ms) = self.watch_and_open(&open, place, seen, now)?;
        if place.form != StoredForm::Plain && held.marks.is_empty() {
            // One look at one file would not see the other change.
            return None;
        }
        let file = held.file.as_ref().unwrap_or(&seen.file);
        let body = content::read_now(file, 0, held.facts.len)?;
        // Changed while it was read: the next request may keep it.
        let after = FileFacts::new(&fstat(file).ok()?);
        let is_void = place.with.is_some_and(|kept| !kept.is_unchanged(&open));
        if is_void || after != held.facts || held.marks.iter().any(|mark| mark.is_changed()) {
            return None;
        }
        let meta = meta(held.facts);
        let trust = FileTrust::new(
            place.url,
            open.id(),
            place.file.clone(),
            held.facts,
            held.marks,
            trust_ms,
        );
        let kept = Arc::new(KeptFile::new(meta, body, rules).trusted(trust, now));
        cache.insert(FormKey { path: place.url.into(), form: place.form }, Arc::clone(&kept));
        Some(kept)
    }

    /// Keeps what `plain` becomes for those that like `coding` best, as long as the kernel tells
    /// that neither it nor one of `sides`, which would be sent in its place, has changed.
    pub(crate) fn keep_encoded(
        &self,
        plain: &KeptFile,
        coding: ContentCoding,
        sides: &[PathTarget],
        made: KeptFile,
        root: &SiteRoot,
        now: Now,
    ) -> Option<Arc<KeptFile>> {
        let cache = self.cache.as_ref()?;
        let open = root.current(now);
        let trust = plain.trust_of(&open).filter(|trust| trust.is_watched())?;
        let marks = self.watcher.watch_files(&open, sides.iter().map(PathTarget::path)).ok()?;
        // One that stands there already is another answer.
        let stands =
            |side: &PathTarget| root.find(side.path(), now).err() != Some(NotOpened::NotFound);
        if sides.iter().any(stands) {
            return None;
        }
        let kept = Arc::new(made.trusted(trust.with(&marks), now));
        let key = FormKey { path: trust.url().into(), form: StoredForm::Coded(coding) };
        cache.insert(key, Arc::clone(&kept));
        Some(kept)
    }

    /// Has the kernel watch the way to a file, and opens it again behind the watches, so that no
    /// change goes unseen; or takes it as it was seen, if it has rested long enough.
    fn watch_and_open(
        &self,
        open: &Arc<OpenFolder>,
        place: &ServedPlace<'_>,
        seen: &FoundFile,
        now: Now,
    ) -> Option<(HeldRead, u64)> {
        let facts = seen.facts;
        let files = place.before.iter().chain([place.file]).map(PathTarget::path);
        if facts.links == 1
            && self.watcher.can_watch(&seen.file)
            && let Ok(marks) = self.watcher.watch_files(open, files)
        {
            return match SiteRoot::find_plain(open, place.file.path()) {
                Ok(FoundPath::File(FoundFile { file, facts })) if facts.len <= FILE_BYTES_MAX => {
                    Some((HeldRead { file: Some(file), facts, marks }, WATCHED_TRUST_MS))
                }
                // A link on the way leads to where nobody watches.
                Err(NotOpened::NotFound) => if_settled(facts, now),
                Ok(FoundPath::File(_) | FoundPath::Folder) | Err(_) => None,
            };
        }
        if_settled(facts, now)
    }
}

/// A file about to be read.
struct HeldRead {
    /// Opened behind its watches; none if it was opened before.
    file: Option<OwnedFd>,
    facts: FileFacts,
    marks: Box<[Arc<ChangeMark>]>,
}

fn if_settled(facts: FileFacts, now: Now) -> Option<(HeldRead, u64)> {
    let changed_ms = facts.changed_secs * 1000 + u64::from(facts.changed_nanos / 1_000_000);
    (changed_ms.saturating_add(SETTLED_MS) < now.unix_ms)
        .then(|| (HeldRead { file: None, facts, marks: Box::default() }, UNWATCHED_TRUST_MS))
}

impl Drop for FileStore {
    fn drop(&mut self) {
        self.watcher.forget(self.tree.load(Relaxed));
    }
}

impl Weighter<FormKey, Arc<KeptFile>> for FormWeights {
    fn weight(&self, key: &FormKey, kept: &Arc<KeptFile>) -> u64 {
        key.path.len() as u64 + kept.weight()
    }
}

impl Hash for FormKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        KeyRef { path: &self.path, form: self.form }.hash(state);
    }
}

impl Hash for KeyRef<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.path.hash(state);
        self.form.hash(state);
    }
}

impl Equivalent<FormKey> for KeyRef<'_> {
    fn equivalent(&self, key: &FormKey) -> bool {
        self.path == &*key.path && self.form == key.form
    }
}
