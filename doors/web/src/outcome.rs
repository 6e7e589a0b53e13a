//! Outcome of a request: what the site or the policy has for it, not yet in the client's form.
//!
//! Made by `visit` and `request`; shaped by `shape`.

use crate::answer::FileSource;
use crate::listing::ListedFolder;
use crate::path::BadPath;
use crate::root::NotOpened;
use cgi::{ScriptAnswer, ScriptFailure};
use http::{HeaderValue, Response, StatusCode};
use http_engine::Body;
use policy::RuleText;
use route_matching::NoLocation;
use vocab::Source;

/// Outcome of a request.
pub(crate) enum WebOutcome {
    Refused(WebRefusal),
    /// By this rule of the policy.
    Blocked(Option<RuleText>),
    File(FileSource),
    Listing(ListedFolder),
    /// A notice that a folder is not listed.
    Unlisted,
    /// Several files as one.
    Joined(FileSource),
    /// What a script says, or why it says nothing.
    Script(Result<ScriptAnswer, ScriptFailure>),
    /// Answered by the site's script in Luau.
    Luau(Box<Response<Body>>),
    /// The site's script in Luau failed.
    LuauFailed,
    /// Answer to a request to write.
    Written(Box<Response<Body>>),
    /// A name and a password are due.
    Unauthorized(HeaderValue),
    /// Too many passwords are being checked.
    Busy,
    /// The same by HTTPS.
    Secure(HeaderValue),
    /// A folder without its slash; the path with it.
    Slash(String),
    /// The site's rules have it elsewhere.
    Moved(String, StatusCode),
    NotOpened(NotOpened),
}

/// Why a request is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WebRefusal {
    Method,
    Path(BadPath),
    /// The handshake was another site's.
    Misdirected,
    /// Several files that cannot be one.
    Joined,
    /// Writing is for others.
    Writer,
    /// A copy or a move leads to another site.
    Destination,
    /// Must come by HTTPS, and names no host to send it to.
    Plain,
    /// A redirect that comes to no place for it.
    Elsewhere(NoLocation),
}

impl WebOutcome {
    /// Where the answer comes from.
    pub(crate) fn source(&self) -> Source {
        match self {
            Self::Refused(_) | Self::Unauthorized(_) | Self::Busy => Source::Refused,
            Self::Blocked(_) => Source::Policy,
            Self::File(_)
            | Self::Listing(_)
            | Self::Unlisted
            | Self::Joined(_)
            | Self::Written(_)
            | Self::Slash(_)
            | Self::Moved(..)
            | Self::Secure(_)
            | Self::NotOpened(NotOpened::NotFound | NotOpened::Forbidden) => Source::File,
            Self::Luau(_) => Source::Local,
            Self::Script(Ok(_)) => Source::Origin,
            Self::LuauFailed | Self::Script(Err(_)) | Self::NotOpened(NotOpened::Failed) => {
                Source::Failed
            }
        }
    }
}
