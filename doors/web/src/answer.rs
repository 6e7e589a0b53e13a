//! The answer for a file: as much of it as the client asked for and has not (RFC 9110 §13 and §14).
//!
//! It judges preconditions and ranges and writes heads; it opens nothing. Both lanes, `request` and
//! `quick`, get their heads here, so that they cannot differ. Called by them and by `store`.

use crate::path::PathTarget;
use crate::root::FileFacts;
use crate::rules::SiteRules;
use crate::store::KeptFile;
use bytes::{Bytes, BytesMut};
use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE,
    ETAG, HeaderMap, HeaderValue, LAST_MODIFIED, X_CONTENT_TYPE_OPTIONS,
};
use http::{Method, Response, StatusCode, request};
use http_engine::conditional::{
    ETag, IfRange, Precondition, Validators, format_date, if_range, precondition,
};
use http_engine::content::{self, ContentSegment};
use http_engine::encoding::{CodingLevel, ContentCoding, coded_tag, vary};
use http_engine::multipart::MultipartAnswer;
use http_engine::range::{self, ByteRange, RangeSelections};
use http_engine::{Body, reply};
use rustix::fd::OwnedFd;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use vocab::Now;

/// Header of a film in FLV: signature, version 1, flags (sound and picture), the header's length,
/// and that of the tag before the first: none.
const FLV_HEADER: [u8; 13] = *b"FLV\x01\x05\0\0\0\x09\0\0\0\0";

/// Holds what heads say of a file.
#[derive(Clone)]
pub(crate) struct FileMeta {
    pub(crate) validators: Validators,
    pub(crate) etag: Option<HeaderValue>,
    pub(crate) len: u64,
    /// Facts of the file on disk, whatever form goes out.
    pub(crate) facts: FileFacts,
    pub(crate) media: HeaderValue,
    /// Path in decoded form, for the site's rules.
    pub(crate) path: Box<str>,
    /// Below the root.
    pub(crate) file: PathTarget,
    pub(crate) form: FileForm,
    /// Byte at which a film begins; a header comes before it.
    pub(crate) film_begin: Option<u64>,
    last_modified: HeaderValue,
}

/// In which form a file goes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileForm {
    /// As it is, whatever the client accepts.
    Identity,
    /// As it is, and there are others: `Vary` must say so.
    Negotiable,
    /// In this coding.
    Coded(ContentCoding),
}

/// Where the bytes of a file come from.
pub(crate) enum FileSource {
    Kept(Arc<KeptFile>),
    Open(OwnedFd, Box<FileMeta>),
    /// A coded form that is not kept ready to be sent.
    Coded(Bytes, Box<FileMeta>),
}

/// Tells how much of a file the client gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FileDue {
    /// Has it already.
    NotModified,
    /// Means another version.
    Failed,
    Whole,
    /// A header of a film, and the rest of it from this byte on.
    Film(u64),
    Part(ByteRange),
    Parts(Vec<ByteRange>),
    Unsatisfiable,
}

/// The head of an answer, and where its body stands.
pub(crate) struct FileHead {
    status: StatusCode,
    fields: HeaderMap,
    segments: Vec<ContentSegment>,
}

/// Tells what follows the head of an answer.
pub(crate) enum FilePayload {
    /// The response's own body, which is at hand.
    Buffered,
    /// The response's own body, which comes as it is made.
    Streaming,
    /// Segments of a file that is read as the client takes them.
    Content(OwnedFd, Vec<ContentSegment>),
}

impl FileMeta {
    pub(crate) fn new(facts: FileFacts, media: HeaderValue, path: &str, file: PathTarget) -> Self {
        let etag = ETag::strong(&facts.tag());
        Self {
            etag: etag.as_ref().map(ETag::to_value),
            validators: Validators { etag, modified_unix_secs: Some(facts.modified_secs) },
            len: facts.len,
            last_modified: format_date(facts.modified_secs),
            facts,
            media,
            path: path.into(),
            file,
            form: FileForm::Identity,
            film_begin: None,
        }
    }

