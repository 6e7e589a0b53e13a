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

/// An answer without a body.
pub fn empty(status: StatusCode) -> Response<Body> {
    let mut answer = Response::new(Body::empty());
    *answer.status_mut() = status;
    answer
}
