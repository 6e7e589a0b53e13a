//! The body of an answer on a connection that no task drives: whoever reads it reads the connection.
//!
//! It has the connection to itself and gives it back to its [`super::Sender`] with the last byte, if
//! it may carry another request; dropped before, it closes it. What came beyond the end of an answer
//! nobody asked for: such a connection is closed too. Made by [`super::direct`], read as
//! [`crate::Incoming`].

use super::Io;
use super::answer_head::{BadHead, Framing};
use super::chunks::{Chunks, Next};
use super::room::{self, STRETCH_BYTES};
use bytes::Bytes;
use http::HeaderMap;
use http_body::{Frame, SizeHint};
use std::fmt;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadHalf};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

/// Why a body ended before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadBody {
    /// The connection ended in the middle of it.
    CutOff,
    /// A chunk is malformed.
    Chunk,
    /// Its extensions or trailers are longer than anybody needs.
    TooLarge,
    /// Its trailers are malformed.
    Trailers,
}

/// A body being received.
pub(crate) struct AnswerBody {
    /// Until its end.
    source: Option<Source>,
    /// Read, and not handed out.
    ahead: Bytes,
    left: Left,
}

/// The connection that an answer comes over.
pub(super) enum Source {
    /// Nothing else is under way. After the end of the body it goes to whoever is named, or is
    /// closed.
    Whole(Box<dyn Io>, Option<oneshot::Sender<Box<dyn Io>>>),
    /// The rest of the request is still being sent.
    Half(ReadHalf<Box<dyn Io>>, Rest),
}

/// The rest of a request whose answer has begun: nothing more of it is sent if the answer breaks
/// off or is dropped.
pub(super) struct Rest(pub(super) Option<AbortHandle>);

impl Drop for Rest {
    fn drop(&mut self) {
        if let Some(sending) = &self.0 {
            sending.abort();
        }
    }
}

/// What is still to come.
enum Left {
    Length(u64),
    Chunked(Chunks),
    UntilClose,
    Trailers(HeaderMap),
    Fault(BadBody),
    Nothing,
}

impl AnswerBody {
    /// A body that begins with `ahead` and goes on in `source`; an error if a chunk is malformed
    /// already.
    pub(super) fn new(source: Source, ahead: Bytes, framing: Framing) -> Result<Self, BadHead> {
        let left = match framing {
            Framing::None => Left::Nothing,
            Framing::Length(length) => Left::Length(length),
            Framing::Chunked => Left::Chunked(Chunks::new()),
            Framing::UntilClose => Left::UntilClose,
        };
        let mut body = Self { source: Some(source), ahead, left };
        if let Left::Chunked(chunks) = &mut body.left {
            let first = chunks.skip_to_data(&mut body.ahead);
            if first.is_err() {
                return Err(BadHead::FirstChunk);
            }
            body.note(first);
        }
        Ok(body)
    }

    pub(crate) fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BadBody>>> {
        loop {
            if let Some(frame) = self.next_at_hand() {
                return Poll::Ready(Some(frame));
            }
            if matches!(self.left, Left::Nothing) {
                return Poll::Ready(None);
            }
            let io: &mut (dyn AsyncRead + Unpin) = match &mut self.source {
                Some(Source::Whole(io, _)) => io,
                Some(Source::Half(io, _)) => io,
                None => return Poll::Ready(None),
            };
            let piece = ready!(room::poll_read(io, cx, self.left.wants()));
            match piece {
                Ok(piece) if !piece.is_empty() => self.ahead = piece,
                Ok(_) if matches!(self.left, Left::UntilClose) => self.finish(),
                Ok(_) | Err(_) => return Poll::Ready(Some(Err(self.fail(BadBody::CutOff)))),
            }
        }
    }

    pub(crate) const fn is_end_stream(&self) -> bool {
        matches!(self.left, Left::Nothing)
    }

    pub(crate) fn size_hint(&self) -> SizeHint {
        match self.left {
            Left::Length(length) => SizeHint::with_exact(length),
            Left::Nothing => SizeHint::with_exact(0),
            Left::Chunked(_) | Left::UntilClose | Left::Trailers(_) | Left::Fault(_) => {
                SizeHint::default()
            }
        }
    }

    /// The next frame of what was read already. The end is noticed with the last byte before it.
    fn next_at_hand(&mut self) -> Option<Result<Frame<Bytes>, BadBody>> {
        match &mut self.left {
            Left::Nothing => None,
            Left::Length(length) => {
                let count = self.ahead.len().min(usize::try_from(*length).unwrap_or(usize::MAX));
                if count == 0 {
                    return None;
                }
                *length -= count as u64;
                let is_last = *length == 0;
                let piece = self.ahead.split_to(count);
                if is_last {
                    self.finish();
                }
                Some(Ok(Frame::data(piece)))
            }
            Left::UntilClose => {
                let piece = std::mem::take(&mut self.ahead);
                (!piece.is_empty()).then(|| Ok(Frame::data(piece)))
            }
            Left::Chunked(chunks) => match chunks.skip_to_data(&mut self.ahead) {
                Ok(Next::More) => None,
                Ok(Next::Data) => {
                    let piece = chunks.data(&mut self.ahead);
                    let next = chunks.skip_to_data(&mut self.ahead);
                    self.note(next);
                    Some(Ok(Frame::data(piece)))
                }
                next => {
                    self.note(next);
                    self.next_at_hand()
                }
            },
            Left::Trailers(trailers) => {
                let trailers = std::mem::take(trailers);
                self.left = Left::Nothing;
                Some(Ok(Frame::trailers(trailers)))
            }
            Left::Fault(why) => {
                let why = *why;
                Some(Err(self.fail(why)))
            }
        }
    }

    /// Notes what follows the data that is handed out.
    fn note(&mut self, next: Result<Next, BadBody>) {
        match next {
            Ok(Next::Data | Next::More) => {}
            Ok(Next::End(None)) => self.finish(),
            Ok(Next::End(Some(trailers))) => {
                self.finish();
                self.left = Left::Trailers(trailers);
            }
            Err(why) => self.left = Left::Fault(why),
        }
    }

    /// The end: the connection goes back, or is closed.
    fn finish(&mut self) {
        self.left = Left::Nothing;
        match self.source.take() {
            Some(Source::Whole(io, Some(back))) if self.ahead.is_empty() => {
                // Nobody waits for it any more: it is closed by being dropped.
                drop(back.send(io));
            }
            // The answer is whole: its request may be too.
            Some(Source::Half(_, mut rest)) => rest.0 = None,
            Some(Source::Whole(..)) | None => {}
        }
    }

    fn fail(&mut self, why: BadBody) -> BadBody {
        self.left = Left::Nothing;
        self.source = None;
        why
    }
}

impl Left {
    /// How much is worth reading. A byte more than is due, so that what is too much is seen, and a
    /// socket that is read empty is known to be.
    fn wants(&self) -> usize {
        match self {
            Self::Length(length) => usize::try_from(*length)
                .map_or(STRETCH_BYTES, |length| STRETCH_BYTES.min(length.saturating_add(1))),
            Self::Chunked(_)
            | Self::UntilClose
            | Self::Trailers(_)
            | Self::Fault(_)
            | Self::Nothing => STRETCH_BYTES,
        }
    }
}

impl fmt::Display for BadBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CutOff => "the connection ended in the middle of the body",
            Self::Chunk => "a chunk of the body is malformed",
            Self::TooLarge => "the extensions or trailers of the body are too long",
            Self::Trailers => "the trailers of the body are malformed",
        })
    }
}

impl std::error::Error for BadBody {}
