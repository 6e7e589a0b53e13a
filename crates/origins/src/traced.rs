//! The span of a request that goes out: begun before a connection is looked for, ended with the
//! answer's head.
//!
//! Called by [`super::send`] alone, so that everything that goes out passes here once.

use super::error::{DialError, SendError, UnansweredRequest};
use super::server::OriginServer;
use http::{Request, Response};
use http_engine::Body;
use telemetry::ClientSpan;

/// Begins the span of a request to `server`, if it belongs to a trace that is recorded.
pub(super) fn begin(request: &mut Request<Body>, server: &OriginServer) -> Option<Box<ClientSpan>> {
    let scheme = if server.is_secure() { "https" } else { "http" };
    ClientSpan::begin(request, scheme, || server.authority())
}

/// Ends it; what was not sent may go elsewhere, in a span of its own.
pub(super) fn end(
    span: Option<Box<ClientSpan>>,
    mut sent: Result<Response<Body>, UnansweredRequest>,
) -> Result<Response<Body>, UnansweredRequest> {
    let Some(span) = span else { return sent };
    match &mut sent {
        Ok(response) => span.answered(response.status(), response.version()),
        Err(UnansweredRequest { error, unsent_request }) => {
            if let Some(request) = unsent_request {
                span.restore(request.headers_mut());
            }
            span.failed(error_type(error));
        }
    }
    sent
}

/// The `error.type` of a failure: a word for each reason.
const fn error_type(why: &SendError) -> &'static str {
    match why {
        SendError::Dial(why) => match why {
            DialError::NoAddress(_) => "no_address",
            DialError::Forbidden | DialError::CnameBlocked(_) => "forbidden",
            DialError::Refused(_) => "connection_refused",
            DialError::Timeout => "connect_timeout",
            DialError::Tls(_) => "tls",
            DialError::Parent(_) | DialError::ParentRefused(_) => "parent_proxy",
        },
        SendError::Busy(_) => "busy",
        SendError::Closed => "connection_closed",
        SendError::Timeout => "timeout",
        SendError::BadResponse(_) => "bad_response",
        SendError::BodyTooLarge => "body_too_large",
        SendError::BodyBroken => "body_broken",
    }
}
