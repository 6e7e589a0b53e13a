//! A body on its way to the client, as fast as the client makes room for it.
//!
//! A piece is asked of the body when the last one was handed to `h2`, and handed on when the
//! windows have room (RFC 9113 §5.2): `h2` holds one piece beyond its own bound, and no body is
//! read ahead of its client. A body that fails resets its stream once what came before has left,
//! for a reset takes what is queued with it. It keeps no time: what it waits for is noted in its
//! stream's [`StreamPace`]. Polled by [`super::stream`].

use super::pace::{ClientDue, StreamPace};
use super::piece::StreamPiece;
use crate::body::{Body, BodyError};
use bytes::Bytes;
use h2::{Reason, SendStream};
use http_body::{Body as HttpBody, Frame};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// The frame that a body gives when it is asked, or its end.
pub(super) type NextFrame = Option<Result<Frame<Bytes>, BodyError>>;

/// A body that is being sent.
pub(super) struct BodySender {
    body: Body,
    stream: SendStream<StreamPiece>,
    pace: Arc<StreamPace>,
    /// Given by the body already.
    next: Option<NextFrame>,
    held: Option<HeldPiece>,
    course: SendCourse,
    /// Flushes of the connection until the head was handed to h2.
    flushes: u32,
}

/// A piece that waits for the client to make room.
struct HeldPiece {
    bytes: Bytes,
    is_last: bool,
    due: ClientDue,
}

/// Says if the body is whole so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SendCourse {
    Going,
    Failed,
}

/// The outcome of sending a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SendOutcome {
    /// All of it is handed to h2.
    HandedOn,
    /// The stream is at its end, in whatever way.
    Over,
}

impl BodySender {
    /// Sends `body`, which has given `next` already, behind a head.
    pub(super) fn new(
        body: Body,
        next: Option<NextFrame>,
        stream: SendStream<StreamPiece>,
        pace: Arc<StreamPace>,
    ) -> Self {
        let flushes = pace.watch().flushes();
        Self { body, stream, pace, next, held: None, course: SendCourse::Going, flushes }
    }

    /// Sends these bytes, for which there is no room at the moment.
    pub(super) fn of_bytes(
        bytes: Bytes,
        stream: SendStream<StreamPiece>,
        pace: Arc<StreamPace>,
    ) -> Self {
        let mut sender = Self::new(Body::empty(), None, stream, pace);
        sender.hold(bytes);
        sender
    }

    /// Sends on. Polled again after its end, it does nothing.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<SendOutcome> {
        loop {
            // A client that wants no more says so by a reset.
            if self.stream.poll_reset(cx).is_ready() {
                return Poll::Ready(SendOutcome::Over);
            }
            if self.held.is_some() {
                ready!(self.poll_room(cx));
                if let Some(outcome) = self.send_held() {
                    return Poll::Ready(outcome);
                }
                continue;
            }
            if self.course == SendCourse::Failed {
                ready!(self.poll_failed(cx));
                self.stream.send_reset(Reason::INTERNAL_ERROR);
                return Poll::Ready(SendOutcome::Over);
            }
            let next = match self.next.take() {
                Some(next) => next,
                None => ready!(Pin::new(&mut self.body).poll_frame(cx)),
            };
            match next {
                Some(Ok(frame)) => {
                    if let Some(outcome) = self.take(frame) {
                        return Poll::Ready(outcome);
                    }
                }
                Some(Err(_)) => self.course = SendCourse::Failed,
                None => return Poll::Ready(self.send_end()),
            }
        }
    }

    /// The pace of its stream.
    pub(super) const fn pace(&self) -> &Arc<StreamPace> {
        &self.pace
    }

    /// Resets the stream, and drops what is queued of its answer.
    pub(super) fn cut(&mut self) {
        self.stream.send_reset(Reason::CANCEL);
    }

    fn take(&mut self, frame: Frame<Bytes>) -> Option<SendOutcome> {
        match frame.into_data() {
            Ok(bytes) if bytes.is_empty() => None,
            Ok(bytes) => {
                self.hold(bytes);
                None
            }
            Err(frame) => {
                let trailers = frame.into_trailers().ok()?;
                let sent = self.stream.send_trailers(trailers);
                if sent.is_err() {
                    // Fields of a connection, which must not be sent, or a stream that has ended.
                    self.course = SendCourse::Failed;
                    return None;
                }
                Some(SendOutcome::HandedOn)
            }
        }
    }

    fn hold(&mut self, bytes: Bytes) {
        // Whatever is asked for is withheld from other streams: a byte will do to wait for, and h2
        // asks for the rest when it has the piece.
        self.stream.reserve_capacity(1);
        let is_last = self.body.is_end_stream();
        self.held = Some(HeldPiece { bytes, is_last, due: ClientDue::new(&self.pace) });
    }

    /// Waits until the client has room for some of the piece, or for none any more.
    fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while self.stream.capacity() == 0 {
            match ready!(self.stream.poll_capacity(cx)) {
                Some(Ok(_)) => {}
                // The stream has ended, which the next step finds.
                Some(Err(_)) | None => break,
            }
        }
        Poll::Ready(())
    }

    fn send_held(&mut self) -> Option<SendOutcome> {
        let held = self.held.take()?;
        let piece = StreamPiece::watched(held.bytes, held.due);
        match self.stream.send_data(piece, held.is_last) {
            Ok(()) => held.is_last.then_some(SendOutcome::HandedOn),
            Err(_) => Some(SendOutcome::Over),
        }
    }

    /// The end of a body that did not say that its last piece is one.
    fn send_end(&mut self) -> SendOutcome {
        match self.stream.send_data(StreamPiece::plain(Bytes::new()), true) {
            Ok(()) => SendOutcome::HandedOn,
            Err(_) => SendOutcome::Over,
        }
    }

    /// Waits until the head and all pieces have left.
    fn poll_failed(&self, cx: &mut Context<'_>) -> Poll<()> {
        let watch = self.pace.watch();
        if watch.flushes() == self.flushes {
            watch.wake_when_flushed(cx.waker());
            return Poll::Pending;
        }
        if self.pace.is_sent(cx.waker()) { Poll::Ready(()) } else { Poll::Pending }
    }
}
