//! Changes to messages that scripts and filters may make beside fields: another path, another
//! status, an answer of their own.

use crate::request::{ScriptAnswer, ScriptedRequest};
use crate::response::ScriptedResponse;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Method, StatusCode, Uri};
use std::fmt;

/// Bytes of the longest body of an answer that a script makes.
const BODY_BYTES_MAX: usize = 1024 * 1024;
/// Bytes of the longest path that a script sets.
const PATH_BYTES_MAX: usize = 8 * 1024;

/// A change that is refused, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeRefusal {
    /// No answer has this status.
    Status(u16),
    /// A success would open the tunnel.
    OpenTunnel,
    /// The body has so many bytes.
    LongBody(usize),
    /// An answer with this status has no body.
    NoBody(StatusCode),
    /// The request is for a tunnel, which has no path.
    TunnelPath,
    /// The path does not begin with a slash, or is too long.
    PathShape,
    /// The path cannot be read.
    Path(String),
    /// One of two statuses says that there is no body, and the body is on its way.
    BareStatus {
        /// The status of the answer.
        from: u16,
        /// The status that was to be set.
        to: u16,
    },
}

impl ScriptAnswer {
    /// The answer to a request of `method`, if it may be given. A body is plain text, unless the
    /// fields say otherwise.
    pub fn new(
        method: &Method,
        status: u16,
        mut headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<Self, ChangeRefusal> {
        let code = StatusCode::from_u16(status).ok().filter(|_| (200..600).contains(&status));
        let status = code.ok_or(ChangeRefusal::Status(status))?;
        if status.is_success() && method == Method::CONNECT {
            return Err(ChangeRefusal::OpenTunnel);
        }
        if body.len() > BODY_BYTES_MAX {
            return Err(ChangeRefusal::LongBody(body.len()));
        }
        let is_empty = status == StatusCode::NO_CONTENT || status == StatusCode::NOT_MODIFIED;
        if is_empty && !body.is_empty() {
            return Err(ChangeRefusal::NoBody(status));
        }
        if !body.is_empty() {
            let plain = HeaderValue::from_static("text/plain; charset=utf-8");
            headers.entry(CONTENT_TYPE).or_insert(plain);
        }
        Ok(Self { status, headers, body })
    }
}

impl ScriptedRequest {
    /// Leads the request to another path and query.
    pub fn set_path(&mut self, path: &[u8]) -> Result<(), ChangeRefusal> {
        if self.method == Method::CONNECT {
            return Err(ChangeRefusal::TunnelPath);
        }
        if path.first() != Some(&b'/') || path.len() > PATH_BYTES_MAX {
            return Err(ChangeRefusal::PathShape);
        }
        let unreadable = |why: &dyn fmt::Display| {
            ChangeRefusal::Path(format!("{:?} is no path: {why}", String::from_utf8_lossy(path)))
        };
        let uri = Uri::try_from(path).map_err(|why| unreadable(&why))?;
        let mut parts = self.uri.clone().into_parts();
        parts.path_and_query = uri.into_parts().path_and_query;
        self.uri = Uri::from_parts(parts).map_err(|why| unreadable(&why))?;
        Ok(())
    }
}

impl ScriptedResponse {
    /// Sets the status. Some say that there is no body, and the body is on its way already.
    pub fn set_status(&mut self, status: u16) -> Result<(), ChangeRefusal> {
        let is_bare = |status: u16| status < 200 || status == 204 || status == 304;
        let (old, code) = (self.status.as_u16(), StatusCode::from_u16(status).ok());
        let code = code.filter(|_| status < 600 && !is_bare(status) && !is_bare(old));
        self.status = code.ok_or(ChangeRefusal::BareStatus { from: old, to: status })?;
        Ok(())
    }
}

impl fmt::Display for ChangeRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "{status} is no status from 200 to 599"),
            Self::OpenTunnel => {
                f.write_str("a tunnel that is answered so is open; refuse it with 403")
            }
            Self::LongBody(length) => write!(
                f,
                "a body of {length} bytes is longer than the {BODY_BYTES_MAX} that a script may \
                 send"
            ),
            Self::NoBody(status) => write!(f, "an answer with {status} has no body"),
            Self::TunnelPath => f.write_str("a tunnel has no path"),
            Self::PathShape => {
                write!(f, "a path begins with a slash and has at most {PATH_BYTES_MAX} bytes")
            }
            Self::Path(why) => f.write_str(why),
            Self::BareStatus { from, to } => write!(
                f,
                "a status of {from} cannot become {to}: one of them says that there is no body"
            ),
        }
    }
}

impl std::error::Error for ChangeRefusal {}
