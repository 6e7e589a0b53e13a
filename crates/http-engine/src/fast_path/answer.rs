//! The head of a handler's answer, as it is written in the fast path.
//!
//! How the body is framed, whether the connection lives on, and the present date are the fast
//! path's to say: what a handler says of the first two is heard, and not written. Everything else
//! is written as it stands. Called by [`super::connection`] for every answer of a handler.

use super::framing::{AnswerProgress, ClientFraming};
use super::head::KeepAlive;
use super::{ConnectionPersistence, SimpleMethod, SimpleRequest};
use crate::body::Body;
use crate::date;
use crate::field_line::push_field;
use crate::interim;
use crate::reply;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode, Version, response};
use http_body::Body as HttpBody;
use hyper::ext::ReasonPhrase;

/// Holds what of a request is to be known when it is answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct AnsweredRequest {
    method: SimpleMethod,
    version: Version,
    persistence: ConnectionPersistence,
    trailers: TrailerSupport,
}

/// Tells whether the client takes fields behind a body (RFC 9110 section 10.1.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TrailerSupport {
    Accepted,
    Dropped,
}

/// Holds what follows a head.
#[derive(Debug)]
pub(super) struct BegunAnswer {
    /// The body; `None` where there is none, or none may be sent.
    pub(super) answering: Option<AnswerProgress>,
    pub(super) persistence: ConnectionPersistence,
}

/// Holds what a handler says that is the fast path's to say.
struct HandlerFields {
    length: DeclaredLength,
    closes: bool,
    is_dated: bool,
    names_trailers: bool,
}

/// `Content-Length` as a handler gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeclaredLength {
    Missing,
    Bytes(u64),
    /// No number, or two of them.
    Invalid,
}

impl AnsweredRequest {
    pub(super) fn of(request: &SimpleRequest<'_>) -> Self {
        let takes = request.field("te").is_some_and(|te| has_item(te, b"trailers"));
        Self {
            method: request.method,
            version: request.version,
            persistence: request.persistence,
            trailers: if takes { TrailerSupport::Accepted } else { TrailerSupport::Dropped },
        }
    }

    /// True if an answer of this status has a body (RFC 9110 section 6.4.1).
    fn may_have_body(self, status: StatusCode) -> bool {
        self.method != SimpleMethod::Head && has_length(status)
    }
}

impl DeclaredLength {
    fn and(self, value: &HeaderValue) -> Self {
        let digits = value.to_str().ok().filter(|it| it.bytes().all(|byte| byte.is_ascii_digit()));
        match (self, digits.and_then(|it| it.parse().ok())) {
            (Self::Missing, Some(bytes)) => Self::Bytes(bytes),
            (Self::Bytes(before), Some(bytes)) if before == bytes => self,
            (Self::Missing | Self::Bytes(_) | Self::Invalid, _) => Self::Invalid,
        }
    }

    fn bytes(self) -> Option<u64> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Missing | Self::Invalid => None,
        }
    }
}

/// Appends what comes ahead of the answer to `asked`. HTTP/1.0 knows no interim answers (RFC 9110
/// section 15.2).
pub(super) fn push_interim(out: &mut Vec<u8>, told: &[Response<()>], asked: AnsweredRequest) {
    if asked.version == Version::HTTP_11 {
        for interim in told {
            interim::write(interim, out);
        }
    }
}

