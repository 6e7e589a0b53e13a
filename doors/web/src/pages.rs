//! Pages of the web door where it has no file to give: short, in words.

use http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, LOCATION,
    WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use http::{Response, StatusCode};
use http_engine::Body;
pub(crate) use http_front::pages::bad_request;
use http_front::pages::plain;
use policy::RuleText;

const NOT_FOUND: &str = include_str!("not_found.html");

/// The hash is that of the page's style sheet; a test says what to write here when that changes.
const NOT_FOUND_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'sha256-p+UdbZ/8y/NNeeHKm5x0/92JJzO49KSmguvh+37HRGI='; \
     base-uri 'none'; form-action 'none'",
);

/// The policy blocks it. Names list, line and rule.
pub(crate) fn blocked(rule: Option<&RuleText>) -> Response<Body> {
    let text = rule.map_or_else(
        || "Blocked by a rule.\n".to_owned(),
        |rule| format!("Blocked by list {}, line {}: {}\n", rule.list, rule.line, rule.text),
    );
    plain(StatusCode::FORBIDDEN, text)
}

/// Nothing stands there.
pub(crate) fn not_found() -> Response<Body> {
    let mut page = Response::new(Body::from(NOT_FOUND));
    *page.status_mut() = StatusCode::NOT_FOUND;
    let headers = page.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CONTENT_SECURITY_POLICY, NOT_FOUND_POLICY);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    page
}

/// The folder is there, and is not listed.
pub(crate) fn unlisted() -> Response<Body> {
    plain(StatusCode::OK, "Directory listing disabled\n")
}

/// Only these methods are possible here.
pub(crate) fn method(allow: &'static str) -> Response<Body> {
    let text = format!("What is possible here: {allow}\n");
    let mut page = plain(StatusCode::METHOD_NOT_ALLOWED, text);
    page.headers_mut().insert(ALLOW, HeaderValue::from_static(allow));
    page
}

/// Writing is for others.
pub(crate) fn no_writer() -> Response<Body> {
    plain(StatusCode::FORBIDDEN, "You may not write here.\n")
}

/// A copy or a move leads to another site (RFC 4918 §9.8.5).
pub(crate) fn other_site() -> Response<Body> {
    plain(StatusCode::BAD_GATEWAY, "The destination is no path of this site.\n")
}

/// The connection's handshake was for another site (RFC 9110 §15.5.20): a browser opens a new one.
pub(crate) fn misdirected() -> Response<Body> {
    plain(StatusCode::MISDIRECTED_REQUEST, "This site wants a connection of its own.\n")
}

/// The file is there, and this process may not read it.
pub(crate) fn forbidden() -> Response<Body> {
    plain(StatusCode::FORBIDDEN, "This file cannot be read by the server.\n")
}

/// The site's script in Luau failed. The log has its line; the public needs no more.
pub(crate) fn luau_failed() -> Response<Body> {
    plain(StatusCode::INTERNAL_SERVER_ERROR, "This cannot be answered at the moment.\n")
}

/// A script's server failed: why, in words that tell nothing of the machine.
pub(crate) fn script_failed(status: StatusCode) -> Response<Body> {
    plain(
        status,
        match status {
            StatusCode::PAYLOAD_TOO_LARGE => "This is more than can be sent here.\n",
            StatusCode::BAD_REQUEST => "The request broke off.\n",
            StatusCode::GATEWAY_TIMEOUT => "The program behind this page did not answer in time.\n",
            StatusCode::SERVICE_UNAVAILABLE => "Too many are waiting. Try again in a moment.\n",
            _ => "The program behind this page failed.\n",
        },
    )
}

/// A name and a password are due.
pub(crate) fn unauthorized(challenge: HeaderValue) -> Response<Body> {
    let mut page = plain(StatusCode::UNAUTHORIZED, "A name and a password are needed here.\n");
    page.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    page
}

/// Sent on to HTTPS: method and body stay what they are.
pub(crate) fn secure(location: HeaderValue) -> Response<Body> {
    let mut page = plain(StatusCode::PERMANENT_REDIRECT, "This site is reached by HTTPS.\n");
    page.headers_mut().insert(LOCATION, location);
    page.headers_mut().remove(CACHE_CONTROL);
    page
}

/// The machine failed.
pub(crate) fn failed() -> Response<Body> {
    plain(StatusCode::INTERNAL_SERVER_ERROR, "The server could not read its files.\n")
}

/// It is elsewhere: `to` is a path or URL.
pub(crate) fn moved(to: &str, status: StatusCode) -> Response<Body> {
    match HeaderValue::from_str(to) {
        Ok(location) => {
            let mut page = plain(status, format!("This is at {to}\n"));
            page.headers_mut().insert(LOCATION, location);
            page.headers_mut().remove(CACHE_CONTROL);
            page
        }
        // Paths are encoded before they come here; a query is as the client sent it.
        Err(_) => bad_request("The query cannot be repeated"),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use sha2::Digest;

    #[test]
    fn the_pages_policy_names_its_style_sheet() {
        let (_, rest) = NOT_FOUND.split_once("<style>").unwrap();
        let (style, _) = rest.split_once("</style>").unwrap();
        names_style(&NOT_FOUND_POLICY, style);
    }

    /// Whether a policy lets this style sheet apply.
    pub(crate) fn names_style(policy: &HeaderValue, style: &str) {
        let expected = format!("'sha256-{}'", base64(&sha2::Sha256::digest(style.as_bytes())));
        assert!(policy.to_str().unwrap().contains(&expected), "write {expected} into the policy");
    }

    fn base64(bytes: &[u8]) -> String {
        const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::new();
        for three in bytes.chunks(3) {
            let bits = three
                .iter()
                .enumerate()
                .fold(0, |bits, (at, byte)| bits | u32::from(*byte) << (16 - 8 * at));
            for at in 0..4 {
                let letter = LETTERS[(bits >> (18 - 6 * at)) as usize & 63];
                text.push(if at <= three.len() { char::from(letter) } else { '=' });
            }
        }
        text
    }
}
