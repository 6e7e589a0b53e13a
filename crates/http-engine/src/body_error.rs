//! Why a body ended before its end: ours, one that is being received, or that of an answer.
//!
//! It names no body, so that all kinds of bodies may name it.

use std::fmt;

/// Failure of the library that frames messages.
#[derive(Debug)]
pub enum EngineError {
    /// HTTP/1 as server, HTTP/2 as client.
    Hyper(hyper::Error),
    /// HTTP/2 as server.
    Http2(h2::Error),
}

/// Why a body ended before its end.
#[derive(Debug)]
pub enum BodyError {
    /// The message that it came in broke off or was malformed.
    Received(EngineError),
    /// The answer that it belongs to broke off or was malformed.
    Answer(BadBody),
    /// HTTP/2: whoever sends it was slower than [`crate::Limits::rate_bytes_min`], and its stream
    /// was cut.
    TooSlow,
    /// Whoever produced it gave up; the client must not take it for complete.
    Aborted,
    /// Another body's own error.
    Other(Box<dyn std::error::Error + Send + Sync>),
}

/// Why the body of an answer ended before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadBody {
    /// The connection ended in the middle of it.
    CutOff,
    /// A chunk is malformed.
    Chunk,
    /// Extensions or trailers are longer than anybody needs.
    TooLarge,
    /// Trailers are malformed.
    Trailers,
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hyper(why) => why.fmt(f),
            Self::Http2(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for EngineError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Hyper(why) => why.source(),
            Self::Http2(why) => why.source(),
        }
    }
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Received(why) => write!(f, "the body broke off: {why}"),
            Self::Answer(why) => write!(f, "the body broke off: {why}"),
            Self::TooSlow => f.write_str("the body came more slowly than the least rate"),
            Self::Aborted => f.write_str("the body was given up by its producer"),
            Self::Other(why) => write!(f, "the body failed: {why}"),
        }
    }
}

impl std::error::Error for BodyError {}

impl fmt::Display for BadBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CutOff => "the connection ended in the middle of the body",
            Self::Chunk => "a chunk of the body is malformed",
            Self::TooLarge => "the extensions or trailers of the body are too long",
            Self::Trailers => "the trailers of the body are malformed",
        })
    }
}

impl std::error::Error for BadBody {}
