//! The answer for a file: as much of it as the client asked for and has not (RFC 9110 §13 and §14).
//!
//! It judges preconditions and ranges and writes heads; it opens nothing. Both lanes, `request` and
//! `quick`, get their heads here, so that they cannot differ. Called by them and by `store`.

use crate::path::Target;
use crate::root::Facts;
use crate::rules::Rules;
use crate::store::Kept;
use bytes::{Bytes, BytesMut};
use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE,
    ETAG, HeaderMap, HeaderValue, LAST_MODIFIED, X_CONTENT_TYPE_OPTIONS,
};
use http::{Method, Response, StatusCode, request};
use http_engine::conditional::{
    ETag, IfRange, Precondition, Validators, format_date, if_range, precondition,
};
use http_engine::content::{self, Segment};
use http_engine::encoding::{Coding, Level, coded_tag, vary};
use http_engine::multipart::Multipart;
use http_engine::range::{self, ByteRange, Selections};
use http_engine::{Body, reply};
use rustix::fd::OwnedFd;
use std::sync::Arc;
use vocab::Now;

/// What heads say of a file.
#[derive(Clone)]
pub(crate) struct Meta {
    pub(crate) validators: Validators,
    pub(crate) etag: Option<HeaderValue>,
    pub(crate) len: u64,
    /// Those of the file on disk, whatever form goes out.
    pub(crate) facts: Facts,
    pub(crate) media: HeaderValue,
    /// Its path in decoded form, for the site's rules.
    pub(crate) path: Box<str>,
    /// Below the root.
    pub(crate) file: Target,
    pub(crate) form: Form,
    last_modified: HeaderValue,
}

/// In which form a file goes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As it is, whatever the client accepts.
    Plain,
    /// As it is, and there are others: `Vary` must say so.
    Negotiable,
    /// In this coding.
    Coded(Coding),
}

/// Where the bytes of a file come from.
pub(crate) enum Source {
    Kept(Arc<Kept>),
    Open(OwnedFd, Box<Meta>),
    /// A coded form that is not kept ready to be sent.
    Coded(Bytes, Box<Meta>),
}

/// How much of a file the client gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// It has it already.
    NotModified,
    /// It means another version.
    Failed,
    Whole,
    Part(ByteRange),
    Parts(Vec<ByteRange>),
    Unsatisfiable,
}

/// The head of an answer, and where its body stands.
pub(crate) struct Head {
    status: StatusCode,
    fields: HeaderMap,
    segments: Vec<Segment>,
}

/// What follows the head of an answer.
pub(crate) enum Payload {
    /// The response's own body, which is at hand.
    AtHand,
    /// The response's own body, which comes as it is made.
    Flowing,
    /// Segments of a file that is read as the client takes them.
    Content(OwnedFd, Vec<Segment>),
}

impl Meta {
    /// The tag is strong: a file's inode, size or time (to the grain of the file system's clock)
    /// changes with its bytes.
    pub(crate) fn new(facts: Facts, media: HeaderValue, path: &str, file: Target) -> Self {
        let nanos =
            u128::from(facts.modified_secs) * 1_000_000_000 + u128::from(facts.modified_nanos);
        let etag = ETag::strong(&format!("{:x}-{:x}-{nanos:x}", facts.inode, facts.len));
        Self {
            etag: etag.as_ref().map(ETag::to_value),
            validators: Validators { etag, modified_unix_secs: Some(facts.modified_secs) },
            len: facts.len,
            last_modified: format_date(facts.modified_secs),
            facts,
            media,
            path: path.into(),
            file,
            form: Form::Plain,
        }
    }

    /// The same of a form made from the file: `len` bytes with a tag of their own.
    pub(crate) fn coded(&self, coding: Coding, level: Level, len: u64) -> Self {
        let etag = self.validators.etag.as_ref().and_then(|tag| coded_tag(tag, coding, level));
        let modified_unix_secs = self.validators.modified_unix_secs;
        Self {
            etag: etag.as_ref().map(ETag::to_value),
            validators: Validators { etag, modified_unix_secs },
            len,
            form: Form::Coded(coding),
            ..self.clone()
        }
    }

    /// How much of the file a request gets.
    pub(crate) fn due(&self, request: &request::Parts, now: Now) -> Due {
        let (method, headers) = (&request.method, &request.headers);
        match precondition(method, headers, &self.validators) {
            Precondition::NotModified => return Due::NotModified,
            Precondition::Failed => return Due::Failed,
            Precondition::Met => {}
        }
        if if_range(headers, &self.validators, now.unix_secs()) == IfRange::Ignore {
            return Due::Whole;
        }
        match range::select_several(method, headers, self.len) {
            Selections::Whole => Due::Whole,
            Selections::Part(part) => Due::Part(part),
            Selections::Parts(parts) => Due::Parts(parts),
            Selections::Unsatisfiable => Due::Unsatisfiable,
        }
    }

