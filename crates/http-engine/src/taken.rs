//! Bodies of HTTP/2 answers that say whether the client takes them.
//!
//! In HTTP/2 a client may keep a stream's window shut while the socket flows and pings are
//! answered: nothing of that is seen from below. [`TakenBody`] wraps a body and notes when the next
//! move is the client's; [`TakenPiece`] is a frame of it and counts the bytes that leave. It cuts
//! nothing: the notes go to the stream's [`StreamPace`], and [`crate::timeouts`] judges. A body
//! that fails says so once what came before it has left, for a stream that is reset loses what h2
//! has not sent of it. Called by the server side for HTTP/2 only.

use crate::body::{Body, BodyError};
use crate::pace::StreamPace;
use bytes::{Buf, Bytes};
use http_body::{Body as HttpBody, Frame, SizeHint};
use std::io::IoSlice;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A body in whose streams the client is waited for.
pub(crate) struct TakenBody {
    body: Body,
    stream: Arc<StreamPace>,
    /// While the client is to make room before more is asked of the body.
    client_due: Option<ClientDue>,
    failed: Option<BodyError>,
    /// Flushes of the connection until the head was handed to h2.
    flushes: u32,
}

/// Bytes that wait to be sent.
pub(crate) struct TakenPiece {
    bytes: Bytes,
    due: ClientDue,
}

/// The next move is the client's while this lives.
struct ClientDue(Arc<StreamPace>);

impl ClientDue {
    fn new(stream: &Arc<StreamPace>) -> Self {
        stream.send_queued();
        Self(Arc::clone(stream))
    }
}

impl Drop for ClientDue {
    fn drop(&mut self) {
        self.0.send_done();
    }
}

impl TakenBody {
    /// hyper asks for the first piece once the stream has room.
    pub(crate) fn new(body: Body, stream: Arc<StreamPace>) -> Self {
        let flushes = stream.watch().flushes();
        Self { body, client_due: Some(ClientDue::new(&stream)), stream, failed: None, flushes }
    }

    /// The failure of the body, once its head and all of its pieces have left.
    fn poll_failure(&mut self, why: BodyError, cx: &mut Context<'_>) -> Poll<BodyError> {
        let watch = self.stream.watch();
        if watch.flushes() == self.flushes {
            watch.wake_when_flushed(cx.waker());
        } else if self.stream.is_sent(cx.waker()) {
            return Poll::Ready(why);
        }
        self.failed = Some(why);
        Poll::Pending
    }
}

impl HttpBody for TakenBody {
    type Data = TakenPiece;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<TakenPiece>, BodyError>>> {
        self.client_due = None;
        if let Some(why) = self.failed.take() {
            return self.poll_failure(why, cx).map(|why| Some(Err(why)));
        }
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(Some(Err(why))) = frame {
            return self.poll_failure(why, cx).map(|why| Some(Err(why)));
        }
        if let Poll::Ready(Some(Ok(_))) = &frame {
            self.client_due = Some(ClientDue::new(&self.stream));
        }
        let stream = &self.stream;
        frame.map_ok(|it| it.map_data(|bytes| TakenPiece { bytes, due: ClientDue::new(stream) }))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Buf for TakenPiece {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn chunks_vectored<'a>(&'a self, into: &mut [IoSlice<'a>]) -> usize {
        self.bytes.chunks_vectored(into)
    }

    fn advance(&mut self, count: usize) {
        self.due.0.took(count);
        self.bytes.advance(count);
    }

    fn copy_to_bytes(&mut self, count: usize) -> Bytes {
        self.due.0.took(count);
        self.bytes.copy_to_bytes(count)
    }
}
