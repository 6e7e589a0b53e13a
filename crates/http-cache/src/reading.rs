//! Stored bytes on their way to a client: from memory, from disk, or from a fetch that is under
//! way.
//!
//! It copies nothing. Made by the exchange, given out by `shape`.

use crate::on_disk::OnDisk;
use crate::runs::{ByteRun, RefetchRest, Rest};
use bytes::Bytes;
use http::HeaderValue;
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_engine::body::{Body, BodyError};
use http_engine::multipart::{MultipartAnswer, MultipartPiece};
use http_engine::range::ByteRange;
use std::collections::VecDeque;
use std::ops::Range;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use store::{Fill, FillBroken, FillReader};

/// The body of a stored response, or of one that is being stored.
pub(crate) enum StoredContent {
    /// All of it is in memory.
    Memory(store::FillBody),
    /// Front is in memory, and nothing behind that is sent; the length is that of the whole.
    Prefix(store::FillBody, Option<u64>),
    /// All of it is on disk.
    Disk(Box<OnDisk>),
    /// Is being fetched, and this client reads it from its first byte on.
    InFlight { fill: Arc<Fill>, reader: FillReader, again: RefetchRest },
}

impl StoredContent {
    /// Returns its length in bytes, where it is known.
    pub(crate) fn length(&self) -> Option<u64> {
        match self {
            Self::Memory(body) => Some(body.len()),
            Self::Prefix(_, length) => *length,
            Self::Disk(body) => Some(body.len()),
            Self::InFlight { fill, .. } => fill.length(),
        }
    }

    /// All of it.
    pub(crate) fn all(self) -> Body {
        match self {
            Self::Memory(body) | Self::Prefix(body, _) => match body.as_single() {
                Some(bytes) => Body::full(bytes),
                None => Body::boxed(StoredRuns::of(body)),
            },
            Self::Disk(body) => {
                let all = VecDeque::from([ByteRun::Stored(0..body.len())]);
                body.send(all)
            }
            Self::InFlight { reader, again, .. } => {
                Body::boxed(FillReading::of(reader, None, again))
            }
        }
    }

    /// A part of it; none where its bytes are not there and will not be soon.
    pub(crate) fn range(&self, range: Range<u64>) -> Option<Body> {
        match self {
            Self::Memory(body) | Self::Prefix(body, _) => {
                Some(Body::boxed(StoredRuns::part(body.clone(), range)))
            }
            Self::Disk(body) => Some(body.clone().send(VecDeque::from([ByteRun::Stored(range)]))),
            Self::InFlight { fill, again, .. } => {
                let last = range.end.checked_sub(1);
                let reader = fill.attach(range).ok()?;
                Some(Body::boxed(FillReading::of(reader, last, Rc::clone(again))))
            }
        }
    }

    /// Several parts of it, laid out; none where its bytes come in order alone.
    pub(crate) fn parts(
        &self,
        parts: &[ByteRange],
        media: Option<&HeaderValue>,
    ) -> Option<BodyParts> {
        let laid_out = MultipartAnswer::new(parts, media);
        let length = laid_out.length();
        let runs = laid_out.segments.into_iter().map(|piece| match piece {
            MultipartPiece::Between(bytes) => ByteRun::Bytes(bytes),
            MultipartPiece::Part(part) => ByteRun::Stored(part.first..part.last + 1),
        });
        let runs: VecDeque<_> = runs.collect();
        let body = match self {
            Self::Memory(body) | Self::Prefix(body, _) => {
                Body::boxed(StoredRuns { body: body.clone(), runs })
            }
            Self::Disk(body) => body.clone().send(runs),
            Self::InFlight { .. } => return None,
        };
        Some(BodyParts { media: laid_out.media, length, body })
    }
}

/// Several parts of a body, laid out.
pub(crate) struct BodyParts {
    pub(crate) media: HeaderValue,
    pub(crate) length: u64,
    pub(crate) body: Body,
}

/// Runs of a body in memory, and what stands between them.
struct StoredRuns {
    body: store::FillBody,
    runs: VecDeque<ByteRun>,
}

impl StoredRuns {
    fn of(body: store::FillBody) -> Self {
        let all = 0..body.len();
        Self::part(body, all)
    }

    fn part(body: store::FillBody, range: Range<u64>) -> Self {
        Self { body, runs: VecDeque::from([ByteRun::Stored(range)]) }
    }

    fn next(&mut self) -> Option<Bytes> {
        loop {
            match self.runs.pop_front()? {
                ByteRun::Bytes(bytes) => return Some(bytes),
                ByteRun::Stored(range) => {
                    let Some(piece) = self.body.chunks(range.clone()).next() else { continue };
                    let rest = range.start + piece.len() as u64..range.end;
                    if !rest.is_empty() {
                        self.runs.push_front(ByteRun::Stored(rest));
                    }
                    return Some(piece);
                }
            }
        }
    }
}

impl HttpBody for StoredRuns {
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
        SizeHint::with_exact(self.runs.iter().map(ByteRun::len).sum())
    }
}

/// Holds what is read of a fetch under way.
struct FillReading {
    from: FillRunSource,
    /// The last byte that is wanted; all if there is none.
    last: Option<u64>,
    refetch: RefetchRest,
}

/// Where the next bytes come from.
enum FillRunSource {
    /// The common fetch.
    Fill(FillReader),
    /// The client was too slow for the others; its own fetch has begun.
    Refetch(Rest),
    /// Own fetch.
    OwnFetch(Body),
}

impl FillReading {
    const fn of(reader: FillReader, last: Option<u64>, refetch: RefetchRest) -> Self {
        Self { from: FillRunSource::Fill(reader), last, refetch }
    }
}

impl HttpBody for FillReading {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        loop {
            let this = &mut *self;
            this.from = match &mut this.from {
                FillRunSource::Fill(reader) => match ready!(reader.poll_next(context)) {
                    Some(Err(FillBroken::Detached(at))) => {
                        FillRunSource::Refetch((this.refetch)(at, this.last))
                    }
                    Some(Err(why)) => {
                        return Poll::Ready(Some(Err(BodyError::Other(Box::new(why)))));
                    }
                    Some(Ok(piece)) => return Poll::Ready(Some(Ok(Frame::data(piece)))),
                    None => return Poll::Ready(None),
                },
                FillRunSource::Refetch(rest) => match ready!(rest.as_mut().poll(context)) {
                    Some(body) => FillRunSource::OwnFetch(body),
                    None => return Poll::Ready(Some(Err(BodyError::Aborted))),
                },
                FillRunSource::OwnFetch(body) => return Pin::new(body).poll_frame(context),
            };
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.from {
            FillRunSource::Fill(reader) => reader.remaining() == Some(0),
            FillRunSource::Refetch(_) => false,
            FillRunSource::OwnFetch(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.from {
            FillRunSource::Fill(reader) => {
                reader.remaining().map_or_else(SizeHint::default, SizeHint::with_exact)
            }
            FillRunSource::Refetch(_) => SizeHint::default(),
            FillRunSource::OwnFetch(body) => body.size_hint(),
        }
    }
}
