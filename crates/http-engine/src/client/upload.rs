//! The body of a request on its way to a server, behind its head.
//!
//! It is framed as answers are ([`crate::fast_path::framing`]) and goes out in the same writes as
//! the head, as far as it is at hand. Whoever waits for the answer drives it; an answer that comes
//! first takes the reading half of the connection, and a task sends the rest. Called by
//! [`super::exchange`] and [`super::direct`].

use super::answer_head::parse_digits;
use super::scratch::{give_back, take_scratch};
use crate::body::{Body, BodyError};
use crate::fast_path::framing::{AnswerProgress, BodyContinuation, ClientFraming};
use crate::fast_path::sending::SendState;
use crate::trailers::{TrailerOf, announced};
use http::{HeaderMap, header};
use std::future::{Future, poll_fn};
use std::io;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::task::{AbortHandle, spawn_local};
use tokio::time::{Sleep, sleep, timeout};

/// Time for which a server is waited for that was asked whether it wants a body (RFC 9110 §10.1.1):
/// curl's second. Servers that know nothing of the question say nothing.
const CONTINUE_TIMEOUT: Duration = Duration::from_secs(1);
/// Time for which a server that has answered may take nothing of the rest.
const STALL_TIMEOUT: Duration = Duration::from_mins(1);

/// A body on its way.
pub(super) struct RequestUpload {
    /// Until it was given to `sending`.
    head: Vec<u8>,
    body: AnswerProgress,
    sending: SendState,
    remaining: UploadLeft,
    /// While the server is asked whether it wants it.
    gate: Option<Pin<Box<Sleep>>>,
}

/// The part of a body that it has still to give.
enum UploadLeft {
    More,
    Done,
    /// Has failed.
    Broken(BodyError),
}

/// The cause for which a body did not reach its server.
#[derive(Debug)]
pub(super) enum UploadError {
    /// The server takes nothing more.
    Io,
    /// The body failed: its server must not take what it has for whole.
    Body(BodyError),
}

/// The moment at which a body goes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContinueRequest {
    First,
    Not,
}

impl RequestUpload {
    /// A body that follows `head`, in which its framing is told.
    pub(super) fn new(
        head: Vec<u8>,
        body: Body,
        framing: ClientFraming,
        asks: ContinueRequest,
    ) -> Self {
        let gate = (asks == ContinueRequest::First).then(|| Box::pin(sleep(CONTINUE_TIMEOUT)));
        let body = AnswerProgress { body, framing };
        Self { head, body, sending: SendState::default(), remaining: UploadLeft::More, gate }
    }

    /// The server wants it.
    pub(super) fn open(&mut self) {
        self.gate = None;
    }

    /// Tells whether it still waits to be asked for.
    pub(super) fn waits_for_continue(&self) -> bool {
        self.gate.is_some()
    }

    /// Sends on, to the last byte.
    pub(super) fn poll<W: AsyncWrite + Unpin>(
        &mut self,
        io: &mut W,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), UploadError>> {
        loop {
            if !self.sending.is_done() {
                let emptied = ready!(self.sending.poll(io, cx)).map_err(|_| UploadError::Io)?;
                give_back(emptied);
            }
            let is_head = !self.head.is_empty();
            if !is_head {
                ready!(self.poll_gate(cx));
                match mem::replace(&mut self.remaining, UploadLeft::More) {
                    UploadLeft::More => {}
                    UploadLeft::Done => return Poll::Ready(Ok(())),
                    UploadLeft::Broken(why) => return Poll::Ready(Err(UploadError::Body(why))),
                }
            }
            let mut out = if is_head { mem::take(&mut self.head) } else { take_scratch() };
            let mut filled = BodyContinuation::More.without_large();
            if self.gate.is_none() {
                filled = self.body.fill(cx, &mut out);
            }
            let mut waits = false;
            match filled.continuation {
                BodyContinuation::More => {}
                BodyContinuation::Wait => waits = true,
                BodyContinuation::End => self.remaining = UploadLeft::Done,
                BodyContinuation::Broken(why) => self.remaining = UploadLeft::Broken(why),
            }
            if !out.is_empty() || !filled.large.is_empty() {
                let sent = ready!(self.sending.start(io, cx, &mut out, filled.large));
                sent.map_err(|_: io::Error| UploadError::Io)?;
            }
            give_back(out);
            if waits {
                return Poll::Pending;
            }
        }
    }

    /// Waits until the server wants the body, or was waited for long enough.
    fn poll_gate(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(gate) = &mut self.gate {
            ready!(gate.as_mut().poll(cx));
            self.gate = None;
        }
        Poll::Ready(())
    }

    /// Sends the rest in a task of its own, and closes `io` behind a body that breaks off.
    pub(super) fn spawn_rest<W>(mut self: Box<Self>, mut io: W) -> AbortHandle
    where
        W: AsyncWrite + Unpin + 'static,
    {
        let task = spawn_local(async move {
            loop {
                let before = self.sending.progress;
                match timeout(STALL_TIMEOUT, poll_fn(|cx| self.poll(&mut io, cx))).await {
                    Ok(Ok(())) => return,
                    Err(_) if self.sending.is_done() || self.sending.progress != before => {}
                    Ok(Err(_)) | Err(_) => break,
                }
            }
            // The end of what we send, in the middle of a body: it is not whole.
            drop(timeout(STALL_TIMEOUT, io.shutdown()).await);
        });
        task.abort_handle()
    }
}

/// Returns how the end of `body` is told behind the fields `headers`; `None`: there is none. What a
/// body knows of itself stands over what is said of it.
pub(super) fn framing(headers: &HeaderMap, body: &Body) -> Option<ClientFraming> {
    use http_body::Body as _;
    if body.is_end_stream() {
        return None;
    }
    Some(match body.size_hint().exact().or_else(|| declared_length(headers)) {
        Some(bytes) => ClientFraming::Length(bytes),
        None => ClientFraming::Chunked(announced(headers, TrailerOf::Request)),
    })
}

/// The length that the fields tell, if they tell a single one.
pub(super) fn declared_length(headers: &HeaderMap) -> Option<u64> {
    let mut told = headers.get_all(header::CONTENT_LENGTH).iter();
    let length = parse_digits(told.next()?.as_bytes());
    told.next().is_none().then_some(length)?
}
