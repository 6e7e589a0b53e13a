//! The fast path: simple requests answered without hyper.
//!
//! Most requests are a `GET` or `HEAD` without a body, and most of what a full HTTP engine does for
//! them is not needed. The fast path reads, parses strictly, and asks the door twice: a door that
//! can answer at once, from memory, implements [`FastPath`], and all such answers at hand are
//! written in one go; what it does not claim its handler answers in its own time, and the fast path
//! frames and sends that too. The first request that is not simple takes its connection over to
//! hyper with every byte, and for good. Nothing is refused here: what is malformed is hyper's and
//! [`crate::refuse`]'s to refuse. Called through [`crate::serve`] and
//! [`crate::serve_with_fast_path`].

pub(crate) mod answer;
pub(crate) mod connection;
pub(crate) mod framing;
pub(crate) mod head;
mod request;
mod scratch;
pub(crate) mod sending;

use crate::date;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Version};
use std::fmt;

/// A door's short way to an answer.
pub trait FastPath {
    /// The form of target that this way is asked in; any other is the handler's.
    const FORM: TargetForm = TargetForm::Origin;

    /// Answers `request` by appending to `out`, or leaves it to the handler.
    ///
    /// Called on the connection's thread, once per simple request and in order; it must not block.
    /// `out` may hold earlier answers: append only. An answer is a status line, fields with their
    /// line ends, [`SimpleRequest::end_head`], and the body (none to `HEAD`, 304 and 204). It must
    /// say how long it is: `Content-Length`, but for 304 and 204. `Date` and `Connection` are the
    /// fast path's.
    ///
    /// ```
    /// use http_engine::fast_path::{FastPath, FastReply, SimpleRequest, SimpleMethod};
    ///
    /// struct Hello;
    ///
    /// impl FastPath for Hello {
    ///     fn answer(&self, request: &SimpleRequest<'_>, out: &mut Vec<u8>) -> FastReply {
    ///         if request.path() != "/hello" {
    ///             return FastReply::Decline;
    ///         }
    ///         out.extend_from_slice(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n");
    ///         request.end_head(out);
    ///         if request.method() == SimpleMethod::Get {
    ///             out.extend_from_slice(b"hello\n");
    ///         }
    ///         FastReply::Done
    ///     }
    /// }
    /// ```
    fn answer(&self, request: &SimpleRequest<'_>, out: &mut Vec<u8>) -> FastReply;
}

/// The forms of target that the fast path knows (RFC 9112 §3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetForm {
    /// `/path?query`: servers are asked so.
    Origin,
    /// `http://host/path?query`: proxies are asked so. `Host` must name the same.
    Absolute,
}

/// Outcome of a request at the fast path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FastReply {
    /// The whole answer was appended.
    Done,
    /// The head was appended; these bytes are the body, and are sent without a copy. Worth it from
    /// some 16 KiB on: below, a copy is cheaper than a second piece.
    DoneWithBody(Bytes),
    /// The handler is to answer. What was appended is taken back.
    Decline,
}

/// A quick way that claims nothing: every request is the handler's.
#[derive(Clone, Copy, Debug)]
pub struct NoQuick;

impl FastPath for NoQuick {
    fn answer(&self, _: &SimpleRequest<'_>, _: &mut Vec<u8>) -> FastReply {
        FastReply::Decline
    }
}

/// The methods of simple requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimpleMethod {
    /// `GET`.
    Get,
    /// `HEAD`: the head that `GET` would have, and no body.
    Head,
}

/// Tells whether the connection lives on after an answer, and how that is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionPersistence {
    /// HTTP/1.1's default: nothing is said.
    Keep,
    /// HTTP/1.0 on request (RFC 9112 §9.3): said, or the client would wait for the close.
    KeepAndAnnounce,
    /// Closed after the answer.
    Close,
}

impl ConnectionPersistence {
    /// Returns what says so, and the empty line.
    pub(crate) const fn end_of_head(self) -> &'static [u8] {
        match self {
            Self::Keep => b"\r\n",
            Self::KeepAndAnnounce => b"connection: keep-alive\r\n\r\n",
            Self::Close => b"connection: close\r\n\r\n",
        }
    }
}

