//! The body of a request on a stream of HTTP/2, frame by frame.
//!
//! What is taken makes room for as much more (RFC 9113 §5.2); nothing is taken before it is asked
//! for. It judges no trailers and keeps no time: [`crate::Incoming`] does. Read by that.

use bytes::Bytes;
use h2::{Reason, RecvStream};
use http_body::{Frame, SizeHint};
use std::task::{Context, Poll, ready};

/// A body that comes over a stream.
pub(crate) struct RequestBody {
    stream: RecvStream,
    /// Bytes that are still to come, where the request says so.
    left: Option<u64>,
    stage: BodyStage,
}

/// Stage of a body: the kind of frame that comes next.
enum BodyStage {
    Data,
    Trailers,
}

impl RequestBody {
    /// A body of `length` bytes, if its request says so.
    pub(super) const fn new(stream: RecvStream, length: Option<u64>) -> Self {
        Self { stream, left: length, stage: BodyStage::Data }
    }

    pub(crate) fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, h2::Error>>> {
        loop {
            let outcome = match self.stage {
                BodyStage::Data => match ready!(self.stream.poll_data(cx)) {
                    Some(Ok(bytes)) => {
                        // Only a stream that has ended refuses, and needs no room.
                        let _ = self.stream.flow_control().release_capacity(bytes.len());
                        self.left = self.left.map(|left| left.saturating_sub(bytes.len() as u64));
                        Ok(Some(Frame::data(bytes)))
                    }
                    None => {
                        self.stage = BodyStage::Trailers;
                        continue;
                    }
                    Some(Err(why)) => Err(why),
                },
                BodyStage::Trailers => {
                    ready!(self.stream.poll_trailers(cx)).map(|it| it.map(Frame::trailers))
                }
            };
            return Poll::Ready(match outcome {
                Ok(frame) => frame.map(Ok),
                // The client wants no more of this exchange, and nothing went wrong (§8.1).
                Err(why) if why.reason() == Some(Reason::NO_ERROR) => None,
                Err(why) => Some(Err(why)),
            });
        }
    }

    pub(crate) fn is_end_stream(&self) -> bool {
        self.stream.is_end_stream()
    }

    pub(crate) fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