    /// Head of these files together, as of one; none if there are none. Type and path are those of
    /// the first.
    pub(crate) fn joined(all: &[&Self]) -> Option<Self> {
        let first = *all.first()?;
        let newest = all.iter().max_by_key(|it| it.validators.modified_unix_secs)?;
        let mut tags = DefaultHasher::new();
        for it in all {
            it.etag.as_ref().map(HeaderValue::as_bytes).hash(&mut tags);
        }
        let etag = ETag::strong(&format!("joined-{:016x}", tags.finish()));
        let modified_unix_secs = newest.validators.modified_unix_secs;
        Some(Self {
            etag: etag.as_ref().map(ETag::to_value),
            validators: Validators { etag, modified_unix_secs },
            len: all.iter().map(|it| it.len).sum(),
            last_modified: newest.last_modified.clone(),
            form: FileForm::Identity,
            ..first.clone()
        })
    }

    /// The same of a form made from the file in which `form` tells it from others, as long as the
    /// file.
    pub(crate) fn tagged(&self, form: &str) -> Self {
        let mut tags = DefaultHasher::new();
        (self.etag.as_ref().map(HeaderValue::as_bytes), form).hash(&mut tags);
        let etag = ETag::strong(&format!("form-{:016x}", tags.finish()));
        let modified_unix_secs = self.validators.modified_unix_secs;
        Self {
            etag: etag.as_ref().map(ETag::to_value),
            validators: Validators { etag, modified_unix_secs },
            form: FileForm::Identity,
            ..self.clone()
        }
    }

    /// The same of a form made from the file: `len` bytes with a tag of their own.
    pub(crate) fn coded(&self, coding: ContentCoding, level: CodingLevel, len: u64) -> Self {
        let etag = self.validators.etag.as_ref().and_then(|tag| coded_tag(tag, coding, level));
        let modified_unix_secs = self.validators.modified_unix_secs;
        Self {
            etag: etag.as_ref().map(ETag::to_value),
            validators: Validators { etag, modified_unix_secs },
            len,
            form: FileForm::Coded(coding),
            ..self.clone()
        }
    }

    /// Returns how much of the file a request gets.
    pub(crate) fn select_response(&self, request: &request::Parts, now: Now) -> FileDue {
        let (method, headers) = (&request.method, &request.headers);
        match precondition(method, headers, &self.validators) {
            Precondition::NotModified => return FileDue::NotModified,
            Precondition::Failed => return FileDue::Failed,
            Precondition::Met => {}
        }
        if let Some(begin) = self.film_begin {
            // Ranges would be those of the film as it is on disk, or of this answer: none are said.
            return FileDue::Film(begin);
        }
        if if_range(headers, &self.validators, now.unix_secs()) == IfRange::Ignore {
            return FileDue::Whole;
        }
        match range::select_several(method, headers, self.len) {
            RangeSelections::Full => FileDue::Whole,
            RangeSelections::Part(part) => FileDue::Part(part),
            RangeSelections::Parts(parts) => FileDue::Parts(parts),
            RangeSelections::Unsatisfiable => FileDue::Unsatisfiable,
        }
    }

    /// The head of an answer, dressed by the site's rules.
    pub(crate) fn head(&self, due: &FileDue, rules: &SiteRules) -> FileHead {
        let mut fields = HeaderMap::with_capacity(10);
        if let Some(etag) = &self.etag {
            fields.insert(ETAG, etag.clone());
        }
        fields.insert(LAST_MODIFIED, self.last_modified.clone());
        fields.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        // RFC 9110 §15.4.5: a 304 says what the 200 would have said.
        if let Some(value) = rules.cache_control(&self.path)
            && !matches!(due, FileDue::Failed | FileDue::Unsatisfiable)
        {
            fields.insert(CACHE_CONTROL, value.clone());
        }
        let is_ranged = matches!(due, FileDue::Whole | FileDue::Part(_) | FileDue::Parts(_));
        if is_ranged {
            fields.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        }
        if is_ranged || matches!(due, FileDue::Film(_)) {
            fields.insert(CONTENT_TYPE, self.media.clone());
        }
        rules.apply_headers(&self.path, &mut fields);
        match self.form {
            FileForm::Identity => {}
            FileForm::Negotiable => vary(&mut fields),
            FileForm::Coded(coding) => {
                vary(&mut fields);
                if is_ranged {
                    fields.insert(CONTENT_ENCODING, coding.value());
                }
            }
        }
        let segments = match due {
            FileDue::Whole => vec![ContentSegment::File { offset: 0, len: self.len }],
            FileDue::Film(begin) => vec![
                ContentSegment::Bytes(Bytes::from_static(&FLV_HEADER)),
                ContentSegment::File { offset: *begin, len: self.len.saturating_sub(*begin) },
            ],
            FileDue::Part(part) => {
                fields.insert(CONTENT_RANGE, part.content_range());
                vec![ContentSegment::File { offset: part.first, len: part.len() }]
            }
            FileDue::Parts(parts) => {
                let laid_out = MultipartAnswer::new(parts, fields.get(CONTENT_TYPE));
                fields.insert(CONTENT_TYPE, laid_out.media);
                laid_out.segments.into_iter().map(ContentSegment::from).collect()
            }
            FileDue::Unsatisfiable => {
                fields.insert(CONTENT_RANGE, range::unsatisfied(self.len));
                Vec::new()
            }
            FileDue::NotModified | FileDue::Failed => Vec::new(),
        };
        let status = match due {
            FileDue::NotModified => StatusCode::NOT_MODIFIED,
            FileDue::Failed => StatusCode::PRECONDITION_FAILED,
            FileDue::Whole | FileDue::Film(_) => StatusCode::OK,
            FileDue::Part(_) | FileDue::Parts(_) => StatusCode::PARTIAL_CONTENT,
            FileDue::Unsatisfiable => StatusCode::RANGE_NOT_SATISFIABLE,
        };
        if status != StatusCode::NOT_MODIFIED {
            let len: u64 = segments.iter().map(ContentSegment::len).sum();
            fields.insert(CONTENT_LENGTH, HeaderValue::from(len));
        }
        FileHead { status, fields, segments }
    }
}

