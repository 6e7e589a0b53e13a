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
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use store::disk::{self, Corrupted, Stored};
use store::{Broken, Fill, Reader};
use tokio::task::{JoinHandle, spawn_blocking};

/// The body of a stored response, or of one that is being stored.
pub(crate) enum Content {
    /// All of it is in memory.
    Memory(store::Body),
    /// All of it is on disk.
    Disk(Arc<Stored>),
    /// It is being fetched, and this client reads it from its first byte on.
    Coming { fill: Arc<Fill>, reader: Reader, again: Again },
}

/// How a client that is too slow for the others gets the rest by itself: the body from a byte on, to
/// the last wanted or to the end.
pub(crate) type Again = Rc<dyn Fn(u64, Option<u64>) -> Rest>;
type Rest = Pin<Box<dyn Future<Output = Option<Body>>>>;

impl Content {
    /// Its length in bytes, where it is known.
    pub(crate) fn length(&self) -> Option<u64> {
        match self {
            Self::Memory(body) => Some(body.len()),
            Self::Disk(stored) => Some(stored.body.len()),
            Self::Coming { fill, .. } => fill.length(),
        }
    }

    /// All of it.
    pub(crate) fn all(self) -> Body {
        match self {
            Self::Memory(body) => match body.whole() {
                Some(bytes) => Body::full(bytes),
                None => Body::boxed(Held::of(body)),
            },
            Self::Disk(stored) => {
                let all = 0..stored.body.len();
                Body::boxed(FromDisk::part(&stored, all))
            }
            Self::Coming { reader, again, .. } => Body::boxed(Reading::of(reader, None, again)),
        }
    }

    /// A part of it; none where its bytes are not there and will not be soon.
    pub(crate) fn range(&self, range: Range<u64>) -> Option<Body> {
        match self {
            Self::Memory(body) => Some(Body::boxed(Held::part(body.clone(), range))),
            Self::Disk(stored) => Some(Body::boxed(FromDisk::part(stored, range))),
            Self::Coming { fill, again, .. } => {
                let last = range.end.checked_sub(1);
                let reader = fill.attach(range).ok()?;
                Some(Body::boxed(Reading::of(reader, last, Rc::clone(again))))
            }
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
pub(crate) fn parts(
    stored: &store::Body,
    parts: &[ByteRange],
    media: Option<&HeaderValue>,
) -> Parts {
    let laid_out = Multipart::new(parts, media);
    let length = laid_out.length();
    let runs = laid_out.pieces.into_iter().map(|piece| match piece {
        Piece::Between(bytes) => Run::Bytes(bytes),
        Piece::Part(part) => Run::Stored(part.first..part.last + 1),
    });
    let body = Held { body: stored.clone(), runs: runs.collect() };
    Parts { media: laid_out.media, length, body: Body::boxed(body) }
}

/// A run of bytes of an answer.
enum Run {
    Bytes(Bytes),
    Stored(Range<u64>),
}

/// Runs of a body in memory, and what stands between them.
struct Held {
    body: store::Body,
    runs: VecDeque<Run>,
}

impl Held {
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

impl HttpBody for Held {
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

/// A body on disk, read on threads that may wait, a block at a time.
struct FromDisk {
    left: Range<u64>,
    step: Step,
}

enum Step {
    /// Nothing is being read. None after an error.
    Ready(Option<disk::Body>),
    Reading(JoinHandle<(disk::Body, Result<Bytes, Corrupted>)>),
}

impl FromDisk {
    fn part(stored: &Stored, left: Range<u64>) -> Self {
        Self { left, step: Step::Ready(Some(stored.body.clone())) }
    }

    /// The bytes that came of a read, as far as they are wanted.
    fn take(&mut self, mut piece: Bytes) -> Bytes {
        let wanted = self.left.end - self.left.start;
        piece.truncate(usize::try_from(wanted).unwrap_or(usize::MAX));
        self.left.start += piece.len() as u64;
        piece
    }
}

impl HttpBody for FromDisk {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        loop {
            if self.left.is_empty() {
                return Poll::Ready(None);
            }
            match &mut self.step {
                Step::Ready(body) => {
                    let Some(mut body) = body.take() else { return Poll::Ready(None) };
                    let at = self.left.start;
                    self.step = Step::Reading(spawn_blocking(move || {
                        let read = body.read(at);
                        (body, read)
                    }));
                }
                Step::Reading(reading) => {
                    let read = ready!(Pin::new(reading).poll(context));
                    return Poll::Ready(Some(match read {
                        Ok((body, Ok(piece))) if !piece.is_empty() => {
                            self.step = Step::Ready(Some(body));
                            Ok(Frame::data(self.take(piece)))
                        }
                        // The client must not take what came for all of it.
                        Ok((_, Ok(_) | Err(_))) | Err(_) => {
                            self.step = Step::Ready(None);
                            Err(BodyError::Aborted)
                        }
                    }));
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left.end - self.left.start)
    }
}

/// What is read of a fetch under way.
struct Reading {
    from: From,
    /// The last byte that is wanted; all if there is none.
    last: Option<u64>,
    again: Again,
}

/// Where the next bytes come from.
enum From {
    /// The common fetch.
    Fill(Reader),
    /// The client was too slow for the others; its own fetch has begun.
    Rest(Rest),
    /// Its own fetch.
    Own(Body),
}

impl Reading {
    const fn of(reader: Reader, last: Option<u64>, again: Again) -> Self {
        Self { from: From::Fill(reader), last, again }
    }
}

impl HttpBody for Reading {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        loop {
            let this = &mut *self;
            this.from = match &mut this.from {
                From::Fill(reader) => match ready!(reader.poll_next(context)) {
                    Some(Err(Broken::Detached(at))) => From::Rest((this.again)(at, this.last)),
                    Some(Err(why)) => {
                        return Poll::Ready(Some(Err(BodyError::Other(Box::new(why)))));
                    }
                    Some(Ok(piece)) => return Poll::Ready(Some(Ok(Frame::data(piece)))),
                    None => return Poll::Ready(None),
                },
                From::Rest(rest) => match ready!(rest.as_mut().poll(context)) {
                    Some(body) => From::Own(body),
                    None => return Poll::Ready(Some(Err(BodyError::Aborted))),
                },
                From::Own(body) => return Pin::new(body).poll_frame(context),
            };
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.from {
            From::Fill(reader) => reader.remaining() == Some(0),
            From::Rest(_) => false,
            From::Own(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.from {
            From::Fill(reader) => {
                reader.remaining().map_or_else(SizeHint::default, SizeHint::with_exact)
            }
            From::Rest(_) => SizeHint::default(),
            From::Own(body) => body.size_hint(),
        }
    }
}
