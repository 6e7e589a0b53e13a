//! A stored body on its way from disk to a client.
//!
//! It reads on threads that may wait, a little ahead of the client, and no core waits for the disk.
//! What turns out damaged is not sent: from there on the body comes from the origin, or breaks off.
//! Made by the exchange, given out by `shape`.

use crate::disk_reads::DiskReadQueue;
use crate::http_cache::HttpCache;
use crate::runs::{ByteRun, RefetchRest, Rest};
use bytes::Bytes;
use disk_store::BLOCK_BYTES;
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_engine::body::{Body, BodyError};
use std::collections::VecDeque;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use store::{ByteCharge, Store};

/// Blocks that are read at once. Where memory has no room for so many it is one.
const READ_AHEAD_BLOCKS: u64 = 4;

/// A body on disk, and what it takes to send it.
#[derive(Clone)]
pub(crate) struct OnDisk {
    body: disk_store::DiskBody,
    /// First bytes, where they were read already.
    first: Option<Bytes>,
    store: Arc<Store>,
    reads: DiskReadQueue,
    refetch: RefetchRest,
}

impl OnDisk {
    pub(crate) fn new(cache: &HttpCache, body: disk_store::DiskBody, refetch: RefetchRest) -> Self {
        let (store, reads) = (Arc::clone(cache.store()), cache.reads.clone());
        Self { body, first: None, store, reads, refetch }
    }

    /// Returns its length in bytes.
    pub(crate) const fn len(&self) -> u64 {
        self.body.len()
    }

    /// The same with its first bytes read; `None` where they are damaged.
    pub(crate) async fn with_first_bytes(self) -> Option<Self> {
        let mut body = self.body.clone();
        let (first, body) = self.reads.read(move || (body.read(0), body)).await?;
        Some(Self { body, first: Some(first.ok()?), ..self })
    }

    /// Sends these runs.
    pub(crate) fn send(self, runs: VecDeque<ByteRun>) -> Body {
        let left = runs.iter().map(ByteRun::len).sum();
        let (pieces, from) = (VecDeque::new(), DiskRunSource::Disk);
        Body::boxed(DiskSend {
            of: self,
            runs,
            range: 0..0,
            chunks: pieces,
            bytes_left: left,
            from,
            charge: None,
        })
    }
}

/// Pieces that were read, and the body that remembers which of its blocks are sound.
struct ReadBatch {
    body: disk_store::DiskBody,
    chunks: Vec<Bytes>,
    charge: Option<ByteCharge>,
}

/// Where the next bytes come from.
enum DiskRunSource {
    /// What was read, or is still to be.
    Disk,
    /// A read under way.
    Read(Pin<Box<dyn Future<Output = Option<ReadBatch>>>>),
    /// What is on disk is damaged; its own fetch of the rest has begun.
    Refetch(Rest),
    /// Own fetch.
    OwnFetch(Body),
}

/// Runs of a body on disk, being sent.
struct DiskSend {
    of: OnDisk,
    runs: VecDeque<ByteRun>,
    /// What is not read yet of the run that is being sent.
    range: Range<u64>,
    chunks: VecDeque<Bytes>,
    /// Bytes that are not sent yet.
    bytes_left: u64,
    from: DiskRunSource,
    /// For what was read.
    charge: Option<ByteCharge>,
}

impl DiskSend {
    /// Begins to read on.
    fn read(&mut self) {
        let first = self.of.first.take().filter(|_| self.range.start == 0);
        if let Some(mut first) = first {
            first.truncate(usize::try_from(self.range.end).unwrap_or(usize::MAX));
            self.range.start = first.len() as u64;
            self.chunks.push_back(first);
            return;
        }
        let wanted = (self.range.end - self.range.start).min(READ_AHEAD_BLOCKS * BLOCK_BYTES);
        let charge = self.of.store.charge_reading(wanted);
        let blocks = if charge.is_some() { READ_AHEAD_BLOCKS } else { 1 };
        let (mut body, range) = (self.of.body.clone(), self.range.clone());
        let reads = self.of.reads.clone();
        self.from = DiskRunSource::Read(Box::pin(async move {
            let read = move || {
                let pieces = read_chunks(&mut body, range, blocks);
                ReadBatch { body, chunks: pieces, charge }
            };
            reads.read(read).await
        }));
    }

