//! A file that a server names, sent in place of its answer.
//!
//! Whatever form its path has and whatever links stand in it, nothing outside the folder opens,
//! nothing private ([`file_access::beneath`]), and only regular files do. The head is the server's,
//! with what is known of the file where the server says nothing. Called by the parent module.

use super::{ConditionsLeft, OriginalRequest, check_conditions};
use crate::pages;
use file_access::beneath::{FolderRoot, OpenedFile, RootError, SymlinkPolicy};
use file_access::private_files::PrivateFiles;
use http::header::{
    ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderValue, LAST_MODIFIED,
};
use http::{Method, Response, StatusCode, response};
use http_engine::conditional::{ETag, format_date};
use http_engine::content::{ContentSegment, FileContent, read_now};
use http_engine::multipart::MultipartAnswer;
use http_engine::range::{RangeSelections, select_several, unsatisfied};
use http_engine::{Body, mime};
use rustix::fd::OwnedFd;
use rustix::fs::{FileType, OFlags, Stat};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use transport::clock;
use vocab::Now;

/// The folder below which servers may name files.
#[derive(Debug)]
pub(super) struct ReproxyFolder {
    /// As servers write it.
    path: PathBuf,
    root: FolderRoot,
}

/// An open file.
struct ReproxyFile {
    file: OwnedFd,
    len: u64,
    modified_secs: u64,
    etag: Option<ETag>,
}

impl ReproxyFolder {
    /// The folder at `path`. Fails if there is none, or a private one.
    pub(super) fn new(path: PathBuf, private: &Arc<PrivateFiles>) -> Result<Self, RootError> {
        let root =
            FolderRoot::open(&path, SymlinkPolicy::Inside, Arc::clone(private), clock::now())?;
        Ok(Self { path, root })
    }

    /// Opens what is named by its whole path.
    fn open(&self, path: &[u8], now: Now) -> Option<ReproxyFile> {
        let below = Path::new(OsStr::from_bytes(path)).strip_prefix(&self.path).ok()?;
        // A FIFO without a writer would have us wait.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let OpenedFile { file, stat } = self.root.open_beneath(below, flags, now).ok()?;
        let regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        regular.then(|| ReproxyFile::new(file, &stat))
    }

    /// The answer with the file at `path` in place of its body.
    pub(super) fn answer(
        &self,
        asked: &OriginalRequest,
        mut head: response::Parts,
        path: &[u8],
        expected: Option<u64>,
        now: Now,
    ) -> Response<Body> {
        let Some(opened) = self.open(path, now) else {
            return asked.reader().render_for(pages::no_route());
        };
        if expected.is_some_and(|expected| expected != opened.len) {
            return asked.reader().render_for(pages::reproxy_missing());
        }
        super::strip_body_fields(&mut head);
        opened.describe(&mut head, path);
        let due = match check_conditions(asked, &head, now) {
            ConditionsLeft::Answer(status) => {
                head.status = status;
                return Response::from_parts(head, Body::empty());
            }
            ConditionsLeft::Full => RangeSelections::Full,
            ConditionsLeft::Ranges => select_several(&asked.method, &asked.headers, opened.len),
        };
        opened.send(asked, head, &due)
    }
}

impl ReproxyFile {
    #[allow(
        clippy::cast_sign_loss,
        clippy::unnecessary_cast,
        reason = "the types of these fields differ between machines; a date before 1970 is as good as 1970"
    )]
    fn new(file: OwnedFd, stat: &Stat) -> Self {
        let (len, modified_secs) =
            (stat.st_size.max(0) as u64, (stat.st_mtime as i64).max(0) as u64);
        let nanos =
            u128::from(modified_secs) * 1_000_000_000 + u128::from(stat.st_mtime_nsec as u64);
        let etag = ETag::strong(&format!("{:x}-{len:x}-{nanos:x}", stat.st_ino));
        Self { file, len, modified_secs, etag }
    }

    /// Says of the file what the server has left unsaid.
    fn describe(&self, head: &mut response::Parts, path: &[u8]) {
        let media = || mime::of_path(Path::new(OsStr::from_bytes(path)));
        head.headers.entry(CONTENT_TYPE).or_insert_with(media);
        head.headers.entry(LAST_MODIFIED).or_insert_with(|| format_date(self.modified_secs));
        if let Some(etag) = &self.etag {
            head.headers.entry(ETAG).or_insert_with(|| etag.to_value());
        }
        head.headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    }

    fn send(
        self,
        asked: &OriginalRequest,
        mut head: response::Parts,
        due: &RangeSelections,
    ) -> Response<Body> {
        let segments = match due {
            RangeSelections::Full => vec![ContentSegment::File { offset: 0, len: self.len }],
            RangeSelections::Part(part) => {
                head.status = StatusCode::PARTIAL_CONTENT;
                head.headers.insert(CONTENT_RANGE, part.content_range());
                vec![ContentSegment::File { offset: part.first, len: part.len() }]
            }
            RangeSelections::Parts(parts) => {
                head.status = StatusCode::PARTIAL_CONTENT;
                let laid_out = MultipartAnswer::new(parts, head.headers.get(CONTENT_TYPE));
                head.headers.insert(CONTENT_TYPE, laid_out.media);
                laid_out.segments.into_iter().map(ContentSegment::from).collect()
            }
            RangeSelections::Unsatisfiable => {
                head.status = StatusCode::RANGE_NOT_SATISFIABLE;
                head.headers.insert(CONTENT_RANGE, unsatisfied(self.len));
                head.headers.remove(CONTENT_TYPE);
                Vec::new()
            }
        };
        let len: u64 = segments.iter().map(ContentSegment::len).sum();
        head.headers.insert(CONTENT_LENGTH, HeaderValue::from(len));
        let body = if asked.method == Method::HEAD { Body::empty() } else { self.body(segments) };
        Response::from_parts(head, body)
    }

    fn body(self, segments: Vec<ContentSegment>) -> Body {
        if let [ContentSegment::File { offset, len }] = segments[..]
            && let Some(bytes) = read_now(&self.file, offset, len)
        {
            return Body::full(bytes);
        }
        Body::boxed(FileContent::new(Arc::new(self.file), segments, |_| ()))
    }
}
