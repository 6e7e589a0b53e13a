//! Reasons why there is no answer of a script, or none to its end.

use crate::answer::BadHead;
use crate::pool::NoConnection;
use crate::records::BadRecord;
use crate::turns::NoTurn;
use http::StatusCode;
use std::fmt;
use std::io;

/// Why there is no answer, or none to its end.
#[derive(Debug)]
pub(crate) enum ScriptBroken {
    /// The connection failed.
    Io(io::Error),
    /// The server closed it before the request was done.
    Closed,
    Record(BadRecord),
    Head(BadHead),
    /// Nothing moved for too long.
    TimedOut,
    /// The client's body broke off.
    ClientBody,
    /// The client has gone.
    ClientGone,
}

/// Why there is no answer from a script.
#[derive(Debug)]
pub enum ScriptFailure {
    /// The body is longer than a script is given.
    BodyTooLarge,
    /// The body broke off or came too slowly.
    Body,
    /// Too many requests wait for a turn.
    Busy,
    /// The server cannot be reached, or the program not be started.
    Down(String),
    /// Did not answer in time.
    TimedOut,
    /// Bytes that are no answer.
    Bad(String),
}

impl ScriptFailure {
    /// The status that says so.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Body => StatusCode::BAD_REQUEST,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Self::Down(_) | Self::Bad(_) => StatusCode::BAD_GATEWAY,
            Self::TimedOut => StatusCode::GATEWAY_TIMEOUT,
        }
    }
}

impl From<NoTurn> for ScriptFailure {
    fn from(NoTurn: NoTurn) -> Self {
        Self::Busy
    }
}

impl From<NoConnection> for ScriptFailure {
    fn from(why: NoConnection) -> Self {
        match why {
            NoConnection::Busy => Self::Busy,
            NoConnection::Refused(why) => Self::Down(why.to_string()),
            NoConnection::TimedOut => Self::Down("it takes no connection".into()),
        }
    }
}

impl From<ScriptBroken> for ScriptFailure {
    fn from(why: ScriptBroken) -> Self {
        match why {
            ScriptBroken::TimedOut => Self::TimedOut,
            ScriptBroken::ClientBody | ScriptBroken::ClientGone => Self::Body,
            ScriptBroken::Io(_)
            | ScriptBroken::Closed
            | ScriptBroken::Record(_)
            | ScriptBroken::Head(_) => Self::Bad(why.to_string()),
        }
    }
}

impl fmt::Display for ScriptFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BodyTooLarge => f.write_str("the body is longer than a script is given"),
            Self::Body => f.write_str("the body broke off"),
            Self::Busy => f.write_str("too many requests wait for a script"),
            Self::Down(why) => write!(f, "the script cannot be reached: {why}"),
            Self::TimedOut => f.write_str("the script did not answer in time"),
            Self::Bad(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for ScriptFailure {}

impl fmt::Display for ScriptBroken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(why) => write!(f, "the connection to the FastCGI server failed: {why}"),
            Self::Closed => f.write_str("the FastCGI server closed the connection too early"),
            Self::Record(why) => write!(f, "the FastCGI server sent {why}"),
            Self::Head(why) => why.fmt(f),
            Self::TimedOut => f.write_str("the script did not answer in time"),
            Self::ClientBody => f.write_str("the client's body broke off"),
            Self::ClientGone => f.write_str("the client has gone"),
        }
    }
}

impl std::error::Error for ScriptBroken {}
