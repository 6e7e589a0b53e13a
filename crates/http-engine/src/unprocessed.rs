//! What an HTTP/2 server did with a request that got no answer, as far as it says so.
//!
//! A server that goes away, or has too much to do, says which requests it has not looked at (RFC
//! 9113 §6.8, §8.7): those may go out again whatever their method. It repeats nothing itself.
//! Called by the origin pool through [`SendError::fate`].

use crate::client::{self, SendError};
use std::error::Error;

/// Outcome of a request that got no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestFate {
    /// The server has not looked at it, for it takes no more of them at once.
    Refused,
    /// The server has not looked at it, for it is going away with its connection.
    Unprocessed,
    /// The server has given up this request alone.
    Reset,
    /// What came back breaks the protocol, or its head is too large.
    Misanswered,
    /// Nobody knows: the connection has ended.
    Unknown,
}

impl RequestFate {
    /// True if the server has done nothing about the request.
    pub const fn is_unprocessed(self) -> bool {
        matches!(self, Self::Refused | Self::Unprocessed)
    }
}

impl SendError {
    /// Returns what became of the request, as far as HTTP/2 or the parser tells.
    pub fn fate(&self) -> RequestFate {
        let engine = match &self.error {
            client::ClientError::Closed | client::ClientError::Body(_) => {
                return RequestFate::Unknown;
            }
            client::ClientError::BadHead(_) => return RequestFate::Misanswered,
            client::ClientError::Engine(engine) => engine,
        };
        let mut cause: Option<&(dyn Error + 'static)> = Some(engine);
        while let Some(why) = cause {
            if let Some(why) = why.downcast_ref::<h2::Error>() {
                return fate_of(why);
            }
            cause = why.source();
        }
        if engine.is_parse() { RequestFate::Misanswered } else { RequestFate::Unknown }
    }
}

fn fate_of(why: &h2::Error) -> RequestFate {
    match () {
        () if why.is_library() => RequestFate::Misanswered,
        () if !why.is_remote() => RequestFate::Unknown,
        // A single stream ends by GOAWAY only where its number is above the last one looked at.
        () if why.is_go_away() => RequestFate::Unprocessed,
        () if why.reason() == Some(h2::Reason::REFUSED_STREAM) => RequestFate::Refused,
        () if why.is_reset() => RequestFate::Reset,
        () => RequestFate::Unknown,
    }
}