/// Appends the head of `response`, which is an answer to `asked`.
pub(super) fn write_head(
    out: &mut Vec<u8>,
    response: Response<Body>,
    asked: AnsweredRequest,
    keep: KeepAlive,
) -> BegunAnswer {
    let (head, body) = if response.status().is_informational() {
        // No answer: who asks to leave HTTP may get one, and such a request is not simple.
        reply::empty(StatusCode::INTERNAL_SERVER_ERROR).into_parts()
    } else {
        response.into_parts()
    };
    push_status_line(out, &head, asked.version);
    let said = push_handler_fields(out, &head.headers);
    let mut framing = asked.may_have_body(head.status).then(|| frame(&said, &body, asked.version));
    let length = match &framing {
        Some(ClientFraming::Length(bytes)) => Some(*bytes),
        // What `GET` would get, where that is known.
        None if has_length(head.status) => {
            said.length.bytes().or_else(|| body.size_hint().exact().filter(|bytes| *bytes > 0))
        }
        Some(ClientFraming::Chunked(_) | ClientFraming::UntilClose) | None => None,
    };
    if let Some(bytes) = length {
        out.extend_from_slice(b"content-length: ");
        out.extend_from_slice(itoa::Buffer::new().format(bytes).as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    if let Some(ClientFraming::Chunked(names)) = &mut framing {
        out.extend_from_slice(b"transfer-encoding: chunked\r\n");
        if said.names_trailers {
            *names = push_trailer(out, &head.headers, asked.trailers);
        }
    }
    if !said.is_dated {
        out.extend_from_slice(b"date: ");
        out.extend_from_slice(&date::now_field());
        out.extend_from_slice(b"\r\n");
    }
    let ends = said.closes || keep == KeepAlive::No || framing == Some(ClientFraming::UntilClose);
    let persistence = if ends { ConnectionPersistence::Close } else { asked.persistence };
    out.extend_from_slice(persistence.end_of_head());
    let framing = framing.filter(|framing| *framing != ClientFraming::Length(0));
    BegunAnswer { answering: framing.map(|framing| AnswerProgress { body, framing }), persistence }
}

fn has_length(status: StatusCode) -> bool {
    !matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
}

/// Appends the status line, in the version of the client.
fn push_status_line(out: &mut Vec<u8>, head: &response::Parts, version: Version) {
    let reason = head.extensions.get::<ReasonPhrase>();
    if version == Version::HTTP_11 && head.status == StatusCode::OK && reason.is_none() {
        return out.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
    }
    out.extend_from_slice(if version == Version::HTTP_11 { b"HTTP/1.1 " } else { b"HTTP/1.0 " });
    out.extend_from_slice(head.status.as_str().as_bytes());
    out.push(b' ');
    out.extend_from_slice(match reason {
        Some(reason) => reason.as_bytes(),
        None => head.status.canonical_reason().unwrap_or_default().as_bytes(),
    });
    out.extend_from_slice(b"\r\n");
}

/// Appends every field that is not the fast path's; what those say.
fn push_handler_fields(out: &mut Vec<u8>, fields: &HeaderMap) -> HandlerFields {
    let mut said = HandlerFields {
        length: DeclaredLength::Missing,
        closes: false,
        is_dated: false,
        names_trailers: false,
    };
    for (name, value) in fields {
        match *name {
            header::CONTENT_LENGTH => said.length = said.length.and(value),
            header::CONNECTION => said.closes |= has_item(value.as_bytes(), b"close"),
            header::TRANSFER_ENCODING => {}
            header::TRAILER => said.names_trailers = true,
            header::DATE => {
                said.is_dated = true;
                push_field(out, name, value);
            }
            _ => push_field(out, name, value),
        }
    }
    said
}

/// Appends `Trailer`; the names in it, if the client takes what they name.
fn push_trailer(
    out: &mut Vec<u8>,
    fields: &HeaderMap,
    trailers: TrailerSupport,
) -> Vec<HeaderName> {
    let mut names = Vec::new();
    for value in fields.get_all(header::TRAILER) {
        push_field(out, &header::TRAILER, value);
        if trailers == TrailerSupport::Accepted {
            names.extend(
                list_items(value.as_bytes()).filter_map(|it| HeaderName::from_bytes(it).ok()),
            );
        }
    }
    names
}

/// Returns how the client is to know where `body` ends. What the body knows of itself stands over
/// what is said of it.
fn frame(said: &HandlerFields, body: &Body, version: Version) -> ClientFraming {
    if body.is_end_stream() {
        return ClientFraming::Length(0);
    }
    match body.size_hint().exact().or(said.length.bytes()) {
        Some(bytes) => ClientFraming::Length(bytes),
        None if version == Version::HTTP_11 => ClientFraming::Chunked(Vec::new()),
        None => ClientFraming::UntilClose,
    }
}

fn list_items(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

fn has_item(list: &[u8], word: &[u8]) -> bool {
    list_items(list).any(|it| it.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(method: SimpleMethod, version: Version) -> AnsweredRequest {
        AnsweredRequest {
            method,
            version,
            persistence: ConnectionPersistence::Keep,
            trailers: TrailerSupport::Dropped,
        }
    }

    /// The head without its date, and how the body is framed.
    fn begun(
        asked: AnsweredRequest,
        status: u16,
        fields: &[(&str, &str)],
        body: Body,
    ) -> (String, String) {
        let mut response = Response::builder().status(status);
        for (name, value) in fields {
            response = response.header(*name, *value);
        }
        let mut out = Vec::new();
        let begun = write_head(&mut out, response.body(body).unwrap(), asked, KeepAlive::Yes);
        let head = String::from_utf8(out).unwrap();
        let dated = head.lines().filter(|line| line.starts_with("date: ")).count();
        assert_eq!(dated, 1, "{head}");
        let lines: Vec<_> = head.lines().filter(|line| !line.starts_with("date: ")).collect();
        let framing = begun.answering.map(|it| format!("{:?}", it.framing));
        (lines.join("|"), framing.unwrap_or_default())
    }

    fn unknown() -> Body {
        Body::channel(1).1
    }

    #[test]
    fn a_body_is_framed_by_what_is_known_of_it() {
        let get = asked(SimpleMethod::Get, Version::HTTP_11);
        let old = asked(SimpleMethod::Get, Version::HTTP_10);
        let expect = |asked, fields: &[_], body, head: &str, framing: &str| {
            assert_eq!(begun(asked, 200, fields, body), (head.to_owned(), framing.to_owned()));
        };
        let length = |value| [("content-length", value)];
        let four = "HTTP/1.1 200 OK|content-length: 4|";
        expect(get, &[], Body::from("abcd"), four, "Length(4)");
        expect(get, &length("7"), Body::from("abcd"), four, "Length(4)");
        expect(get, &length("4"), unknown(), four, "Length(4)");
        expect(get, &length("4"), Body::empty(), "HTTP/1.1 200 OK|content-length: 0|", "");
        let chunked = "HTTP/1.1 200 OK|transfer-encoding: chunked|";
        expect(get, &[], unknown(), chunked, "Chunked([])");
        for odd in ["+4", "4,4", "", "x", "18446744073709551616"] {
            expect(get, &length(odd), unknown(), chunked, "Chunked([])");
        }
        let two = [("content-length", "4"), ("content-length", "5")];
        expect(get, &two, unknown(), chunked, "Chunked([])");
        let closed = "HTTP/1.0 200 OK|connection: close|";
        expect(old, &[("trailer", "a")], unknown(), closed, "UntilClose");
    }

    #[test]
    fn some_answers_have_no_body() {
        let get = asked(SimpleMethod::Get, Version::HTTP_11);
        let head = asked(SimpleMethod::Head, Version::HTTP_11);
        let length = [("content-length", "9")];
        let nine = "HTTP/1.1 200 OK|content-length: 9|";
        assert_eq!(begun(head, 200, &length, Body::empty()), (nine.into(), String::new()));
        assert_eq!(begun(head, 200, &[], Body::from("123456789")).0, nine);
        assert_eq!(begun(head, 200, &[], unknown()), ("HTTP/1.1 200 OK|".into(), String::new()));
        for (status, line) in
            [(204, "HTTP/1.1 204 No Content|"), (304, "HTTP/1.1 304 Not Modified|")]
        {
            assert_eq!(begun(get, status, &length, unknown()), (line.into(), String::new()));
            assert_eq!(begun(head, status, &length, unknown()), (line.into(), String::new()));
        }
        let switching = begun(get, 101, &[("upgrade", "x")], Body::empty()).0;
        assert_eq!(switching, "HTTP/1.1 500 Internal Server Error|content-length: 0|");
    }

    #[test]
    fn what_is_the_lanes_is_not_written_twice() {
        let get = asked(SimpleMethod::Get, Version::HTTP_11);
        let fields = [
            ("x", "1"),
            ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
            ("connection", "x, Close"),
            ("transfer-encoding", "gzip"),
            ("set-cookie", "a"),
            ("set-cookie", "b"),
        ];
        let (head, _) = begun(get, 599, &fields, Body::from("a"));
        let expected =
            "HTTP/1.1 599 |x: 1|set-cookie: a|set-cookie: b|content-length: 1|connection: close|";
        assert_eq!(head, expected);
    }
}
