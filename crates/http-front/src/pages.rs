//! What a door says in place of an answer: short, in words, kept by no cache.
//!
//! Plain text that no browser takes for anything else; a door may show it to people as a page.

use http::header::{CACHE_CONTROL, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use http::{Response, StatusCode};
use http_engine::{Body, reply};

/// Plain text that is stored nowhere, and whose type is not guessed from its bytes.
pub fn plain(status: StatusCode, text: impl Into<String>) -> Response<Body> {
    let mut page = reply::text(status, text);
    let headers = page.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    page
}

/// The request makes no sense: 400 with the reason.
pub fn bad_request(why: &str) -> Response<Body> {
    plain(StatusCode::BAD_REQUEST, format!("{why}.\n"))
}