impl FileHead {
    /// As it goes out, but for `Date`, `Connection` and the empty line.
    pub(crate) fn written(&self) -> Box<[u8]> {
        let mut out = Vec::with_capacity(384);
        out.extend_from_slice(b"HTTP/1.1 ");
        out.extend_from_slice(self.status.as_str().as_bytes());
        out.push(b' ');
        out.extend_from_slice(self.status.canonical_reason().unwrap_or("").as_bytes());
        out.extend_from_slice(b"\r\n");
        for (name, value) in &self.fields {
            out.extend_from_slice(name.as_str().as_bytes());
            out.extend_from_slice(b": ");
            out.extend_from_slice(value.as_bytes());
            out.extend_from_slice(b"\r\n");
        }
        out.into()
    }
}

impl FileSource {
    pub(crate) fn meta(&self) -> &FileMeta {
        match self {
            Self::Kept(kept) => &kept.meta,
            Self::Open(_, meta) | Self::Coded(_, meta) => meta,
        }
    }

    /// The answer to a request for this file.
    pub(crate) fn send(
        self,
        request: &request::Parts,
        rules: &SiteRules,
        now: Now,
    ) -> (Response<Body>, FilePayload) {
        let head = self.meta().head(&self.meta().select_response(request, now), rules);
        let mut response = reply::empty(head.status);
        *response.headers_mut() = head.fields;
        if request.method == Method::HEAD || head.segments.is_empty() {
            return (response, FilePayload::Buffered);
        }
        match self {
            Self::Kept(kept) => {
                *response.body_mut() = Body::full(concat_segments(&kept.body, &head.segments));
            }
            Self::Coded(bytes, _) => {
                *response.body_mut() = Body::full(concat_segments(&bytes, &head.segments));
            }
            Self::Open(file, _) => {
                let [ContentSegment::File { offset, len }] = head.segments[..] else {
                    return (response, FilePayload::Content(file, head.segments));
                };
                match content::read_now(&file, offset, len) {
                    Some(bytes) => *response.body_mut() = Body::full(bytes),
                    None => return (response, FilePayload::Content(file, head.segments)),
                }
            }
        }
        (response, FilePayload::Buffered)
    }
}

/// The bytes of these segments of a file that is in memory.
fn concat_segments(file: &Bytes, segments: &[ContentSegment]) -> Bytes {
    let part = |offset: u64, len: u64| {
        let first = (offset as usize).min(file.len());
        file.slice(first..(first + len as usize).min(file.len()))
    };
    if let [ContentSegment::File { offset, len }] = segments {
        return part(*offset, *len);
    }
    let mut all = BytesMut::new();
    for segment in segments {
        match segment {
            ContentSegment::Bytes(bytes) => all.extend_from_slice(bytes),
            ContentSegment::File { offset, len } => all.extend_from_slice(&part(*offset, *len)),
        }
    }
    all.freeze()
}
