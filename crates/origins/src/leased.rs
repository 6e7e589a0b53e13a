//! A connection on loan to a response's body, and given back at its end.
//!
//! Dropped before its end, a body of HTTP/1.1 closes its connection, for what is left unread would
//! precede the next answer; one of HTTP/2 resets its stream alone. Called by [`super::send`].

use super::pool::{self, OpenConnection, PoolCaps, PoolKey};
use super::shared::StreamPermit;
use bytes::Bytes;
use http::Request;
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_engine::Incoming;
use http_engine::body::{Body, BodyError};
use http_engine::client::RequestSender;
use http_engine::unprocessed::RequestFate;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// A connection, or a place on one, for one request.
#[expect(
    clippy::large_enum_variant,
    reason = "a body's box holds it: one more would cost a request"
)]
pub(super) enum ConnectionLease {
    /// A connection of HTTP/1.1.
    Own(OwnedConnection),
    /// A place on one of HTTP/2.
    Shared(StreamPermit),
}

/// A connection, and where it is kept.
pub(super) struct OwnedConnection {
    pub(super) key: PoolKey,
    pub(super) open: OpenConnection,
    pub(super) caps: PoolCaps,
}

/// Tells what a server can say of one request alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestRefusals {
    /// Nothing: HTTP/1.1.
    None,
    /// That it has not looked at it: HTTP/2.
    Single,
}

impl ConnectionLease {
    pub(super) fn owned(key: PoolKey, open: OpenConnection, caps: PoolCaps) -> Self {
        Self::Own(OwnedConnection { key, open, caps })
    }

    pub(super) fn sender(&mut self) -> &mut RequestSender {
        match self {
            Self::Own(own) => {
                own.open.requests = own.open.requests.saturating_add(1);
                &mut own.open.sender
            }
            Self::Shared(stream) => &mut stream.sender,
        }
    }

    /// True if it gives `request` back where no byte of an answer comes.
    pub(super) fn keeps(&self, request: &Request<Body>) -> bool {
        match self {
            Self::Own(own) => own.open.sender.keeps(request),
            Self::Shared(_) => false,
        }
    }

    /// Returns what the server can say of one request alone.
    pub(super) const fn refusals(&self) -> RequestRefusals {
        match self {
            Self::Own(_) => RequestRefusals::None,
            Self::Shared(_) => RequestRefusals::Single,
        }
    }

    /// A request over it has failed so: one that is shared may be of no use to others either.
    pub(super) fn failed(&self, fate: RequestFate) {
        match (self, fate) {
            (Self::Shared(stream), RequestFate::Unprocessed | RequestFate::Unknown) => {
                stream.mark_going_away();
            }
            (Self::Shared(_) | Self::Own(_), _) => {}
        }
    }

    fn release(self) {
        match self {
            Self::Own(own) => pool::put_idle(own.key, own.open, own.caps),
            Self::Shared(stream) => drop(stream),
        }
    }

    /// Holds the connection until `body` was read to its end.
    pub(super) fn hold_until_read(mut self, body: Incoming) -> Body {
        // A body that came with its head needs the connection no more.
        let is_free = match &mut self {
            Self::Own(own) => own.open.sender.is_ready(),
            Self::Shared(_) => false,
        };
        if is_free || body.is_end_stream() {
            self.release();
            return Body::from(body);
        }
        Body::boxed(LeasedBody { body, lease: Some(self) })
    }
}

/// A response body that gives its connection back.
struct LeasedBody {
    body: Incoming,
    lease: Option<ConnectionLease>,
}

impl HttpBody for LeasedBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        let ended = match &frame {
            None => true,
            Some(Ok(_)) => self.body.is_end_stream(),
            Some(Err(_)) => {
                self.lease = None;
                false
            }
        };
        if ended && let Some(lease) = self.lease.take() {
            lease.release();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