    /// The head of an answer, dressed by the site's rules.
    pub(crate) fn head(&self, due: &Due, rules: &Rules) -> Head {
        let mut fields = HeaderMap::with_capacity(10);
        if let Some(etag) = &self.etag {
            fields.insert(ETAG, etag.clone());
        }
        fields.insert(LAST_MODIFIED, self.last_modified.clone());
        fields.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        // RFC 9110 §15.4.5: a 304 says what the 200 would have said.
        if let Some(value) = rules.cache_control(&self.path)
            && !matches!(due, Due::Failed | Due::Unsatisfiable)
        {
            fields.insert(CACHE_CONTROL, value.clone());
        }
        if matches!(due, Due::Whole | Due::Part(_) | Due::Parts(_)) {
            fields.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
            fields.insert(CONTENT_TYPE, self.media.clone());
        }
        rules.dress(&self.path, &mut fields);
        match self.form {
            Form::Plain => {}
            Form::Negotiable => vary(&mut fields),
            Form::Coded(coding) => {
                vary(&mut fields);
                if matches!(due, Due::Whole | Due::Part(_) | Due::Parts(_)) {
                    fields.insert(CONTENT_ENCODING, coding.value());
                }
            }
        }
        let segments = match due {
            Due::Whole => vec![Segment::File { offset: 0, len: self.len }],
            Due::Part(part) => {
                fields.insert(CONTENT_RANGE, part.content_range());
                vec![Segment::File { offset: part.first, len: part.len() }]
            }
            Due::Parts(parts) => {
                let laid_out = Multipart::new(parts, fields.get(CONTENT_TYPE));
                fields.insert(CONTENT_TYPE, laid_out.media);
                laid_out.pieces.into_iter().map(Segment::from).collect()
            }
            Due::Unsatisfiable => {
                fields.insert(CONTENT_RANGE, range::unsatisfied(self.len));
                Vec::new()
            }
            Due::NotModified | Due::Failed => Vec::new(),
        };
        let status = match due {
            Due::NotModified => StatusCode::NOT_MODIFIED,
            Due::Failed => StatusCode::PRECONDITION_FAILED,
            Due::Whole => StatusCode::OK,
            Due::Part(_) | Due::Parts(_) => StatusCode::PARTIAL_CONTENT,
            Due::Unsatisfiable => StatusCode::RANGE_NOT_SATISFIABLE,
        };
        if status != StatusCode::NOT_MODIFIED {
            let len: u64 = segments.iter().map(Segment::len).sum();
            fields.insert(CONTENT_LENGTH, HeaderValue::from(len));
        }
        Head { status, fields, segments }
    }
}

impl Head {
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

impl Source {
    pub(crate) fn meta(&self) -> &Meta {
        match self {
            Self::Kept(kept) => &kept.meta,
            Self::Open(_, meta) | Self::Coded(_, meta) => meta,
        }
    }

    /// The answer to a request for this file.
    pub(crate) fn send(
        self,
        request: &request::Parts,
        rules: &Rules,
        now: Now,
    ) -> (Response<Body>, Payload) {
        let head = self.meta().head(&self.meta().due(request, now), rules);
        let mut response = reply::empty(head.status);
        *response.headers_mut() = head.fields;
        if request.method == Method::HEAD || head.segments.is_empty() {
            return (response, Payload::AtHand);
        }
        match self {
            Self::Kept(kept) => {
                *response.body_mut() = Body::full(gathered(&kept.body, &head.segments));
            }
            Self::Coded(bytes, _) => {
                *response.body_mut() = Body::full(gathered(&bytes, &head.segments));
            }
            Self::Open(file, _) => {
                let [Segment::File { offset, len }] = head.segments[..] else {
                    return (response, Payload::Content(file, head.segments));
                };
                match content::read_now(&file, offset, len) {
                    Some(bytes) => *response.body_mut() = Body::full(bytes),
                    None => return (response, Payload::Content(file, head.segments)),
                }
            }
        }
        (response, Payload::AtHand)
    }
}

/// The bytes of these segments of a file that is in memory.
fn gathered(file: &Bytes, segments: &[Segment]) -> Bytes {
    let part = |offset: u64, len: u64| {
        let first = (offset as usize).min(file.len());
        file.slice(first..(first + len as usize).min(file.len()))
    };
    if let [Segment::File { offset, len }] = segments {
        return part(*offset, *len);
    }
    let mut all = BytesMut::new();
    for segment in segments {
        match segment {
            Segment::Bytes(bytes) => all.extend_from_slice(bytes),
            Segment::File { offset, len } => all.extend_from_slice(&part(*offset, *len)),
        }
    }
    all.freeze()
}
