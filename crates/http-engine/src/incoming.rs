//! The body of a message that is being received.
//!
//! hyper's own, which reads nothing before it is asked; over HTTP/2 it notes besides when the client
//! owes more of a request, so that a stream that stalls can be cut by itself. It keeps no byte. Made
//! by the server and the client side, read by whoever has the message.

use crate::body::BodyError;
use crate::pace::{Course, Pace};
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A body that is being received: see the module.
pub struct Incoming {
    /// None: there is nothing to receive.
    body: Option<hyper::body::Incoming>,
    stream: Option<Arc<Pace>>,
}

impl Incoming {
    /// The body of a request that nobody sends: ours, to ourselves.
    pub const fn none() -> Self {
        Self { body: None, stream: None }
    }

    /// The body of a request on a stream of HTTP/2.
    pub(crate) fn of_stream(body: hyper::body::Incoming, stream: &Arc<Pace>) -> Self {
        // Most requests have none: they are not waited for.
        let stream = (!body.is_end_stream()).then(|| Arc::clone(stream));
        Self { body: Some(body), stream }
    }
}

impl From<hyper::body::Incoming> for Incoming {
    fn from(body: hyper::body::Incoming) -> Self {
        Self { body: Some(body), stream: None }
    }
}

impl HttpBody for Incoming {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = &mut *self;
        if this.stream.as_ref().is_some_and(|stream| stream.course() == Course::Cut) {
            return Poll::Ready(Some(Err(BodyError::TooSlow)));
        }
        let Some(body) = &mut this.body else { return Poll::Ready(None) };
        let frame = Pin::new(&mut *body).poll_frame(cx);
        if let Some(stream) = &this.stream {
            match &frame {
                Poll::Pending => stream.upload_waits(cx.waker()),
                Poll::Ready(Some(Ok(_))) if body.is_end_stream() => stream.upload_over(),
                Poll::Ready(Some(Ok(frame))) => {
                    stream.upload_came(frame.data_ref().map_or(0, Bytes::len));
                }
                Poll::Ready(Some(Err(_)) | None) => stream.upload_over(),
            }
        }
        frame.map_err(BodyError::Received)
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or(SizeHint::with_exact(0), HttpBody::size_hint)
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if let Some(stream) = &self.stream {
            stream.upload_over();
        }
    }
}

impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Incoming")
    }
}
