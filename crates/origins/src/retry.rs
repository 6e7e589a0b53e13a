//! Whether a request that got no answer may go out once more, and whose fault that was.
//!
//! It may if not a byte of it was sent, if the server says that it has done nothing about it, or if
//! its connection had been idle and repeating it changes nothing (RFC 9110 §9.2.2). It sends
//! nothing. Called by [`super::send`].

use super::connection_policy::ResponseTimeout;
use super::error::{SendError, UnansweredRequest};
use super::leased::{ConnectionLease, RequestRefusals};
use http::Request;
use http_body::Body as _;
use http_body_util::LengthLimitError;
use http_engine::body::{Body, BodyError};
use http_engine::client::SendError as EngineError;
use http_engine::unprocessed::RequestFate;
use std::error::Error;

/// Tells what is kept of a request for a second try. Its body was empty.
pub(super) enum SecondTry {
    /// Goes out again if its connection broke.
    IfBroken(Box<Request<Body>>),
    /// The same, and its connection gives it back then: no copy is needed.
    IfGivenBack,
    /// Goes out again if its server has done nothing about it.
    IfUnprocessed(Box<Request<Body>>),
    /// Does not.
    Never,
}

/// A request that got no answer.
pub(super) struct FailedRequest {
    pub(super) error: SendError,
    pub(super) fate: RequestFate,
    /// The request, if not a byte of it was sent.
    pub(super) unsent_request: Option<Box<Request<Body>>>,
    /// The request, if its connection kept it and not a byte of an answer came.
    pub(super) unanswered: Option<Box<Request<Body>>>,
}

/// The connection that a request is about to go over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionUse {
    /// Was there before: it may be dead without anybody's fault.
    Used,
    /// Is new.
    Fresh,
}

/// True if repeating the request changes nothing, and it could be repeated.
pub(super) fn is_retryable(request: &Request<Body>) -> bool {
    request.method().is_idempotent() && request.body().is_end_stream()
}

impl SecondTry {
    /// Returns what is kept of `request` before it goes over `lease`.
    pub(super) fn keep(
        request: &Request<Body>,
        over: ConnectionUse,
        lease: &ConnectionLease,
    ) -> Self {
        match (over, lease.refusals()) {
            (ConnectionUse::Used, _) if is_retryable(request) && lease.keeps(request) => {
                Self::IfGivenBack
            }
            (ConnectionUse::Used, _) if is_retryable(request) => Self::IfBroken(copy_of(request)),
            (_, RequestRefusals::Single) if request.body().is_end_stream() => {
                Self::IfUnprocessed(copy_of(request))
            }
            (
                ConnectionUse::Used | ConnectionUse::Fresh,
                RequestRefusals::None | RequestRefusals::Single,
            ) => Self::Never,
        }
    }

    /// The request, if it may go out again after it has failed so.
    pub(super) fn after(
        self,
        failed: FailedRequest,
    ) -> Result<Box<Request<Body>>, UnansweredRequest> {
        let FailedRequest { error: why, fate, unsent_request: unsent, unanswered } = failed;
        if let Some(unsent) = unsent {
            return Ok(unsent);
        }
        match self {
            Self::IfGivenBack if why == SendError::Closed => {
                unanswered.ok_or(UnansweredRequest { error: why, unsent_request: None })
            }
            Self::IfBroken(copy) | Self::IfUnprocessed(copy) if fate.is_unprocessed() => Ok(copy),
            // A connection that has ended may have been dead before; one that is reset was not.
            Self::IfBroken(copy) if why == SendError::Closed && fate != RequestFate::Reset => {
                Ok(copy)
            }
            Self::IfBroken(_) | Self::IfGivenBack | Self::IfUnprocessed(_) | Self::Never => {
                Err(UnansweredRequest { error: why, unsent_request: None })
            }
        }
    }

    /// Returns what is said of the last failure: the request goes along if it may be sent
    /// elsewhere.
    pub(super) fn at_last(self, failed: FailedRequest) -> UnansweredRequest {
        let FailedRequest { error: why, fate, unsent_request: unsent, .. } = failed;
        let unsent = match (unsent, self) {
            (Some(unsent), _) => Some(unsent),
            (None, Self::IfBroken(copy) | Self::IfUnprocessed(copy)) if fate.is_unprocessed() => {
                Some(copy)
            }
            (None, _) => None,
        };
        UnansweredRequest { error: why, unsent_request: unsent }
    }
}

fn copy_of(request: &Request<Body>) -> Box<Request<Body>> {
    let mut copy = Request::new(Body::empty());
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.version_mut() = request.version();
    *copy.headers_mut() = request.headers().clone();
    if let Some(own) = request.extensions().get::<ResponseTimeout>() {
        copy.extensions_mut().insert(*own);
    }
    Box::new(copy)
}

impl FailedRequest {
    /// The head of the answer did not come in time.
    pub(super) const fn timed_out() -> Self {
        Self {
            error: SendError::Timeout,
            fate: RequestFate::Unknown,
            unsent_request: None,
            unanswered: None,
        }
    }

    /// It cannot be written as HTTP/2 has it.
    pub(super) fn unsendable() -> Self {
        let error = SendError::BadResponse("its Host cannot be sent over HTTP/2".into());
        Self { error, fate: RequestFate::Misanswered, unsent_request: None, unanswered: None }
    }
}

impl From<EngineError> for FailedRequest {
    fn from(failure: EngineError) -> Self {
        Self {
            error: blamed(&failure),
            fate: failure.fate(),
            unsent_request: failure.unsent_request,
            unanswered: failure.unanswered,
        }
    }
}

/// Finds out what broke: the client's body, the connection, or the answer.
fn blamed(failure: &EngineError) -> SendError {
    let mut cause: Option<&(dyn Error + 'static)> = failure.error.source();
    while let Some(why) = cause {
        if why.is::<LengthLimitError>() {
            return SendError::BodyTooLarge;
        }
        if let Some(body) = why.downcast_ref::<BodyError>() {
            return body_blamed(body);
        }
        cause = why.source();
    }
    match failure.fate() {
        RequestFate::Misanswered => SendError::BadResponse(failure.error.to_string()),
        RequestFate::Refused
        | RequestFate::Unprocessed
        | RequestFate::Reset
        | RequestFate::Unknown => SendError::Closed,
    }
}

/// A body that is wrapped carries its cause as deep as it is wrapped.
fn body_blamed(failure: &BodyError) -> SendError {
    match failure {
        BodyError::Other(why) if why.is::<LengthLimitError>() => SendError::BodyTooLarge,
        BodyError::Other(why) => {
            why.downcast_ref::<BodyError>().map_or(SendError::BodyBroken, body_blamed)
        }
        BodyError::Received(_) | BodyError::Answer(_) | BodyError::TooSlow | BodyError::Aborted => {
            SendError::BodyBroken
        }
    }
}
