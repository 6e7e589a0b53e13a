//! The body of an answer on a connection that no task drives: whoever reads it reads the
//! connection.
//!
//! It has the connection to itself and gives it back to its [`super::RequestSender`] with the last
//! byte, if it may carry another request; dropped before, it closes it. What came beyond the end of
//! an answer nobody asked for: such a connection is closed too. Made by [`super::direct`], read as
//! [`crate::Incoming`].

use super::answer_head::{AnswerFraming, BadHead};
use super::chunks::{ChunkProgress, ChunkReader};
use super::io::ClientIo;
use super::read_buffer::{self, BLOCK_BYTES};
use crate::body_error::BadBody;
use bytes::Bytes;
use http::HeaderMap;
use http_body::{Frame, SizeHint};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadHalf};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

/// A body being received.
pub(crate) struct AnswerBody {
    /// Until its end.
    source: Option<AnswerConnection>,
    /// Read, and not handed out.
    buffered: Bytes,
    remaining: BodyLeft,
}

/// The connection that an answer comes over.
pub(super) enum AnswerConnection {
    /// Nothing else is under way. After the end of the body it goes to whoever is named, or is
    /// closed.
    Full(Box<dyn ClientIo>, Option<oneshot::Sender<Box<dyn ClientIo>>>),
    /// The rest of the request is still being sent.
    Half(ReadHalf<Box<dyn ClientIo>>, RequestRest),
}

/// The rest of a request whose answer has begun: nothing more of it is sent if the answer breaks
/// off or is dropped.
pub(super) struct RequestRest(pub(super) Option<AbortHandle>);

impl Drop for RequestRest {
    fn drop(&mut self) {
        if let Some(sending) = &self.0 {
            sending.abort();
        }
    }
}

/// Tells what is still to come.
enum BodyLeft {
    Length(u64),
    Chunked(ChunkReader),
    UntilClose,
    Trailers(HeaderMap),
    Fault(BadBody),
    Done,
}

impl AnswerBody {
    /// A body that begins with `ahead` and goes on in `source`; an error if a chunk is malformed
    /// already.
    pub(super) fn new(
        source: AnswerConnection,
        ahead: Bytes,
        framing: AnswerFraming,
    ) -> Result<Self, BadHead> {
        let left = match framing {
            AnswerFraming::None => BodyLeft::Done,
            AnswerFraming::Length(length) => BodyLeft::Length(length),
            AnswerFraming::Chunked => BodyLeft::Chunked(ChunkReader::new()),
            AnswerFraming::UntilClose => BodyLeft::UntilClose,
        };
        let mut body = Self { source: Some(source), buffered: ahead, remaining: left };
        if let BodyLeft::Chunked(chunks) = &mut body.remaining {
            let first = chunks.skip_to_data(&mut body.buffered);
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
            if let Some(frame) = self.next_buffered() {
                return Poll::Ready(Some(frame));
            }
            if matches!(self.remaining, BodyLeft::Done) {
                return Poll::Ready(None);
            }
            let io: &mut (dyn AsyncRead + Unpin) = match &mut self.source {
                Some(AnswerConnection::Full(io, _)) => io,
                Some(AnswerConnection::Half(io, _)) => io,
                None => return Poll::Ready(None),
            };
            let piece = ready!(read_buffer::poll_read(io, cx, self.remaining.read_len()));
            match piece {
                Ok(piece) if !piece.is_empty() => self.buffered = piece,
                Ok(_) if matches!(self.remaining, BodyLeft::UntilClose) => self.finish(),
                Ok(_) | Err(_) => return Poll::Ready(Some(Err(self.fail(BadBody::CutOff)))),
            }
        }
    }

    pub(crate) const fn is_end_stream(&self) -> bool {
        matches!(self.remaining, BodyLeft::Done)
    }

    pub(crate) fn size_hint(&self) -> SizeHint {
        match self.remaining {
            BodyLeft::Length(length) => SizeHint::with_exact(length),
            BodyLeft::Done => SizeHint::with_exact(0),
            BodyLeft::Chunked(_)
            | BodyLeft::UntilClose
            | BodyLeft::Trailers(_)
            | BodyLeft::Fault(_) => SizeHint::default(),
        }
    }

    /// The next frame of what was read already. The end is noticed with the last byte before it.
    fn next_buffered(&mut self) -> Option<Result<Frame<Bytes>, BadBody>> {
        match &mut self.remaining {
            BodyLeft::Done => None,
            BodyLeft::Length(length) => {
                let count = self.buffered.len().min(usize::try_from(*length).unwrap_or(usize::MAX));
                if count == 0 {
                    return None;
                }
                *length -= count as u64;
                let is_last = *length == 0;
                let piece = self.buffered.split_to(count);
                if is_last {
                    self.finish();
                }
                Some(Ok(Frame::data(piece)))
            }
            BodyLeft::UntilClose => {
                let piece = std::mem::take(&mut self.buffered);
                (!piece.is_empty()).then(|| Ok(Frame::data(piece)))
            }
            BodyLeft::Chunked(chunks) => match chunks.skip_to_data(&mut self.buffered) {
                Ok(ChunkProgress::More) => None,
                Ok(ChunkProgress::Data) => {
                    let piece = chunks.data(&mut self.buffered);
                    let next = chunks.skip_to_data(&mut self.buffered);
                    self.note(next);
                    Some(Ok(Frame::data(piece)))
                }
                next => {
                    self.note(next);
                    self.next_buffered()
                }
            },
            BodyLeft::Trailers(trailers) => {
                let trailers = std::mem::take(trailers);
                self.remaining = BodyLeft::Done;
                Some(Ok(Frame::trailers(trailers)))
            }
            BodyLeft::Fault(why) => {
                let why = *why;
                Some(Err(self.fail(why)))
            }
        }
    }

    /// Notes what follows the data that is handed out.
    fn note(&mut self, next: Result<ChunkProgress, BadBody>) {
        match next {
            Ok(ChunkProgress::Data | ChunkProgress::More) => {}
            Ok(ChunkProgress::End(None)) => self.finish(),
            Ok(ChunkProgress::End(Some(trailers))) => {
                self.finish();
                self.remaining = BodyLeft::Trailers(trailers);
            }
            Err(why) => self.remaining = BodyLeft::Fault(why),
        }
    }

    /// The end: the connection goes back, or is closed.
    fn finish(&mut self) {
        self.remaining = BodyLeft::Done;
        match self.source.take() {
            Some(AnswerConnection::Full(io, Some(back))) if self.buffered.is_empty() => {
                // Nobody waits for it any more: it is closed by being dropped.
                drop(back.send(io));
            }
            // The answer is whole: its request may be too.
            Some(AnswerConnection::Half(_, mut rest)) => rest.0 = None,
            Some(AnswerConnection::Full(..)) | None => {}
        }
    }

    fn fail(&mut self, why: BadBody) -> BadBody {
        self.remaining = BodyLeft::Done;
        self.source = None;
        why
    }
}

impl BodyLeft {
    /// Returns how much is worth reading. A byte more than is due, so that what is too much is
    /// seen, and a socket that is read empty is known to be.
    fn read_len(&self) -> usize {
        match self {
            Self::Length(length) => usize::try_from(*length)
                .map_or(BLOCK_BYTES, |length| BLOCK_BYTES.min(length.saturating_add(1))),
            Self::Chunked(_)
            | Self::UntilClose
            | Self::Trailers(_)
            | Self::Fault(_)
            | Self::Done => BLOCK_BYTES,
        }
    }
}
