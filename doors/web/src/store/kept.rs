//! One small file in memory: its bytes, its heads as they go out, and how long it may be trusted.
//!
//! Immutable, but for the moment up to which it is trusted. Made by `store` and `negotiate`,
//! judged by `store`, sent by `answer` and `quick`.

use super::tree::ChangeMark;
use crate::answer::{FileDue, FileMeta};
use crate::path::PathTarget;
use crate::root::{FileFacts, FoundPath, SiteRoot};
use crate::rules::SiteRules;
use bytes::Bytes;
use file_access::beneath::OpenFolder;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use vocab::Now;

/// What a file takes beside its bytes and heads: its fields, marks and places in tables.
const OVERHEAD_BYTES: u64 = 1024;

/// A file, ready to be sent.
pub(crate) struct KeptFile {
    pub(crate) meta: FileMeta,
    pub(crate) body: Bytes,
    /// The head of a 200 but for `Date`, `Connection` and the empty line.
    pub(crate) head: Box<[u8]>,
    /// The same of a 304.
    pub(crate) head_not_modified: Box<[u8]>,
    trust: Option<FileTrust>,
}

/// Holds what the file was when it was read, and who tells if it is no longer.
pub(crate) struct FileTrust {
    /// The path of the URL as it was sent.
    url: Box<str>,
    folder: u64,
    file: PathTarget,
    facts: FileFacts,
    marks: Box<[Arc<ChangeMark>]>,
    /// Monotonic.
    until_ms: AtomicU64,
    for_ms: u64,
}

impl FileTrust {
    /// Trust in a file of `folder`, asked for as `url`, for so long at a time.
    pub(crate) fn new(
        url: &str,
        folder: u64,
        file: PathTarget,
        facts: FileFacts,
        marks: Box<[Arc<ChangeMark>]>,
        for_ms: u64,
    ) -> Self {
        Self { url: url.into(), folder, file, facts, marks, until_ms: AtomicU64::new(0), for_ms }
    }

    /// The same, which ends with these marks too.
    pub(crate) fn with(&self, marks: &[Arc<ChangeMark>]) -> Self {
        let marks = self.marks.iter().chain(marks).cloned().collect();
        Self::new(&self.url, self.folder, self.file.clone(), self.facts, marks, self.for_ms)
    }

    /// True if the kernel tells of changes.
    pub(crate) fn is_watched(&self) -> bool {
        !self.marks.is_empty()
    }

    /// The path of the URL as it was sent.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

impl KeptFile {
    /// A file of these bytes, with its heads written.
    pub(crate) fn new(meta: FileMeta, body: Bytes, rules: &SiteRules) -> Self {
        let head = meta.head(&FileDue::Whole, rules).written();
        let head_not_modified = meta.head(&FileDue::NotModified, rules).written();
        Self { meta, body, head, head_not_modified, trust: None }
    }

    /// The same, to be trusted from now.
    pub(crate) fn trusted(mut self, trust: FileTrust, now: Now) -> Self {
        self.trust = Some(trust);
        self.renew_trust(now);
        self
    }

    /// The path of the URL that it is kept under.
    pub(crate) fn url(&self) -> Option<&str> {
        self.trust.as_ref().map(FileTrust::url)
    }

    /// Why it is trusted, while nobody has told of a change.
    pub(crate) fn trust_of(&self, open: &OpenFolder) -> Option<&FileTrust> {
        self.trust.as_ref().filter(|_| self.is_unchanged(open))
    }

    /// True if nobody has told of a change, and the last look at the file is not long past.
    pub(crate) fn is_trusted(&self, open: &OpenFolder, now: Now) -> bool {
        self.trust.as_ref().is_some_and(|trust| now.mono_ms < trust.until_ms.load(Relaxed))
            && self.is_unchanged(open)
    }

    /// True if nobody has told of a change, and the site's folder is the same.
    pub(crate) fn is_unchanged(&self, open: &OpenFolder) -> bool {
        self.trust.as_ref().is_some_and(|trust| {
            trust.folder == open.id() && !trust.marks.iter().any(|mark| mark.is_changed())
        })
    }

    /// True if the file is what it was: one look at it.
    pub(crate) fn check_unchanged(&self, root: &SiteRoot, now: Now) -> bool {
        self.trust.as_ref().is_some_and(|trust| match root.find(trust.file.path(), now) {
            Ok(FoundPath::File(opened)) => opened.facts == trust.facts,
            Ok(FoundPath::Folder) | Err(_) => false,
        })
    }

    /// The file was looked at and is what it was.
    pub(crate) fn renew_trust(&self, now: Now) {
        if let Some(trust) = &self.trust {
            trust.until_ms.store(now.mono_ms.saturating_add(trust.for_ms), Relaxed);
        }
    }

    /// The memory that it takes, about, in bytes.
    pub(crate) fn weight(&self) -> u64 {
        let heads = self.head.len() + self.head_not_modified.len();
        (self.body.len() + 2 * heads) as u64 + OVERHEAD_BYTES
    }
}
