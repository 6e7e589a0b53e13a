//! Why an origin gave no answer, and whose fault that is.

use std::fmt;
use vocab::DomainName;

/// Tells whose fault a failure is: a door turns it into a status, in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The origin, or the way to it: 502.
    Origin,
    /// The origin was too slow: 504.
    Slow,
    /// The client: its body broke off or was too large.
    Client,
    /// We do not go there: 403.
    Guard,
    /// As many connections to the origin are open as may be: 503.
    Busy,
}

/// Why no connection came about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DialError {
    /// The name has no address, or no resolver said so in time.
    NoAddress(String),
    /// The host has addresses, but none that this client may reach.
    Forbidden,
    /// The host's name is an alias of this one, which this client must not reach.
    CnameBlocked(DomainName),
    /// Every address refused, or no route led there.
    Refused(String),
    /// No address answered in time.
    Timeout,
    /// The TLS handshake failed: an unknown authority, a wrong name, no common version.
    Tls(String),
    /// The parent proxy cannot be reached or speaks no HTTP: another may serve.
    Parent(String),
    /// The parent proxy was asked and said no.
    ParentRefused(String),
}

/// Why a request got no place among the connections to its origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OriginBusy {
    /// Too many requests wait for one already.
    QueueFull,
    /// None became free in time.
    TooLong,
}

/// Why a request got no response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendError {
    /// No connection.
    Dial(DialError),
    /// No place for a connection.
    Busy(OriginBusy),
    /// The connection was closed before the response.
    Closed,
    /// The response's head did not come in time.
    Timeout,
    /// What came back is no HTTP response.
    BadResponse(String),
    /// The client's request body is over the door's cap.
    BodyTooLarge,
    /// The client's request body broke off.
    BodyBroken,
}

/// A request that got no response, and the request itself if it may be sent elsewhere.
#[derive(Debug)]
pub struct UnansweredRequest {
    /// Why.
    pub error: SendError,
    /// The request, if not a byte of it left: no connection came about.
    pub unsent_request: Option<Box<http::Request<http_engine::Body>>>,
}

impl DialError {
    /// Returns whose fault it is.
    pub const fn blame(&self) -> Blame {
        match self {
            Self::NoAddress(_)
            | Self::Refused(_)
            | Self::Tls(_)
            | Self::Parent(_)
            | Self::ParentRefused(_) => Blame::Origin,
            Self::Timeout => Blame::Slow,
            Self::Forbidden | Self::CnameBlocked(_) => Blame::Guard,
        }
    }
}

impl SendError {
    /// Returns whose fault it is.
    pub const fn blame(&self) -> Blame {
        match self {
            Self::Dial(why) => why.blame(),
            Self::Busy(OriginBusy::QueueFull | OriginBusy::TooLong) => Blame::Busy,
            Self::Closed | Self::BadResponse(_) => Blame::Origin,
            Self::Timeout => Blame::Slow,
            Self::BodyTooLarge | Self::BodyBroken => Blame::Client,
        }
    }
}

impl From<DialError> for SendError {
    fn from(why: DialError) -> Self {
        Self::Dial(why)
    }
}

impl fmt::Display for DialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAddress(why) => write!(f, "the host has no address: {why}"),
            Self::Forbidden => f.write_str("the host's address is out of bounds for this client"),
            Self::CnameBlocked(alias) => {
                write!(f, "the host is an alias of {alias}, which is blocked")
            }
            Self::Refused(why) => write!(f, "the host refused the connection: {why}"),
            Self::Timeout => f.write_str("the host did not take the connection in time"),
            Self::Tls(why) => write!(f, "the TLS handshake with the host failed: {why}"),
            Self::Parent(why) => write!(f, "the parent proxy does not serve: {why}"),
            Self::ParentRefused(why) => write!(f, "the parent proxy refused: {why}"),
        }
    }
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dial(why) => why.fmt(f),
            Self::Busy(why) => why.fmt(f),
            Self::Closed => f.write_str("the host closed the connection before it answered"),
            Self::Timeout => f.write_str("the host did not answer in time"),
            Self::BadResponse(why) => write!(f, "the host's answer is not HTTP: {why}"),
            Self::BodyTooLarge => f.write_str("the request's body is too large"),
            Self::BodyBroken => f.write_str("the request's body broke off"),
        }
    }
}

impl fmt::Display for OriginBusy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("as many connections to the host are open as may be, and ")?;
        f.write_str(match self {
            Self::QueueFull => "too many requests wait for one already",
            Self::TooLong => "none became free in time",
        })
    }
}

impl std::error::Error for DialError {}
impl std::error::Error for SendError {}