/// A request that the fast path understands: `GET` or `HEAD`, HTTP/1.0 or 1.1, no body, no
/// `Expect`, no `Upgrade`, one well-formed `Host` (HTTP/1.0 may lack it), every line ended by CR
/// LF. A [`FastPath`] sees only those of its [`FastPath::FORM`] in which **no field stands twice**.
/// Borrowed from the bytes as they came.
#[derive(Clone, Copy)]
pub struct SimpleRequest<'r> {
    pub(crate) method: SimpleMethod,
    /// The target as it was sent.
    pub(crate) raw_target: &'r str,
    pub(crate) form: TargetForm,
    /// Path and query.
    pub(crate) target: &'r str,
    pub(crate) version: Version,
    pub(crate) host: Option<&'r str>,
    pub(crate) persistence: ConnectionPersistence,
    pub(crate) fields: &'r [httparse::Header<'r>],
    /// Which lengths the names of its fields have: most look-ups end at one bit.
    pub(crate) lengths: NameLengths,
    pub(crate) names: FieldRepetition,
}

/// Tells whether a name stands over two fields of a request: then it is a list, and the handler's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldRepetition {
    Single,
    Repeated,
}

/// A set of name lengths in bytes; from 63 on they share a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NameLengths(u64);

impl NameLengths {
    pub(crate) fn add(&mut self, name: &str) {
        self.0 |= Self::bit(name);
    }

    pub(crate) fn may_have(self, name: &str) -> bool {
        self.0 & Self::bit(name) != 0
    }

    fn bit(name: &str) -> u64 {
        1 << name.len().min(63)
    }
}

impl<'r> SimpleRequest<'r> {
    /// `GET` or `HEAD`.
    pub const fn method(&self) -> SimpleMethod {
        self.method
    }

    /// Path and query as they were sent: begins with `/`, ASCII, and only characters that
    /// RFC 3986 allows in a path or query. Neither decoded nor freed of dots.
    pub const fn target(&self) -> &'r str {
        self.target
    }

    /// The target up to its first `?`.
    pub fn path(&self) -> &'r str {
        self.target.split_once('?').map_or(self.target, |(path, _)| path)
    }

    /// Returns what follows the first `?`, if there is one.
    pub fn query(&self) -> Option<&'r str> {
        self.target.split_once('?').map(|(_, query)| query)
    }

    /// HTTP/1.0 or 1.1.
    pub const fn version(&self) -> Version {
        self.version
    }

    /// The `Host` field, or the authority of an absolute target, well formed, with its port if it
    /// has one. `None` only in HTTP/1.0.
    pub const fn host(&self) -> Option<&'r str> {
        self.host
    }

    /// The value of the field `name`, in any case, without the white space around it.
    pub fn field(&self, name: &str) -> Option<&'r [u8]> {
        if !self.lengths.may_have(name) {
            return None;
        }
        self.fields.iter().find(|it| it.name.eq_ignore_ascii_case(name)).map(|it| it.value)
    }

    /// The same as text; `None` also where it holds bytes beyond ASCII.
    pub fn text(&self, name: &str) -> Option<&'r str> {
        self.field(name).filter(|value| value.is_ascii()).and_then(|it| str::from_utf8(it).ok())
    }

    /// Every field in the order of the request.
    pub fn fields(&self) -> impl Iterator<Item = (&'r str, &'r [u8])> {
        self.fields.iter().map(|it| (it.name, it.value))
    }

    /// The fields as a map, for the rules that want one. Costs more than the rest of the fast path.
    pub fn header_map(&self) -> HeaderMap {
        let named = self.fields().filter_map(|(name, value)| {
            let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
            Some((name, HeaderValue::from_bytes(value).ok()?))
        });
        named.collect()
    }

    /// Appends what every answer has, `Date` and where due `Connection`, and the empty line.
    pub fn end_head(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"date: ");
        out.extend_from_slice(&date::now_field());
        out.extend_from_slice(b"\r\n");
        self.end_dated_head(out);
    }

    /// The same for an answer that has the `Date` of its origin.
    pub fn end_dated_head(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.persistence.end_of_head());
    }
}

impl From<SimpleMethod> for Method {
    fn from(method: SimpleMethod) -> Self {
        match method {
            SimpleMethod::Get => Self::GET,
            SimpleMethod::Head => Self::HEAD,
        }
    }
}

impl fmt::Debug for SimpleRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Simple({:?} {} {:?})", self.method, self.target, self.host)
    }
}
