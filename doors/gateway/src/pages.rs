//! Pages of the gateway in place of an answer: short, in words, without inner names.
//!
//! The public reads these, so they name no server and no address; the ledger does. They are plain
//! text, which `shape` shows to people as a page.

use http::header::{ALLOW, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};
use http_engine::Body;
pub(crate) use http_front::pages::bad_request;
use http_front::pages::plain;
use origins::{Blame, SendError};
use policy::RuleText;
use std::time::Duration;

/// Plain text that nobody keeps.
pub(crate) fn page(status: StatusCode, text: String) -> Response<Body> {
    plain(status, text)
}

/// A pattern or the policy blocks it. Names list, line and rule.
pub(crate) fn blocked(rule: Option<&RuleText>) -> Response<Body> {
    let text = rule.map_or_else(
        || "Blocked by a rule.\n".to_owned(),
        |rule| format!("Blocked by line {} of {}: {}\n", rule.line, rule.list, rule.text),
    );
    page(StatusCode::FORBIDDEN, text)
}

/// The route's script failed. The log has its line; the public needs no more.
pub(crate) fn script_failed() -> Response<Body> {
    page(StatusCode::INTERNAL_SERVER_ERROR, "This cannot be answered at the moment.\n".into())
}

/// No route fits.
pub(crate) fn no_route() -> Response<Body> {
    page(StatusCode::NOT_FOUND, "Nothing is served here.\n".into())
}

/// A server named something to be sent in its place that cannot be had.
pub(crate) fn reproxy_missing() -> Response<Body> {
    page(StatusCode::SERVICE_UNAVAILABLE, "This cannot be had at the moment.\n".into())
}

/// The connection was made for another name (RFC 9110 §15.5.20): the client may open one of its
/// own.
pub(crate) fn misdirected() -> Response<Body> {
    let text = "This connection was not made for that host.\n";
    page(StatusCode::MISDIRECTED_REQUEST, text.into())
}

/// There is no place for one more connection that leaves HTTP.
pub(crate) fn busy() -> Response<Body> {
    let mut page = page(StatusCode::SERVICE_UNAVAILABLE, "Too many are connected.\n".into());
    page.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("10"));
    page
}

/// The body is over the cap.
pub(crate) fn too_large() -> Response<Body> {
    page(StatusCode::PAYLOAD_TOO_LARGE, "The request's body is too large.\n".into())
}

/// `CONNECT` and `TRACE` have no place here.
pub(crate) fn method() -> Response<Body> {
    let mut page =
        page(StatusCode::METHOD_NOT_ALLOWED, "This method is not allowed here.\n".into());
    let rest = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
    page.headers_mut().insert(ALLOW, HeaderValue::from_static(rest));
    page
}

/// The request has come round.
pub(crate) fn loop_detected() -> Response<Body> {
    page(StatusCode::LOOP_DETECTED, "This request goes round in circles.\n".into())
}

/// Nobody behind can take it now.
pub(crate) fn unavailable(wait: Duration) -> Response<Body> {
    let text = "The service is not available now. Please come again later.\n";
    let mut page = page(StatusCode::SERVICE_UNAVAILABLE, text.into());
    // RFC 9110 §10.2.3: whole seconds.
    let secs = wait.as_millis().div_ceil(1000).max(1);
    if let Ok(secs) = HeaderValue::from_str(&secs.to_string()) {
        page.headers_mut().insert(RETRY_AFTER, secs);
    }
    page
}

/// The one place where a failure behind becomes a status.
pub(crate) fn error_page(why: &SendError) -> Response<Body> {
    match why.blame() {
        // Its pools bound requests, not connections.
        Blame::Origin | Blame::Guard | Blame::Busy => {
            page(StatusCode::BAD_GATEWAY, "The server behind does not answer.\n".into())
        }
        Blame::Slow => {
            page(StatusCode::GATEWAY_TIMEOUT, "The server behind did not answer in time.\n".into())
        }
        Blame::Client if *why == SendError::BodyTooLarge => too_large(),
        Blame::Client => bad_request("The request's body broke off"),
    }
}
