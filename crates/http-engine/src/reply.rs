//! Small answers made on the spot.

use crate::body::Body;
use http::{HeaderValue, Response, StatusCode, header};

/// The type of every text answer made here.
pub const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// A plain text answer with its exact length; `text` should end in a newline.
pub fn text(status: StatusCode, text: impl Into<String>) -> Response<Body> {
    let text: String = text.into();
    let mut answer = Response::new(Body::from(text));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, TEXT);
    answer
}

/// Status by which logs tell of a request that gets [no answer](no_answer), as nginx's do.
pub const NO_ANSWER: u16 = 444;

/// Mark of a response that is none: see [`no_answer`].
#[derive(Clone, Copy, Debug)]
struct LeftUnanswered;

/// No answer: the connection ends without a byte of one, or over HTTP/2 its stream is reset with
/// `INTERNAL_ERROR`, as nginx does both. Requests before it on the connection are answered.
pub fn no_answer() -> Response<Body> {
    let mut none = Response::new(Body::empty());
    // Nobody is sent it.
    *none.status_mut() = StatusCode::from_u16(NO_ANSWER).expect("a number of three digits");
    none.extensions_mut().insert(LeftUnanswered);
    none
}

/// True if a request is to get no answer.
pub(crate) fn is_no_answer(answer: &Response<Body>) -> bool {
    answer.extensions().get::<LeftUnanswered>().is_some()
}

/// An answer without a body.
pub fn empty(status: StatusCode) -> Response<Body> {
    let mut answer = Response::new(Body::empty());
    *answer.status_mut() = status;
    answer
}
