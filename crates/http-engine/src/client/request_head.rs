//! The head of a request, written out (RFC 9112 §3, §5).
//!
//! Nothing in it can end a line early: `http`'s types hold no CR, LF or NUL. How a body is framed
//! is said here, whatever the fields say of it; otherwise it chooses no field and changes none.
//! Pure. Called by [`super`] and [`super::exchange`].

use super::answer_head::HttpExit;
use super::upload::{ContinueRequest, declared_length};
use crate::body::Body;
use crate::fast_path::framing::ClientFraming;
use crate::field_line::push_field;
use crate::hop_by_hop;
use http::{HeaderName, Method, Request, header};
use std::io::Write;

/// Things that the fields of a request ask of its server beside an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RequestNeeds {
    /// The answers that end HTTP on the connection.
    pub(super) upgrade_exit: HttpExit,
    /// The server is asked first if it wants the body, or not.
    pub(super) expect_continue: ContinueRequest,
    /// Fields that speak of a body.
    frames: BodyFields,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyFields {
    Some,
    None,
}

impl RequestNeeds {
    /// Returns those of `request`: one walk over its fields.
    pub(super) fn of(request: &Request<Body>) -> Self {
        let headers = request.headers();
        let mut wishes = Self {
            upgrade_exit: HttpExit::Not,
            expect_continue: ContinueRequest::Not,
            frames: BodyFields::None,
        };
        if request.method() == Method::CONNECT {
            wishes.upgrade_exit = HttpExit::ByTunnel;
        }
        for (name, value) in headers {
            match *name {
                header::UPGRADE if hop_by_hop::wants_upgrade(headers).is_some() => {
                    wishes.upgrade_exit = HttpExit::ByUpgrade;
                }
                header::EXPECT if value.as_bytes().eq_ignore_ascii_case(b"100-continue") => {
                    wishes.expect_continue = ContinueRequest::First;
                }
                header::CONTENT_LENGTH | header::TRANSFER_ENCODING | header::TRAILER => {
                    wishes.frames = BodyFields::Some;
                }
                _ => {}
            }
        }
        wishes
    }
}

/// Appends the head of `request`, whose body ends as `framing` says; `None`: it has none.
pub(super) fn encode(
    request: &Request<Body>,
    wishes: RequestNeeds,
    framing: Option<&ClientFraming>,
    out: &mut Vec<u8>,
) {
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
        let is_ours = wishes.frames == BodyFields::Some && is_framing(name);
        if !is_ours {
            push_field(out, name, value);
        }
    }
    match framing {
        Some(ClientFraming::Length(bytes)) => push_length(out, *bytes),
        Some(ClientFraming::Chunked(trailers)) => push_chunked(out, trailers),
        None if wishes.frames == BodyFields::Some
            && declared_length(request.headers()) == Some(0) =>
        {
            push_length(out, 0);
        }
        Some(ClientFraming::UntilClose) | None => {}
    }
    out.extend_from_slice(b"\r\n");
}

fn is_framing(name: &HeaderName) -> bool {
    matches!(*name, header::CONTENT_LENGTH | header::TRANSFER_ENCODING | header::TRAILER)
}

fn push_length(out: &mut Vec<u8>, bytes: u64) {
    out.extend_from_slice(b"content-length: ");
    out.extend_from_slice(itoa::Buffer::new().format(bytes).as_bytes());
    out.extend_from_slice(b"\r\n");
}

fn push_chunked(out: &mut Vec<u8>, trailers: &[HeaderName]) {
    for (at, name) in trailers.iter().enumerate() {
        out.extend_from_slice(if at == 0 { b"trailer: " } else { b", " });
        out.extend_from_slice(name.as_str().as_bytes());
    }
    if !trailers.is_empty() {
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"transfer-encoding: chunked\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(request: http::request::Builder) -> String {
        let request = request.body(Body::empty()).expect("a request");
        written(&request, None)
    }

    fn written(request: &Request<Body>, framing: Option<&ClientFraming>) -> String {
        let mut out = Vec::new();
        encode(request, RequestNeeds::of(request), framing, &mut out);
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
    fn a_body_is_framed_once_and_plainly() {
        let with = |fields: &[(&str, &str)], framing: Option<ClientFraming>| {
            let mut request = Request::post("/");
            for (name, value) in fields {
                request = request.header(*name, *value);
            }
            let request = request.body(Body::empty()).expect("a request");
            written(&request, framing.as_ref()).replace("\r\n", "|")
        };
        let length = |bytes| Some(ClientFraming::Length(bytes));
        let ten = "POST / HTTP/1.1|content-length: 10||";
        assert_eq!(with(&[("content-length", "010")], length(10)), ten);
        assert_eq!(with(&[("content-length", "5"), ("content-length", "05")], length(10)), ten);
        assert_eq!(with(&[("transfer-encoding", "chunked"), ("trailer", "a")], length(10)), ten);
        let sum = || vec![HeaderName::from_static("digest"), HeaderName::from_static("sum")];
        let chunked = "POST / HTTP/1.1|trailer: digest, sum|transfer-encoding: chunked||";
        let fields = [("transfer-encoding", "gzip"), ("trailer", "x"), ("content-length", "7")];
        assert_eq!(with(&fields, Some(ClientFraming::Chunked(sum()))), chunked);
        let none = "POST / HTTP/1.1||";
        assert_eq!(with(&[("transfer-encoding", "chunked"), ("trailer", "x")], None), none);
        assert_eq!(with(&[("content-length", "3")], None), none);
        let empty = "POST / HTTP/1.1|content-length: 0||";
        assert_eq!(with(&[("content-length", "00")], None), empty);
    }

    #[test]
    fn what_is_asked_beside_an_answer_is_found() {
        let of = |request: http::request::Builder| {
            let wishes = RequestNeeds::of(&request.body(Body::empty()).expect("a request"));
            (wishes.upgrade_exit, wishes.expect_continue)
        };
        let get = || Request::get("/");
        assert_eq!(of(get().header("upgrade", "x")), (HttpExit::Not, ContinueRequest::Not));
        let upgrade = get().header("upgrade", "x").header("connection", "Upgrade");
        assert_eq!(of(upgrade), (HttpExit::ByUpgrade, ContinueRequest::Not));
        assert_eq!(of(Request::connect("a:1")), (HttpExit::ByTunnel, ContinueRequest::Not));
        assert_eq!(
            of(get().header("expect", "100-Continue")),
            (HttpExit::Not, ContinueRequest::First)
        );
        assert_eq!(of(get().header("expect", "cake")), (HttpExit::Not, ContinueRequest::Not));
    }
}
