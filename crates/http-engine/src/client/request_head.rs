//! The head of a request without a body, written out (RFC 9112 §3, §5).
//!
//! Nothing in it can end a line early: `http`'s types hold no CR, LF or NUL. It chooses no field and
//! changes none. Pure. Called by [`super`] and [`super::exchange`].

use crate::body::Body;
use http::{Method, Request, Version, header};
use http_body::Body as _;
use std::io::Write;

/// Whether `request` has no body and asks for nothing but an answer: no upgrade, no tunnel, no
/// `100 (Continue)`. Fields that speak of a body make it hyper's business, which knows what they mean
/// without one.
pub(super) fn is_lean(request: &Request<Body>) -> bool {
    let version = request.version();
    request.body().is_end_stream()
        && request.method() != Method::CONNECT
        && (version == Version::HTTP_11 || version == Version::HTTP_2)
        && !request.headers().keys().any(|name| {
            name == header::UPGRADE
                || name == header::EXPECT
                || name == header::TRANSFER_ENCODING
                || name == header::CONTENT_LENGTH
        })
}

/// Appends the head of `request` to `out`.
pub(super) fn encode(request: &Request<Body>, out: &mut Vec<u8>) {
    out.extend_from_slice(request.method().as_str().as_bytes());
    out.push(b' ');
    let target = request.uri();
    match target.path_and_query() {
        Some(path) if target.authority().is_none() => {
            let path = path.as_str();
            out.extend_from_slice(if path.is_empty() { b"/" } else { path.as_bytes() });
        }
        Some(_) | None => {
            // Writing to a Vec does not fail.
            let _ = write!(out, "{target}");
        }
    }
    out.extend_from_slice(b" HTTP/1.1\r\n");
    for (name, value) in request.headers() {
        out.extend_from_slice(name.as_str().as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(request: http::request::Builder) -> String {
        let request = request.body(Body::empty()).expect("a request");
        assert!(is_lean(&request), "{request:?}");
        let mut out = Vec::new();
        encode(&request, &mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn the_target_is_written_as_it_is_given() {
        let line = |uri: &str| encoded(Request::get(uri)).replace(" HTTP/1.1\r\n\r\n", "");
        assert_eq!(line("/a?b=c"), "GET /a?b=c");
        assert_eq!(line("http://a.example:81/x?y"), "GET http://a.example:81/x?y");
        assert_eq!(line("http://a.example"), "GET http://a.example/");
        assert_eq!(line("*"), "GET *");
    }

    #[test]
    fn every_field_has_its_line() {
        let request = Request::head("/").header("host", "a").header("X-A", "1").header("x-a", "2");
        let expected = "HEAD / HTTP/1.1\r\nhost: a\r\nx-a: 1\r\nx-a: 2\r\n\r\n";
        assert_eq!(encoded(request), expected);
    }

    #[test]
    fn whatever_is_more_than_a_head_is_not_lean() {
        let lean = |request: http::request::Builder, body: Body| {
            is_lean(&request.body(body).expect("a request"))
        };
        assert!(lean(Request::delete("/"), Body::empty()));
        assert!(lean(Request::get("/").version(Version::HTTP_2), Body::empty()));
        assert!(!lean(Request::get("/").version(Version::HTTP_10), Body::empty()));
        assert!(!lean(Request::get("/"), Body::full("x")));
        assert!(!lean(Request::connect("a:1"), Body::empty()));
        for name in ["upgrade", "expect", "transfer-encoding", "content-length"] {
            assert!(!lean(Request::get("/").header(name, "0"), Body::empty()), "{name}");
        }
    }
}
