//! Ends of a server's connection that are out of order.
//!
//! It decides nothing; doors drop it or count by it. Made by [`crate::serve`] and the fast path.

use crate::EngineError;
use crate::body::BodyError;
use std::fmt;
use std::io;

/// End of a connection that was not in order.
#[derive(Debug)]
pub enum ServeError {
    /// The head of a request did not come within its time.
    HeadTooSlow,
    /// The client took nothing of an answer, or sent nothing of a body, for too long.
    Stalled,
    /// The client took an answer, or sent a body, more slowly than [`Limits::rate_bytes_min`].
    TooSlow,
    /// The byte stream failed, or the client went away before its answer.
    Io(io::Error),
    /// The body of an answer failed, or was shorter than it was said to be.
    Answer(BodyError),
    /// HTTP was broken, or broke off.
    Http(EngineError),
}

impl ServeError {
    /// True if the client simply went away, which is nobody's fault and worth no log line.
    pub fn is_client_gone(&self) -> bool {
        match self {
            Self::Http(EngineError::Hyper(why)) => {
                why.is_incomplete_message() || why.is_canceled() || why.is_closed()
            }
            // What is malformed fails reading too.
            Self::Http(EngineError::Http2(why)) => {
                why.get_io().is_some_and(|why| why.kind() != io::ErrorKind::InvalidData)
            }
            Self::Io(_) => true,
            Self::HeadTooSlow | Self::Stalled | Self::TooSlow | Self::Answer(_) => false,
        }
    }
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HeadTooSlow => f.write_str("the head of a request did not come in time"),
            Self::Stalled => f.write_str("the client stalled"),
            Self::TooSlow => f.write_str("the client was slower than the least rate"),
            Self::Io(why) => write!(f, "the connection failed: {why}"),
            Self::Answer(why) => write!(f, "an answer broke off: {why}"),
            Self::Http(why) => write!(f, "HTTP failed: {why}"),
        }
    }
}

impl std::error::Error for ServeError {}
