//! Requests that parse but must not be handled.
//!
//! Checks what RFC 9112 asks of a server beyond syntax: one `Host`, one way to say how long a body
//! is, a transfer coding that we know. It looks at the head only and changes nothing. Called by the
//! server side before any handler.

use crate::scan::HeadFaults;
use http::{HeaderMap, Method, Request, StatusCode, Version, header};
use std::fmt;

/// Why a request is refused before a handler sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadRefusal {
    /// A line ends in LF without CR.
    BareLf,
    /// `Content-Length` stands beside `Transfer-Encoding`.
    LengthAndEncoding,
    /// `Content-Length` stands more than once.
    TwoLengths,
    /// `Content-Length` is no number.
    BadLength,
    /// The name of a field holds what none may.
    BadName,
    /// HTTP/1.1 without `Host` (RFC 9112 §3.2).
    NoHost,
    /// More than one `Host`.
    TwoHosts,
    /// A `Host` that is no host with an optional port.
    BadHost,
    /// HTTP/2 whose `Host` and `:authority` differ (RFC 9113 §8.3.1).
    HostDiffers,
    /// A transfer coding other than `chunked`.
    Encoding,
    /// A target of none of the four forms, or of one that the method does not have (RFC 9112 §3.2).
    BadTarget,
    /// A chunk's size line that parsers read differently.
    BadChunk,
    /// A head of more bytes than [`crate::Limits::header_bytes_max`].
    HeadTooLong,
}

impl HeadRefusal {
    /// The status to answer with.
    pub const fn status(self) -> StatusCode {
        match self {
            // RFC 9112 §6.1: a coding that is not understood.
            Self::Encoding => StatusCode::NOT_IMPLEMENTED,
            Self::HeadTooLong => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::BareLf
            | Self::LengthAndEncoding
            | Self::TwoLengths
            | Self::BadLength
            | Self::BadName
            | Self::NoHost
            | Self::TwoHosts
            | Self::BadHost
            | Self::HostDiffers
            | Self::BadTarget
            | Self::BadChunk => StatusCode::BAD_REQUEST,
        }
    }
}

/// Returns whether `request`, in whose bytes `faults` were found, is refused.
pub fn refusal<B>(request: &Request<B>, faults: HeadFaults) -> Option<HeadRefusal> {
    if faults != HeadFaults::NONE {
        if faults.intersects(HeadFaults::LENGTH_AND_ENCODING) {
            return Some(HeadRefusal::LengthAndEncoding);
        }
        if faults.intersects(HeadFaults::TWO_LENGTHS) {
            return Some(HeadRefusal::TwoLengths);
        }
        if faults.intersects(HeadFaults::HEAD_TOO_LONG) {
            return Some(HeadRefusal::HeadTooLong);
        }
        if faults.intersects(HeadFaults::CHUNK) {
            return Some(HeadRefusal::BadChunk);
        }
        if faults.intersects(HeadFaults::FRAGMENT) {
            return Some(HeadRefusal::BadTarget);
        }
        return Some(HeadRefusal::BareLf);
    }
    if !is_valid_target(request) {
        return Some(HeadRefusal::BadTarget);
    }
    let headers = request.headers();
    if headers.contains_key(header::TRANSFER_ENCODING) {
        if headers.contains_key(header::CONTENT_LENGTH) {
            return Some(HeadRefusal::LengthAndEncoding);
        }
        if !only_chunked(headers) {
            return Some(HeadRefusal::Encoding);
        }
    }
    host_refusal(request)
}

/// True if the target has a form that goes with the method. User information is refused: it only
/// ever serves to make an authority look like another (RFC 9110 §4.2.4).
fn is_valid_target<B>(request: &Request<B>) -> bool {
    let uri = request.uri();
    let (authority, path) = (uri.authority(), uri.path());
    if authority.is_some_and(|it| it.as_str().contains('@')) {
        return false;
    }
    if *request.method() == Method::CONNECT {
        return authority.is_some();
    }
    if request.version() == Version::HTTP_2 {
        return true;
    }
    match (uri.scheme(), authority) {
        // Only OPTIONS has the asterisk form.
        (None, None) => {
            path.starts_with('/') || (path == "*" && *request.method() == Method::OPTIONS)
        }
        (None, Some(_)) => false,
        (Some(_), _) => authority.is_some(),
    }
}

fn only_chunked(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    let first = codings.next().is_some_and(|it| it.as_bytes().eq_ignore_ascii_case(b"chunked"));
    first && codings.next().is_none()
}

fn host_refusal<B>(request: &Request<B>) -> Option<HeadRefusal> {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let (first, second) = (hosts.next(), hosts.next());
    if second.is_some() {
        return Some(HeadRefusal::TwoHosts);
    }
    let authority = request.uri().authority();
    match (request.version(), first) {
        (Version::HTTP_11, None) => return Some(HeadRefusal::NoHost),
        (Version::HTTP_2, None) if authority.is_none() => return Some(HeadRefusal::NoHost),
        (Version::HTTP_2, Some(host))
            if authority.is_some_and(|it| {
                !it.as_str().as_bytes().eq_ignore_ascii_case(host.as_bytes())
            }) =>
        {
            return Some(HeadRefusal::HostDiffers);
        }
        _ => {}
    }
    match first {
        Some(host) if !is_host(host.as_bytes()) => Some(HeadRefusal::BadHost),
        Some(_) | None => None,
    }
}

/// True if `host` has the form `uri-host [":" port]` (RFC 9110 §7.2), user information excluded.
/// An empty one is legal: it stands for "no authority".
pub fn is_host(host: &[u8]) -> bool {
    let (name, port) = match host {
        [b'[', rest @ ..] => {
            let Some(end) = memchr::memchr(b']', rest) else { return false };
            let (inside, behind) = rest.split_at(end);
            let literal = std::str::from_utf8(inside).unwrap_or("");
            if literal.parse::<std::net::Ipv6Addr>().is_err() {
                return false;
            }
            (&b""[..], &behind[1..])
        }
        _ => host.split_at(memchr::memchr(b':', host).unwrap_or(host.len())),
    };
    let port_is_right = match port {
        [] => true,
        [b':', digits @ ..] => digits.len() <= 5 && digits.iter().all(u8::is_ascii_digit),
        [..] => false,
    };
    port_is_right
        && name.len() <= 255
        && name
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=".contains(byte))
}

impl fmt::Display for HeadRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BareLf => "a line of the request ends in LF without CR",
            Self::LengthAndEncoding => "Content-Length and Transfer-Encoding are both there",
            Self::TwoLengths => "Content-Length is there more than once",
            Self::BadLength => "Content-Length is no number",
            Self::BadName => "the name of a field is none",
            Self::NoHost => "the request names no host",
            Self::TwoHosts => "the request names more than one host",
            Self::BadHost => "the Host field is no host",
            Self::HostDiffers => "Host and :authority differ",
            Self::BadTarget => "the target of the request is none",
            Self::BadChunk => "the size of a chunk is malformed",
            Self::HeadTooLong => "the head of the request is too long",
            Self::Encoding => "only the transfer coding chunked is known here",
        })
    }
}
