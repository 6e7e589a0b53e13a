//! A body that is counted on its way, and says when and how it ended.

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_engine::body::{Body, BodyError};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep};

/// Tells how a metered body ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyEnd {
    /// Was passed on to its last byte.
    Complete,
    /// Sender broke off or stalled.
    Broken,
    /// Reader went away before the end.
    Unread,
}

/// Passes a body on, ends it when its sender is silent for too long, and calls back once with the
/// bytes carried and how it ended.
pub struct MeteredBody<F: FnOnce(u64, BodyEnd)> {
    body: Body,
    bytes: u64,
    stall: Duration,
    alarm: Option<Pin<Box<Sleep>>>,
    turn: BodyTurn,
    done: Option<F>,
}

/// Tells who keeps the body waiting: only the sender's silence counts, not the reader's.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BodyTurn {
    Sender,
    Reader,
}

/// The sender of a body was silent for too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct StalledSender;

impl<F: FnOnce(u64, BodyEnd) + Unpin + 'static> MeteredBody<F> {
    /// Wraps `body`: `done` is called exactly once. A sender silent for `stall` counts as gone.
    pub fn wrap(body: Body, stall: Duration, done: F) -> Body {
        if body.is_end_stream() {
            done(0, BodyEnd::Complete);
            return body;
        }
        Body::boxed(Self {
            body,
            bytes: 0,
            stall,
            alarm: None,
            turn: BodyTurn::Reader,
            done: Some(done),
        })
    }
}

impl<F: FnOnce(u64, BodyEnd)> MeteredBody<F> {
    fn end(&mut self, how: BodyEnd) {
        if let Some(done) = self.done.take() {
            done(self.bytes, how);
        }
    }

    fn stalled(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let stall = self.stall;
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep(stall)));
        if std::mem::replace(&mut self.turn, BodyTurn::Sender) == BodyTurn::Reader {
            alarm.as_mut().reset(Instant::now() + stall);
        }
        alarm.as_mut().poll(cx)
    }
}

impl<F: FnOnce(u64, BodyEnd) + Unpin> HttpBody for MeteredBody<F> {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = &mut *self;
        match Pin::new(&mut this.body).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                this.bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
                this.turn = BodyTurn::Reader;
                if this.body.is_end_stream() {
                    this.end(BodyEnd::Complete);
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(None) => {
                this.end(BodyEnd::Complete);
                Poll::Ready(None)
            }
            Poll::Ready(Some(Err(why))) => {
                this.end(BodyEnd::Broken);
                Poll::Ready(Some(Err(why)))
            }
            Poll::Pending if this.stalled(cx).is_ready() => {
                this.end(BodyEnd::Broken);
                Poll::Ready(Some(Err(BodyError::Other(Box::new(StalledSender)))))
            }
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<F: FnOnce(u64, BodyEnd)> Drop for MeteredBody<F> {
    fn drop(&mut self) {
        self.end(BodyEnd::Unread);
    }
}

impl std::fmt::Display for StalledSender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the origin was silent for too long in the middle of a body")
    }
}

impl std::error::Error for StalledSender {}