    /// Takes what was read, or turns to the origin.
    fn accept_batch(&mut self, batch: Option<ReadBatch>) {
        self.from = DiskRunSource::Disk;
        let Some(batch) = batch.filter(|batch| !batch.chunks.is_empty()) else {
            let last = self.range.end - 1;
            self.from = DiskRunSource::Refetch((self.of.refetch)(self.range.start, Some(last)));
            return;
        };
        self.of.body = batch.body;
        self.charge = batch.charge;
        self.range.start += batch.chunks.iter().map(|piece| piece.len() as u64).sum::<u64>();
        self.chunks.extend(batch.chunks);
    }

    fn next_run(&mut self) -> Option<()> {
        match self.runs.pop_front()? {
            ByteRun::Bytes(bytes) => self.chunks.push_back(bytes),
            ByteRun::Stored(range) => self.range = range,
        }
        Some(())
    }

    /// Gives out a piece; the next are read while it is sent.
    fn emit(&mut self, piece: Bytes, context: &mut Context<'_>) -> Frame<Bytes> {
        self.bytes_left = self.bytes_left.saturating_sub(piece.len() as u64);
        if self.chunks.is_empty()
            && matches!(self.from, DiskRunSource::Disk)
            && !self.range.is_empty()
        {
            self.read();
            if let DiskRunSource::Read(read) = &mut self.from
                && let Poll::Ready(batch) = read.as_mut().poll(context)
            {
                self.accept_batch(batch);
            }
        }
        Frame::data(piece)
    }
}

/// Whole pieces of a range, until one is damaged.
fn read_chunks(body: &mut disk_store::DiskBody, mut range: Range<u64>, blocks: u64) -> Vec<Bytes> {
    let mut pieces = Vec::new();
    for _ in 0..blocks {
        if range.is_empty() {
            break;
        }
        let Ok(mut piece) = body.read(range.start) else { break };
        piece.truncate(usize::try_from(range.end - range.start).unwrap_or(usize::MAX));
        range.start += piece.len() as u64;
        pieces.push(piece);
    }
    pieces
}

impl HttpBody for DiskSend {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = &mut *self;
        loop {
            if let Some(piece) = this.chunks.pop_front() {
                return Poll::Ready(Some(Ok(this.emit(piece, context))));
            }
            match &mut this.from {
                DiskRunSource::Disk if this.range.is_empty() => {
                    if this.next_run().is_none() {
                        return Poll::Ready(None);
                    }
                }
                DiskRunSource::Disk => this.read(),
                DiskRunSource::Read(read) => {
                    let batch = ready!(read.as_mut().poll(context));
                    this.accept_batch(batch);
                }
                DiskRunSource::Refetch(rest) => match ready!(rest.as_mut().poll(context)) {
                    Some(body) => this.from = DiskRunSource::OwnFetch(body),
                    None => return Poll::Ready(Some(Err(BodyError::Aborted))),
                },
                DiskRunSource::OwnFetch(body) => match ready!(Pin::new(body).poll_frame(context)) {
                    Some(Ok(frame)) => {
                        let Ok(piece) = frame.into_data() else { continue };
                        if piece.len() as u64 > this.range.end - this.range.start {
                            return Poll::Ready(Some(Err(BodyError::Aborted)));
                        }
                        this.range.start += piece.len() as u64;
                        this.chunks.push_back(piece);
                    }
                    Some(Err(why)) => return Poll::Ready(Some(Err(why))),
                    None if this.range.is_empty() => this.from = DiskRunSource::Disk,
                    None => return Poll::Ready(Some(Err(BodyError::Aborted))),
                },
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.bytes_left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes_left)
    }
}
