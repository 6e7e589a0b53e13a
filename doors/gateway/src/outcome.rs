//! The outcome of a request, before it is made an answer.
//!
//! Given by whatever acts for a request, shaped by `shape`.

use crate::guards::{BlockRules, GuardAnswer};
use crate::upgraded::LeavingConnection;
use http::Response;
use http_engine::Body;
use origins::SendError;
use policy::Verdict;
use route_matching::BadPath;
use std::sync::Arc;
use std::time::Duration;
use vocab::{DomainName, Source};

/// Why a request goes no further than being read.
pub(crate) enum GatewayRefusal {
    Method,
    Host,
    Path(BadPath),
    BodyTooLarge,
    /// The connection was made for another name.
    Misdirected,
    /// Too many connections have left HTTP.
    TooManyUpgrades,
}

/// Outcome of a request.
pub(crate) enum GatewayOutcome {
    Refused(GatewayRefusal),
    Blocked {
        verdict: Verdict,
        host: DomainName,
        /// Block that refuses it, where that is not the policy.
        block: Option<Arc<BlockRules>>,
    },
    Nowhere,
    /// The route's own answer, or what its folder has.
    Answered(Response<Body>, Source),
    /// A guard of its route did not let it through.
    Rejected(Box<GuardAnswer>),
    Fetched(Response<Body>),
    Cached(http_cache::ServedAnswer),
    /// The server agreed to leave HTTP, and the client had asked for it.
    Switched(Response<Body>, LeavingConnection),
    /// The route's script failed, and its requests with it.
    ScriptFailed,
    Loop,
    Failed(SendError),
    /// The pool has nobody for it; this is when to ask again.
    Unavailable(Duration),
}
