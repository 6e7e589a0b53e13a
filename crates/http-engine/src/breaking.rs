//! Answers that break off over HTTP/1 in hyper's hands: their failure is told once the rest has
//! left.
//!
//! hyper ends a connection as soon as a body fails, with what it has not written of that body and
//! its head; a client would get nothing of an answer that came and broke at once. [`BreakingBody`]
//! holds the failure back until hyper has written everything. HTTP/2 has the same of its own
//! ([`crate::http2`]). Called by the server side.

use crate::body::{Body, BodyError};
use crate::watch::ConnectionWatch;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// A body that fails late: see the module.
pub(crate) struct BreakingBody {
    body: Body,
    watch: Arc<ConnectionWatch>,
    /// Failure, and the flushes of the connection until then.
    failed: Option<(BodyError, u32)>,
}

impl BreakingBody {
    pub(crate) const fn new(body: Body, watch: Arc<ConnectionWatch>) -> Self {
        Self { body, watch, failed: None }
    }
}

impl HttpBody for BreakingBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = &mut *self;
        if this.failed.is_none() {
            let frame = ready!(Pin::new(&mut this.body).poll_frame(cx));
            let Some(Err(why)) = frame else { return Poll::Ready(frame) };
            this.failed = Some((why, this.watch.flushes()));
        }
        match this.failed.take() {
            Some((why, before)) if this.watch.flushes() != before => Poll::Ready(Some(Err(why))),
            waiting => {
                this.failed = waiting;
                // hyper flushes at the end of each of its turns.
                this.watch.wake_when_flushed(cx.waker());
                Poll::Pending
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
