//! Where a handler's future lies while it runs: within a connection's turn, or in a stream's task.
//!
//! A future that has been polled cannot be moved, so it lies on the heap from the start; answers
//! that are there at once leave their place to the next. It catches no panic. Used by
//! [`super::connection`] and [`super::stream`].

use crate::body::Body;
use crate::interim;
use http::Response;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A place for one handler's future.
pub(super) struct HandlerSlot<F>(Pin<Box<Option<F>>>);

impl<F: Future<Output = Response<Body>>> HandlerSlot<F> {
    pub(super) fn empty() -> Self {
        Self(Box::pin(None))
    }

    /// Drops the future that was here, for `next`.
    pub(super) fn set(&mut self, next: Option<F>) {
        self.0.set(next);
    }

    /// Polls the handler; what its client is to be told ahead of the answer. Whoever answered is
    /// dropped.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
    ) -> (Poll<Response<Body>>, Vec<Response<()>>) {
        let (polled, told) = interim::for_client(|| match self.0.as_mut().as_pin_mut() {
            Some(handler) => handler.poll(cx),
            None => Poll::Pending,
        });
        if polled.is_ready() {
            self.set(None);
        }
        (polled, told)
    }
}
