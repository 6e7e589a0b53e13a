//! The body of a message that is being received.
//!
//! hyper's own, one on a stream of HTTP/2 ([`crate::http2`]), or that of an answer on a connection
//! of ours ([`crate::client`]); none reads anything before it is asked. Trailers that may not stand
//! behind it are left out. Over HTTP/2 it notes besides when the client owes more of a request, so
//! that a stream that stalls can be cut by itself. It keeps no byte. Made by the server and the
//! client side, read by whoever has the message.

use crate::body_error::{BodyError, EngineError};
use crate::client::answer_body::AnswerBody;
use crate::http2::pace::{BodyCourse, StreamPace};
use crate::http2::request_body::RequestBody;
use crate::trailers::{self, TrailerOf};
use crate::unfinished::UnfinishedPermit;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A body that is being received: see the module.
pub struct Incoming {
    source: IncomingSource,
    stream: Option<Arc<StreamPace>>,
    trailer_rules: TrailerOf,
    /// Given up once all of it has come.
    unfinished: Option<Box<UnfinishedPermit>>,
}

/// Where it comes from.
enum IncomingSource {
    /// There is nothing to receive.
    None,
    /// All of it came with its head.
    Complete(Bytes),
    Engine(hyper::body::Incoming),
    Stream(RequestBody),
    Answer(Box<AnswerBody>),
}

impl Incoming {
    /// The body of a request that nobody sends: ours, to ourselves.
    pub const fn none() -> Self {
        Self {
            source: IncomingSource::None,
            stream: None,
            trailer_rules: TrailerOf::Request,
            unfinished: None,
        }
    }

    /// A body that came with its head.
    pub(crate) fn from_bytes(bytes: Bytes) -> Self {
        let source =
            if bytes.is_empty() { IncomingSource::None } else { IncomingSource::Complete(bytes) };
        Self { source, stream: None, trailer_rules: TrailerOf::Answer, unfinished: None }
    }

    /// The body of a request on a stream of HTTP/2 with that pace.
    pub(crate) fn of_stream(body: RequestBody, pace: Arc<StreamPace>) -> Self {
        Self {
            source: IncomingSource::Stream(body),
            stream: Some(pace),
            trailer_rules: TrailerOf::Request,
            unfinished: None,
        }
    }

    /// The body of a request over HTTP/1.
    pub(crate) fn of_request(body: hyper::body::Incoming) -> Self {
        Self {
            source: IncomingSource::Engine(body),
            stream: None,
            trailer_rules: TrailerOf::Request,
            unfinished: None,
        }
    }

    /// The body of an answer over HTTP/2.
    pub(crate) fn of_answer(body: hyper::body::Incoming) -> Self {
        Self {
            source: IncomingSource::Engine(body),
            stream: None,
            trailer_rules: TrailerOf::Answer,
            unfinished: None,
        }
    }

    /// True if some of it has still to come.
    pub(crate) fn is_incomplete(&self) -> bool {
        let is_received = match &self.source {
            IncomingSource::None | IncomingSource::Complete(_) => false,
            IncomingSource::Engine(_) | IncomingSource::Stream(_) | IncomingSource::Answer(_) => {
                true
            }
        };
        is_received && !self.is_end_stream()
    }

    /// Holds `place` until all of it has come, or it is dropped.
    pub(crate) fn hold_permit(&mut self, place: UnfinishedPermit) {
        self.unfinished = Some(Box::new(place));
    }

    /// Returns what is left of it, if all of that has come.
    pub(crate) fn take_if_complete(&mut self) -> Option<Bytes> {
        match &mut self.source {
            IncomingSource::None => Some(Bytes::new()),
            IncomingSource::Complete(bytes) => {
                let bytes = std::mem::take(bytes);
                self.source = IncomingSource::None;
                Some(bytes)
            }
            IncomingSource::Engine(_) | IncomingSource::Stream(_) | IncomingSource::Answer(_) => {
                None
            }
        }
    }
}

impl From<AnswerBody> for Incoming {
    fn from(body: AnswerBody) -> Self {
        Self {
            source: IncomingSource::Answer(Box::new(body)),
            stream: None,
            trailer_rules: TrailerOf::Answer,
            unfinished: None,
        }
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
        if this.stream.as_ref().is_some_and(|stream| stream.body_course() == BodyCourse::Cut) {
            return Poll::Ready(Some(Err(BodyError::TooSlow)));
        }
        let behind = this.trailer_rules;
        let frame = match &mut this.source {
            IncomingSource::None | IncomingSource::Complete(_) => {
                let bytes = this.take_if_complete().filter(|bytes| !bytes.is_empty());
                return Poll::Ready(bytes.map(|bytes| Ok(Frame::data(bytes))));
            }
            IncomingSource::Answer(body) => {
                let frame = body.poll_frame(cx).map_err(BodyError::Answer);
                return frame.map_ok(|frame| sifted(frame, behind));
            }
            IncomingSource::Engine(body) => {
                Pin::new(body).poll_frame(cx).map_err(EngineError::Hyper)
            }
            IncomingSource::Stream(body) => body.poll_frame(cx).map_err(EngineError::Http2),
        };
        let frame = frame.map_ok(|frame| sifted(frame, behind));
        let is_over = match &frame {
            Poll::Pending => false,
            Poll::Ready(Some(Ok(_))) => this.is_end_stream(),
            Poll::Ready(Some(Err(_)) | None) => true,
        };
        if is_over {
            this.unfinished = None;
        }
        if let Some(stream) = &this.stream {
            match &frame {
                _ if is_over => stream.upload_over(),
                Poll::Ready(Some(Ok(frame))) => {
                    stream.upload_received(frame.data_ref().map_or(0, Bytes::len));
                }
                Poll::Ready(_) | Poll::Pending => stream.upload_waits(cx.waker()),
            }
        }
        frame.map_err(BodyError::Received)
    }

    fn is_end_stream(&self) -> bool {
        match &self.source {
            IncomingSource::None => true,
            IncomingSource::Complete(_) => false,
            IncomingSource::Engine(body) => body.is_end_stream(),
            IncomingSource::Stream(body) => body.is_end_stream(),
            IncomingSource::Answer(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            IncomingSource::None => SizeHint::with_exact(0),
            IncomingSource::Complete(bytes) => SizeHint::with_exact(bytes.len() as u64),
            IncomingSource::Engine(body) => body.size_hint(),
            IncomingSource::Stream(body) => body.size_hint(),
            IncomingSource::Answer(body) => body.size_hint(),
        }
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if let Some(stream) = &self.stream {
            stream.upload_over();
        }
    }
}

/// The frame with those trailers that go on.
fn sifted(mut frame: Frame<Bytes>, behind: TrailerOf) -> Frame<Bytes> {
    if let Some(trailers) = frame.trailers_mut() {
        trailers::remove_disallowed(trailers, behind);
    }
    frame
}

impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Incoming")
    }
}
