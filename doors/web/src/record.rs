//! The record of a request once it is done.
//!
//! A body that is still to be sent carries its ticket along, which is closed when its last byte is
//! gone, or when the client is. It decides nothing. Called by `request`.

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_engine::{Body, BodyError};
use http_front::RequestTicket;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// A body that is counted as it leaves, with the ticket that is closed after it.
pub(crate) struct CountedBody {
    inner: Body,
    sent: u64,
    ticket: Option<RequestTicket>,
}

impl CountedBody {
    /// Counts `inner`; the ticket is closed with the count when it is dropped.
    pub(crate) const fn new(inner: Body, ticket: RequestTicket) -> Self {
        Self { inner, sent: 0, ticket: Some(ticket) }
    }
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(cx));
        match &frame {
            Some(Ok(frame)) => self.sent += frame.data_ref().map_or(0, Bytes::len) as u64,
            Some(Err(_)) => {
                if let Some(ticket) = &mut self.ticket {
                    ticket.broke_off();
                }
            }
            None => {}
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Drop for CountedBody {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            ticket.close(self.sent);
        }
    }
}
