//! The way of answers to the client: written at once if it takes them, kept until it does if not.
//!
//! Heads and small bodies lie in one buffer, a large piece of a body beside it, uncopied, and what
//! frames that piece behind both: all go in one write where the stream takes them so. What a client
//! has taken, and for how long it was waited for, is counted for [`crate::timeouts`]. Called by
//! [`super::connection`], and by the client side for bodies of requests.

use bytes::{Buf, Bytes};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::AsyncWrite;
use tokio::time::Instant;

/// Answers are written when they come to so many bytes.
pub(crate) const OUTPUT_BYTES: usize = 64 << 10;

/// Holds what one connection sends.
#[derive(Debug, Default)]
pub(crate) struct SendState {
    unsent: Option<Box<UnsentAnswers>>,
    /// Signs of life, bytes of answers taken, and how long the client was waited for to take them;
    /// all wrap.
    pub(crate) progress: u32,
    pub(crate) bytes: u32,
    waited_ms: u32,
}

/// Holds what is to be sent beside a buffer.
#[derive(Debug, Default)]
pub(crate) struct SendBeside {
    /// A large piece of a body.
    pub(crate) chunk: Bytes,
    /// What follows that piece.
    pub(crate) tail: &'static [u8],
}

/// Answers that the client has not taken yet.
#[derive(Debug)]
struct UnsentAnswers {
    /// The buffer, of which so many bytes are sent.
    answers: Vec<u8>,
    sent: usize,
    large: SendBeside,
    /// Since when the client is waited for.
    since: Option<Instant>,
}

impl SendState {
    /// True if the client has taken everything.
    pub(crate) fn is_done(&self) -> bool {
        self.unsent.is_none()
    }

    /// Returns how long the client was waited for, in milliseconds; wraps.
    pub(crate) fn waited_ms(&self) -> u32 {
        let waiting = self.unsent.as_ref().map_or(0, |unsent| unsent.waited_ms());
        self.waited_ms.wrapping_add(waiting)
    }

    /// Writes what can be written at once and empties `output`; the rest becomes the connection's
    /// own.
    pub(crate) fn start<I: AsyncWrite + Unpin>(
        &mut self,
        io: &mut I,
        cx: &mut Context<'_>,
        output: &mut Vec<u8>,
        beside: SendBeside,
    ) -> Poll<io::Result<()>> {
        if beside.chunk.is_empty() {
            // The usual case, without a detour: all goes in one write.
            let written = Pin::new(&mut *io).poll_write(cx, output);
            if let Poll::Ready(Ok(count)) = written {
                self.moved(count);
                let whole = count == output.len();
                // What a stream with TLS could not hand on at once waits in it for this.
                if whole && matches!(Pin::new(&mut *io).poll_flush(cx), Poll::Ready(Ok(()))) {
                    output.clear();
                    return Poll::Ready(Ok(()));
                }
                output.drain(..count);
            }
        }
        let answers = std::mem::take(output);
        self.unsent =
            Some(Box::new(UnsentAnswers { answers, sent: 0, large: beside, since: None }));
        let mut emptied = ready!(self.poll(io, cx))?;
        if emptied.capacity() <= OUTPUT_BYTES * 2 {
            // The buffer goes back to the thread.
            emptied.clear();
            *output = emptied;
        }
        Poll::Ready(Ok(()))
    }

    /// Writes on, to the last byte that the stream holds back. The buffer comes back.
    pub(crate) fn poll<I: AsyncWrite + Unpin>(
        &mut self,
        io: &mut I,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<Vec<u8>>> {
        let Some(mut unsent) = self.unsent.take() else { return Poll::Ready(Ok(Vec::new())) };
        while !unsent.is_sent() {
            match unsent.poll_write(Pin::new(&mut *io), cx) {
                Poll::Ready(Ok(count)) => {
                    self.waited_ms = self.waited_ms.wrapping_add(unsent.waited_ms());
                    unsent.since = None;
                    self.moved(count);
                }
                Poll::Ready(Err(why)) => return Poll::Ready(Err(why)),
                Poll::Pending => return self.wait(unsent),
            }
        }
        match Pin::new(io).poll_flush(cx) {
            Poll::Ready(Ok(())) => Poll::Ready(Ok(unsent.answers)),
            Poll::Ready(Err(why)) => Poll::Ready(Err(why)),
            Poll::Pending => self.wait(unsent),
        }
    }

    fn wait<T>(&mut self, mut unsent: Box<UnsentAnswers>) -> Poll<T> {
        unsent.since.get_or_insert_with(Instant::now);
        self.unsent = Some(unsent);
        Poll::Pending
    }

    fn moved(&mut self, bytes: usize) {
        self.progress = self.progress.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add(bytes as u32);
    }
}

impl UnsentAnswers {
    fn is_sent(&self) -> bool {
        self.sent == self.answers.len() && self.large.is_empty()
    }

    fn waited_ms(&self) -> u32 {
        self.since.map_or(0, |since| since.elapsed().as_millis() as u32)
    }

    /// Writes once; how many bytes.
    fn poll_write<I: AsyncWrite>(
        &mut self,
        io: Pin<&mut I>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let heads = &self.answers[self.sent..];
        let SendBeside { chunk: piece, tail } = &mut self.large;
        let count = if piece.is_empty() && tail.is_empty() {
            ready!(io.poll_write(cx, heads))?
        } else {
            // Streams that take one piece at a time take the first that is not empty.
            let pieces = [IoSlice::new(heads), IoSlice::new(piece), IoSlice::new(tail)];
            ready!(io.poll_write_vectored(cx, &pieces))?
        };
        if count == 0 {
            return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
        }
        let of_heads = count.min(heads.len());
        let of_piece = (count - of_heads).min(piece.len());
        self.sent += of_heads;
        piece.advance(of_piece);
        *tail = &tail[count - of_heads - of_piece..];
        Poll::Ready(Ok(count))
    }
}

impl SendBeside {
    pub(crate) fn is_empty(&self) -> bool {
        self.chunk.is_empty() && self.tail.is_empty()
    }
}

impl From<Bytes> for SendBeside {
    /// A piece with nothing behind it.
    fn from(piece: Bytes) -> Self {
        Self { chunk: piece, tail: b"" }
    }
}
