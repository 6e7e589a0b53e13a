//! What is sent of a stored response: all of it, a part, several parts, or that nothing has
//! changed.
//!
//! The client's conditions and ranges are judged here and nowhere else. It stores and fetches
//! nothing. Called by the exchange.

use crate::reading::StoredContent;
use http::header::{
    AGE, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_LOCATION, CONTENT_RANGE, CONTENT_TYPE, DATE, ETAG,
    EXPIRES, HeaderMap, HeaderName, HeaderValue, LAST_MODIFIED, VARY,
};
use http::{Method, Response, StatusCode};
use http_engine::Body;
use http_engine::conditional::{self, ETag, IfRange, Precondition, Validators};
use http_engine::range::{self, ByteRange, RangeSelections};
use http_freshness::{RequestFacts, StoredHead};
use store::StoredEntry;

/// What a 304 repeats of the stored head (RFC 9110 §15.4.5).
static REPEATED: [HeaderName; 7] =
    [CACHE_CONTROL, CONTENT_LOCATION, DATE, ETAG, EXPIRES, VARY, LAST_MODIFIED];

/// The request, as far as it shapes the answer.
pub(crate) struct ShapeRequest<'a> {
    pub(crate) method: &'a Method,
    pub(crate) fields: &'a HeaderMap,
    pub(crate) unix_secs: u64,
}

/// An answer with the stored head and of the stored body what was asked for. `age_secs` is set as
/// `Age`; without it, it stays as it came.
pub(crate) fn shape(
    asked: &ShapeRequest<'_>,
    head: &StoredHead,
    age_secs: Option<u32>,
    content: StoredContent,
) -> Response<Body> {
    let mut response = select(asked, head, content);
    if let Some(age_secs) = age_secs {
        response.headers_mut().insert(AGE, HeaderValue::from(age_secs));
    }
    response
}

/// True if the front that is stored holds all that is due for a request.
pub(crate) fn prefix_covers(asked: &RequestFacts<'_>, front: &StoredEntry) -> bool {
    let (head, there) = (front.head(), front.content().len());
    let unix_secs = asked.now.unix_secs();
    let asked = ShapeRequest { method: asked.method, fields: asked.fields, unix_secs };
    match select_response(&asked, head, complete_length(head)) {
        DueResponse::Full => asked.method == Method::HEAD,
        DueResponse::NotModified | DueResponse::Unsatisfiable(_) => true,
        DueResponse::Part(part) => part.last < there,
        DueResponse::Parts(parts) => parts.iter().all(|part| part.last < there),
    }
}

/// The length of the whole body, as its head has it.
pub(crate) fn complete_length(head: &StoredHead) -> Option<u64> {
    head.fields.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Tells what of a stored response is due.
enum DueResponse {
    Full,
    NotModified,
    Part(ByteRange),
    Parts(Vec<ByteRange>),
    /// Nothing of a body of so many bytes.
    Unsatisfiable(u64),
}

fn select_response(
    asked: &ShapeRequest<'_>,
    head: &StoredHead,
    length: Option<u64>,
) -> DueResponse {
    if head.status != StatusCode::OK {
        return DueResponse::Full;
    }
    let current = validators(head);
    // Conditions on what the origin should change were sent on to it; these two are left.
    if conditional::precondition(asked.method, asked.fields, &current) == Precondition::NotModified
    {
        return DueResponse::NotModified;
    }
    let Some(length) = length else { return DueResponse::Full };
    if conditional::if_range(asked.fields, &current, asked.unix_secs) == IfRange::Ignore {
        return DueResponse::Full;
    }
    match range::select_several(asked.method, asked.fields, length) {
        RangeSelections::Full => DueResponse::Full,
        RangeSelections::Part(part) => DueResponse::Part(part),
        RangeSelections::Parts(parts) => DueResponse::Parts(parts),
        RangeSelections::Unsatisfiable => DueResponse::Unsatisfiable(length),
    }
}

fn select(asked: &ShapeRequest<'_>, head: &StoredHead, content: StoredContent) -> Response<Body> {
    match select_response(asked, head, content.length()) {
        DueResponse::Full => full_response(asked, head, content),
        DueResponse::NotModified => not_modified(head),
        DueResponse::Part(part) => one_part(asked, head, content, part),
        DueResponse::Parts(parts) => several_parts(asked, head, content, &parts),
        DueResponse::Unsatisfiable(length) => {
            let mut response = answer(StatusCode::RANGE_NOT_SATISFIABLE, head, Body::empty());
            let fields = response.headers_mut();
            fields.remove(CONTENT_TYPE);
            fields.insert(CONTENT_LENGTH, HeaderValue::from(0));
            fields.insert(CONTENT_RANGE, range::unsatisfied(length));
            response
        }
    }
}

fn full_response(
    asked: &ShapeRequest<'_>,
    head: &StoredHead,
    content: StoredContent,
) -> Response<Body> {
    let length = content.length();
    let body = if asked.method == Method::HEAD { Body::empty() } else { content.all() };
    let mut response = answer(head.status, head, body);
    if let Some(length) = length {
        response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    response
}

fn one_part(
    asked: &ShapeRequest<'_>,
    head: &StoredHead,
    content: StoredContent,
    part: ByteRange,
) -> Response<Body> {
    let range = part.first..part.last + 1;
    // Its bytes are far from coming: they come with the whole, which is always a right answer.
    let Some(body) = content.range(range) else { return full_response(asked, head, content) };
    let mut response = answer(StatusCode::PARTIAL_CONTENT, head, body);
    let fields = response.headers_mut();
    fields.insert(CONTENT_RANGE, part.content_range());
    fields.insert(CONTENT_LENGTH, HeaderValue::from(part.len()));
    response
}

fn several_parts(
    asked: &ShapeRequest<'_>,
    head: &StoredHead,
    content: StoredContent,
    parts: &[ByteRange],
) -> Response<Body> {
    // What is coming comes in order: the whole of it is a right answer too.
    let laid_out = content.parts(parts, head.fields.get(CONTENT_TYPE));
    let Some(laid_out) = laid_out else { return full_response(asked, head, content) };
    let mut response = answer(StatusCode::PARTIAL_CONTENT, head, laid_out.body);
    let fields = response.headers_mut();
    fields.insert(CONTENT_TYPE, laid_out.media);
    fields.insert(CONTENT_LENGTH, HeaderValue::from(laid_out.length));
    response
}

fn not_modified(head: &StoredHead) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    for name in &REPEATED {
        for value in head.fields.get_all(name) {
            response.headers_mut().append(name, value.clone());
        }
    }
    response
}

fn answer(status: StatusCode, head: &StoredHead, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = head.fields.clone();
    response
}

fn validators(head: &StoredHead) -> Validators {
    let text = |value: &HeaderValue| value.to_str().ok().and_then(ETag::parse);
    Validators {
        etag: head.etag().and_then(text),
        modified_unix_secs: Some(head.modified_unix_secs()),
    }
}
