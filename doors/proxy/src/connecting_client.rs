//! A client whose `CONNECT` came in another dress, heard as if it spoke HTTP.
//!
//! The engine reads a request that the client has not written as its connection's first, so that
//! access, policy, destinations, tunnels and log are the same; the head of the answer becomes what
//! such a client is told. It decides nothing. Made by `socks`, and by `transparent` for TLS.

use std::any::Any;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes of an answer's head at most: it is our own.
const HEAD_BYTES_MAX: usize = 16 << 10;

/// Outcome of a request for a tunnel, as the head of its answer tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TunnelOutcome {
    Granted,
    NotAllowed,
    ConnectionRefused,
    HostUnreachable,
    Failed,
}

/// Says the outcome in the client's own protocol.
pub(crate) type OutcomeReply = fn(TunnelOutcome) -> Vec<u8>;

/// A client's connection that speaks HTTP, or is heard as if it did.
pub struct ConnectingClient<S> {
    stream: S,
    /// Bytes that are read before those of the stream: from `given` on.
    ahead: Vec<u8>,
    given: usize,
    answer: AnswerState,
    /// The reader that waits for more of a client that may be told no.
    waiting: Option<Waker>,
    /// Kept for as long as the connection is.
    _held: Option<Box<dyn Any + Send>>,
}

/// Progress of the answer to a client.
enum AnswerState {
    /// Everything is written as it is: HTTP, or a tunnel that stands.
    AsItIs,
    /// The head of the answer, as far as it was written, is to become a reply.
    Head(Vec<u8>, OutcomeReply),
    /// A reply that is being sent: from this byte on.
    Reply(TunnelOutcome, Vec<u8>, usize),
    /// The client was told no: nothing more is written or read.
    Over,
}

impl TunnelOutcome {
    /// Reads the head of an answer.
    fn of(head: &[u8]) -> Self {
        let status = head.get(9..12).unwrap_or_default();
        let has = |word: &[u8]| head.windows(word.len()).any(|window| window == word);
        match status {
            [b'2', ..] => Self::Granted,
            b"403" | b"407" | b"429" => Self::NotAllowed,
            b"502" if has(b"error=destination_ip_prohibited") => Self::NotAllowed,
            b"502" if has(b"error=connection_refused") => Self::ConnectionRefused,
            b"502" | b"504" => Self::HostUnreachable,
            _ => Self::Failed,
        }
    }
}

impl<S> ConnectingClient<S> {
    /// A client that speaks HTTP, of which `ahead` was read already.
    pub(crate) const fn as_it_is(stream: S, ahead: Vec<u8>) -> Self {
        Self { stream, ahead, given: 0, answer: AnswerState::AsItIs, waiting: None, _held: None }
    }

    /// A client that is heard to send `request`, and is told the outcome by `reply`.
    pub(crate) const fn asking(stream: S, request: Vec<u8>, reply: OutcomeReply) -> Self {
        let answer = AnswerState::Head(Vec::new(), reply);
        Self { stream, ahead: request, given: 0, answer, waiting: None, _held: None }
    }

    /// The same, with something that is kept for as long as the connection is.
    pub(crate) fn holding(self, held: impl Any + Send) -> Self {
        Self { _held: Some(Box::new(held)), ..self }
    }
}

impl<S: AsyncWrite + Unpin> ConnectingClient<S> {
    /// Sends what is left of a reply.
    fn poll_reply(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let AnswerState::Reply(outcome, bytes, sent) = &mut self.answer {
            if *sent < bytes.len() {
                let written = ready!(Pin::new(&mut self.stream).poll_write(cx, &bytes[*sent..]))?;
                if written == 0 {
                    return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
                }
                *sent += written;
                continue;
            }
            let is_granted = *outcome == TunnelOutcome::Granted;
            self.answer = if is_granted { AnswerState::AsItIs } else { AnswerState::Over };
            if let Some(waiting) = self.waiting.take().filter(|_| !is_granted) {
                waiting.wake();
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Takes bytes of the answer's head: how many of `bytes` belong to it.
    fn take_head(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let AnswerState::Head(head, reply) = &mut self.answer else { return Ok(0) };
        let before = head.len();
        head.extend(bytes);
        let from = before.saturating_sub(3);
        let end = head[from..].windows(4).position(|window| window == b"\r\n\r\n");
        let Some(end) = end.map(|end| from + end + 4) else {
            if head.len() > HEAD_BYTES_MAX {
                return Err(io::ErrorKind::InvalidData.into());
            }
            return Ok(bytes.len());
        };
        head.truncate(end);
        let outcome = TunnelOutcome::of(head);
        self.answer = AnswerState::Reply(outcome, reply(outcome), 0);
        Ok(end - before)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ConnectingClient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.given < self.ahead.len() {
            let left = &self.ahead[self.given..];
            let count = left.len().min(buf.remaining());
            buf.put_slice(&left[..count]);
            self.given += count;
            if self.given == self.ahead.len() {
                (self.ahead, self.given) = (Vec::new(), 0);
            }
            return Poll::Ready(Ok(()));
        }
        match self.answer {
            AnswerState::AsItIs => {}
            AnswerState::Over => return Poll::Ready(Ok(())),
            AnswerState::Head(..) | AnswerState::Reply(..) => {
                self.waiting = Some(cx.waker().clone());
            }
        }
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ConnectingClient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_reply(cx))?;
        match &self.answer {
            AnswerState::AsItIs => Pin::new(&mut self.stream).poll_write(cx, bytes),
            AnswerState::Head(..) => {
                let taken = self.take_head(bytes)?;
                // Sent with the next write or flush where it does not go at once.
                if let Poll::Ready(Err(why)) = self.poll_reply(cx) {
                    return Poll::Ready(Err(why));
                }
                Poll::Ready(Ok(taken))
            }
            AnswerState::Reply(..) | AnswerState::Over => Poll::Ready(Ok(bytes.len())),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if matches!(self.answer, AnswerState::AsItIs) {
            return Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        }
        let first = pieces.iter().find(|piece| !piece.is_empty());
        self.poll_write(cx, first.map_or(&[], |piece| piece))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_reply(cx))?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_reply(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl<S> fmt::Debug for ConnectingClient<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConnectingClient")
    }
}
