//! Null answers made ready: status, fields and bytes of each, built once.
//!
//! What depends on the request is added to a copy: the origin that may read it, the range, the
//! callback. It chooses nothing (`null` does) and writes no page for people (`page` does). Called
//! by the doors with hyper's kind of answer, or with bytes as they go over the wire.

use crate::blank::{BlankBody, NullAnswer};
use crate::callback;
use crate::ready::{self, HttpCarrier, ReadyAnswer};
use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, ALLOW, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_RANGE, HeaderMap,
    HeaderName, HeaderValue, ORIGIN,
};
use http::{Method, Response, StatusCode};
use http_engine::Body;
use http_engine::fast_path::{SimpleMethod, SimpleRequest};
use http_engine::range::{self, RangeSelection};
use std::io::Write as _;

const ASKS_PRIVATE: HeaderName = HeaderName::from_static("access-control-request-private-network");
const ALLOWS_PRIVATE: HeaderName = HeaderName::from_static("access-control-allow-private-network");

const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
/// Two hours: what Chromium caps a preflight's age at.
const PREFLIGHT_AGE: HeaderValue = HeaderValue::from_static("7200");
const TRUE: HeaderValue = HeaderValue::from_static("true");

/// Tells whether caches may keep an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerCaching {
    /// For a minute.
    OneMinute,
    /// Not at all.
    No,
}

/// The answer to a request of this method with these fields.
pub fn render(
    null: &NullAnswer<'_>,
    keep: AnswerCaching,
    method: &Method,
    headers: &HeaderMap,
) -> Response<Body> {
    let mut answer = match null {
        NullAnswer::Blank(blank @ (BlankBody::Audio | BlankBody::Video)) => {
            part(ready::blank(*blank), method, headers)
        }
        NullAnswer::Blank(blank) => copy(ready::blank(*blank)),
        NullAnswer::Stub(stub) => copy(ready::stub(*stub)),
        NullAnswer::Callback(name) => call(name),
        // Where it can be opened, `request` has done so.
        NullAnswer::Socket => copy(ready::blank(BlankBody::NoSocket)),
        NullAnswer::Preflight => preflight(headers),
    };
    let fields = answer.headers_mut();
    share(fields, headers);
    // A fetch that was posted, or an answer that stands for a name not blocked by itself.
    if keep == AnswerCaching::No || (*method != Method::GET && *method != Method::HEAD) {
        fields.insert(CACHE_CONTROL, NO_STORE);
    }
    answer
}

/// Lets the page that asks read the answer.
pub fn share(fields: &mut HeaderMap, asked: &HeaderMap) {
    if let Some(origin) = asked.get(ORIGIN) {
        // `null` is echoed like any origin: it is what sandboxed frames have.
        fields.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        fields.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, TRUE);
    }
}

fn copy(ready: &ReadyAnswer) -> Response<Body> {
    let mut answer = Response::new(Body::full(ready.body.clone()));
    *answer.status_mut() = ready.status;
    *answer.headers_mut() = ready.headers.clone();
    answer
}

/// Calls a JSONP callback.
fn call(name: &str) -> Response<Body> {
    let [before, behind] = callback::CALLBACK_WRAPPING;
    let body = [before, name, behind].concat();
    let length = body.len();
    let mut answer = copy(ready::blank(BlankBody::Script));
    answer.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
    *answer.body_mut() = Body::from(body);
    answer
}

/// Media players insist on ranges.
fn part(whole: &ReadyAnswer, method: &Method, headers: &HeaderMap) -> Response<Body> {
    let total = whole.body.len() as u64;
    let mut answer = copy(whole);
    match range::select(method, headers, total) {
        RangeSelection::Full => {}
        RangeSelection::Part(part) => {
            let bytes = whole.body.slice(part.first as usize..=part.last as usize);
            *answer.status_mut() = StatusCode::PARTIAL_CONTENT;
            answer.headers_mut().insert(CONTENT_RANGE, part.content_range());
            answer.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(bytes.len()));
            *answer.body_mut() = Body::full(bytes);
        }
        RangeSelection::Unsatisfiable => {
            *answer.status_mut() = StatusCode::RANGE_NOT_SATISFIABLE;
            answer.headers_mut().insert(CONTENT_RANGE, range::unsatisfied(total));
            answer.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(0));
            *answer.body_mut() = Body::empty();
        }
    }
    answer
}

/// Allows what is asked for (Fetch §3.2): refusing would only have the page try again.
fn preflight(headers: &HeaderMap) -> Response<Body> {
    let mut answer = copy(ready::blank(BlankBody::NoContent));
    let fields = answer.headers_mut();
    let Some(method) = headers.get(ACCESS_CONTROL_REQUEST_METHOD) else {
        fields.insert(ALLOW, ready::METHODS);
        return answer;
    };
    fields.insert(ACCESS_CONTROL_ALLOW_METHODS, method.clone());
    if let Some(names) = headers.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        fields.insert(ACCESS_CONTROL_ALLOW_HEADERS, names.clone());
    }
    if headers.get(ASKS_PRIVATE).is_some_and(|asked| asked == "true") {
        fields.insert(ALLOWS_PRIVATE, TRUE);
    }
    fields.insert(ACCESS_CONTROL_MAX_AGE, PREFLIGHT_AGE);
    answer
}

/// Holds what was written to a client at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenNull {
    /// The status.
    pub status: u16,
    /// Of the body.
    pub bytes: u32,
}

/// Appends the whole answer to a simple request; `None`, and nothing appended, where it is for
/// `render` to make.
pub fn write(
    null: &NullAnswer<'_>,
    carrier: HttpCarrier,
    request: &SimpleRequest<'_>,
    out: &mut Vec<u8>,
) -> Option<WrittenNull> {
    let (ready, called) = match null {
        NullAnswer::Blank(BlankBody::Audio | BlankBody::Video)
            if request.field("range").is_some() =>
        {
            return None;
        }
        NullAnswer::Blank(blank) => (ready::blank(*blank), None),
        NullAnswer::Stub(stub) => (ready::stub(*stub), None),
        NullAnswer::Callback(name) => (ready::blank(BlankBody::Script), Some(*name)),
        NullAnswer::Socket | NullAnswer::Preflight => return None,
    };
    out.extend_from_slice(ready.head(carrier));
    let [before, behind] = callback::CALLBACK_WRAPPING;
    let length = match called {
        None => {
            out.extend_from_slice(&ready.length_field);
            ready.body.len()
        }
        Some(name) => {
            let length = before.len() + name.len() + behind.len();
            // Writing into memory cannot fail.
            let _ = write!(out, "content-length: {length}\r\n");
            length
        }
    };
    if let Some(origin) = request.field("origin") {
        out.extend_from_slice(b"access-control-allow-origin: ");
        out.extend_from_slice(origin);
        out.extend_from_slice(b"\r\naccess-control-allow-credentials: true\r\n");
    }
    request.end_head(out);
    let status = ready.status.as_u16();
    if request.method() == SimpleMethod::Head {
        return Some(WrittenNull { status, bytes: 0 });
    }
    match called {
        None => out.extend_from_slice(&ready.body),
        Some(name) => {
            for piece in [before, name, behind] {
                out.extend_from_slice(piece.as_bytes());
            }
        }
    }
    Some(WrittenNull { status, bytes: length as u32 })
}
