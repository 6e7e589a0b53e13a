//! Stored bytes on their way to a client: from memory, or from a fetch that is under way.
//!
//! It copies nothing. Made by the exchange, given out by `shape`.

use bytes::Bytes;
use http::HeaderValue;
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_engine::body::{Body, BodyError};
use http_engine::multipart::{Multipart, Piece};
use http_engine::range::ByteRange;
use std::collections::VecDeque;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use store::{Fill, Reader};

/// The body of a stored response, or of one that is being stored.
pub(crate) enum Content {
    /// All of it is in memory.
    Memory(store::Body),
    /// It is being fetched, and this client reads it from its first byte on.
    Coming(Arc<Fill>, Reader),
}

impl Content {
    /// Its length in bytes, where it is known.
    pub(crate) fn length(&self) -> Option<u64> {
        match self {
            Self::Memory(body) => Some(body.len()),
            Self::Coming(fill, _) => fill.length(),
        }
    }

    /// All of it.
    pub(crate) fn all(self) -> Body {
        match self {
            Self::Memory(body) => match body.whole() {
                Some(bytes) => Body::full(bytes),
                None => Body::boxed(Stored::of(body)),
            },
            Self::Coming(_, reader) => Body::boxed(Reading(reader)),
        }
    }

    /// A part of it; none where its bytes are not there and will not be soon.
    pub(crate) fn range(&self, range: Range<u64>) -> Option<Body> {
        match self {
            Self::Memory(body) => Some(Body::boxed(Stored::part(body.clone(), range))),
            Self::Coming(fill, _) => Some(Body::boxed(Reading(fill.attach(range).ok()?))),
        }
    }
}

/// Several parts of a body in memory, laid out.
pub(crate) struct Parts {
    pub(crate) media: HeaderValue,
    pub(crate) length: u64,
    pub(crate) body: Body,
}

/// Lays parts of a stored body out.
pub(crate) fn parts(stored: &store::Body, parts: &[ByteRange], media: Option<&HeaderValue>) -> Parts {
    let laid_out = Multipart::new(parts, media);
    let length = laid_out.length();
    let runs = laid_out.pieces.into_iter().map(|piece| match piece {
        Piece::Between(bytes) => Run::Bytes(bytes),
        Piece::Part(part) => Run::Stored(part.first..part.last + 1),
    });
    let body = Stored { body: stored.clone(), runs: runs.collect() };
    Parts { media: laid_out.media, length, body: Body::boxed(body) }
}

/// A run of bytes of an answer.
enum Run {
    Bytes(Bytes),
    Stored(Range<u64>),
}

/// Runs of a body in memory, and what stands between them.
struct Stored {
    body: store::Body,
    runs: VecDeque<Run>,
}

impl Stored {
    fn of(body: store::Body) -> Self {
        let all = 0..body.len();
        Self::part(body, all)
    }

    fn part(body: store::Body, range: Range<u64>) -> Self {
        Self { body, runs: VecDeque::from([Run::Stored(range)]) }
    }

    fn next(&mut self) -> Option<Bytes> {
        loop {
            match self.runs.pop_front()? {
                Run::Bytes(bytes) => return Some(bytes),
                Run::Stored(range) => {
                    let Some(piece) = self.body.pieces(range.clone()).next() else { continue };
                    let rest = range.start + piece.len() as u64..range.end;
                    if !rest.is_empty() {
                        self.runs.push_front(Run::Stored(rest));
                    }
                    return Some(piece);
                }
            }
        }
    }
}

impl HttpBody for Stored {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        Poll::Ready(self.next().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.runs.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        let lengths = self.runs.iter().map(|run| match run {
            Run::Bytes(bytes) => bytes.len() as u64,
            Run::Stored(range) => range.end - range.start,
        });
        SizeHint::with_exact(lengths.sum())
    }
}

/// What is read of a fetch under way.
struct Reading(Reader);

impl HttpBody for Reading {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        self.0.poll_next(context).map(|piece| {
            piece.map(|it| it.map(Frame::data).map_err(|why| BodyError::Other(Box::new(why))))
        })
    }

    fn is_end_stream(&self) -> bool {
        self.0.remaining() == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.0.remaining().map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
