//! One request as the file system sees it.

use crate::digests::ExpectedDigests;
use crate::fault::FaultNote;
use crate::rules::{PathRules, PathStanding};
use dav_server::davpath::DavPath;
use dav_server::fs::{FsError, FsResult};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use vocab::Now;

/// Purpose for which a request touches files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DavPurpose {
    /// `PUT` and `PATCH`: a body that is written.
    Upload,
    /// `LOCK`: a name that is locked before anything stands there gets an empty file.
    Lock,
    /// `COPY`: links to folders are left out, so that no way leads in a circle.
    Copy,
    /// `DELETE` where folders are not removed.
    RemoveFile,
    /// Everything else.
    Other,
}

/// One request: what it may touch, and what it said of its body.
#[derive(Clone)]
pub(crate) struct DavAsked {
    pub(crate) rules: Arc<dyn PathRules>,
    pub(crate) purpose: DavPurpose,
    /// A file that a `COPY` or `MOVE` replaces at one moment: nobody removes it before.
    pub(crate) replaced: Option<PathBuf>,
    pub(crate) digests: ExpectedDigests,
    pub(crate) fault: FaultNote,
    pub(crate) now: Now,
}

impl DavAsked {
    /// The path below the folder of what may be looked at.
    pub(crate) fn seen<'p>(&self, path: &'p DavPath) -> FsResult<&'p Path> {
        let below = path.as_rel_ospath();
        match self.rules.standing(below) {
            PathStanding::Open => Ok(below),
            PathStanding::Withheld | PathStanding::Guarded => Err(FsError::NotFound),
        }
    }

    /// The same of what may be changed.
    pub(crate) fn changed<'p>(&self, path: &'p DavPath) -> FsResult<&'p Path> {
        self.seen(path).map_err(|_| FsError::Forbidden)
    }
}
