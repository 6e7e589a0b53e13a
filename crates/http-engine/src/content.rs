//! The bytes of a file as a body, read without holding up the core.
//!
//! What the kernel has in memory is read at once (`preadv2` with `RWF_NOWAIT`); what must come from
//! the disk is read by a helper thread. One piece at a time: nothing is read that the client has
//! not made room for. Called by the web door for what it serves, and by the gateway for what a
//! server names and for uploads that were set down.

use crate::multipart::MultipartPiece;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use rustix::fd::OwnedFd;
use rustix::io::{Errno, ReadWriteFlags, pread, preadv2};
use std::collections::VecDeque;
use std::future::Future;
use std::io::{self, IoSliceMut};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::task::{JoinHandle, spawn_blocking};

/// One piece of a large file; also the largest file that is read in one go.
pub const CHUNK_BYTES: usize = 256 << 10;

/// The largest piece that is read without knowing that it is in memory.
const SMALL_BYTES: usize = 64 << 10;

/// Parts of a file and bytes between them, piece by piece.
pub struct FileContent<F: FnOnce(u64)> {
    file: Arc<OwnedFd>,
    /// What is still to be sent, in order; none of it is empty.
    segments: VecDeque<ContentSegment>,
    reading: Option<JoinHandle<io::Result<Vec<u8>>>>,
    sent: u64,
    done: Option<F>,
}

/// A run of bytes of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContentSegment {
    /// These.
    Bytes(Bytes),
    /// Those of the file.
    File {
        /// The first of them.
        offset: u64,
        /// How many.
        len: u64,
    },
}

impl ContentSegment {
    /// Returns its length in bytes.
    #[allow(clippy::len_without_is_empty, reason = "an empty one is never sent")]
    pub const fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File { len, .. } => *len,
        }
    }
}

impl From<MultipartPiece> for ContentSegment {
    fn from(piece: MultipartPiece) -> Self {
        match piece {
            MultipartPiece::Between(bytes) => Self::Bytes(bytes),
            MultipartPiece::Part(part) => Self::File { offset: part.first, len: part.len() },
        }
    }
}

/// Reads `len` bytes from `offset` at once, if they are few and in memory.
pub fn read_now(file: &OwnedFd, offset: u64, len: u64) -> Option<Bytes> {
    let len = usize::try_from(len).ok().filter(|len| *len <= CHUNK_BYTES)?;
    let piece = read_if_cached(file, offset, len)?.ok()?;
    // Less than there was: the file has just been cut short, which the slow way reports.
    (piece.len() == len).then(|| Bytes::from(piece))
}

impl<F: FnOnce(u64)> FileContent<F> {
    /// These segments. `done` is told how many bytes were taken, when no more will be.
    pub fn new(file: Arc<OwnedFd>, segments: Vec<ContentSegment>, done: F) -> Self {
        let segments = segments.into_iter().filter(|it| it.len() > 0).collect();
        Self { file, segments, reading: None, sent: 0, done: Some(done) }
    }

    /// `piece` is the next of the file.
    fn took(&mut self, piece: Vec<u8>) -> io::Result<Frame<Bytes>> {
        if piece.is_empty() {
            // The length was promised: ending here as if all were well would be a lie.
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file was cut short"));
        }
        let count = piece.len() as u64;
        if let Some(ContentSegment::File { offset, len }) = self.segments.front_mut() {
            *offset += count;
            *len -= count;
            if *len == 0 {
                self.segments.pop_front();
            }
        }
        self.sent += count;
        Ok(Frame::data(Bytes::from(piece)))
    }
}

impl<F: FnOnce(u64) + Unpin> HttpBody for FileContent<F> {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let this = &mut *self;
        let (offset, left) = match this.segments.front() {
            None => return Poll::Ready(None),
            Some(ContentSegment::File { offset, len }) => (*offset, *len),
            Some(ContentSegment::Bytes(bytes)) => {
                let bytes = bytes.clone();
                this.segments.pop_front();
                this.sent += bytes.len() as u64;
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
        };
        let reading = if let Some(reading) = &mut this.reading {
            reading
        } else {
            let len = left.min(CHUNK_BYTES as u64) as usize;
            if let Some(piece) = read_if_cached(&this.file, offset, len) {
                return Poll::Ready(Some(piece.and_then(|piece| this.took(piece))));
            }
            let file = Arc::clone(&this.file);
            this.reading.insert(spawn_blocking(move || from_disk(&file, offset, len)))
        };
        let piece = ready!(Pin::new(reading).poll(cx));
        this.reading = None;
        let piece = piece.map_err(io::Error::other).flatten();
        Poll::Ready(Some(piece.and_then(|piece| this.took(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.segments.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.segments.iter().map(ContentSegment::len).sum())
    }
}

impl<F: FnOnce(u64)> Drop for FileContent<F> {
    fn drop(&mut self) {
        if let Some(done) = self.done.take() {
            done(self.sent);
        }
    }
}

/// Returns what is in memory, if anything is. Where the file system cannot tell, a small piece is
/// read all the same: handing it to a thread would cost more than nearly every such read.
fn read_if_cached(file: &OwnedFd, offset: u64, len: usize) -> Option<io::Result<Vec<u8>>> {
    let mut piece = vec![0; len];
    let outcome = preadv2(file, &mut [IoSliceMut::new(&mut piece)], offset, ReadWriteFlags::NOWAIT);
    match outcome {
        Ok(count) => {
            piece.truncate(count);
            Some(Ok(piece))
        }
        Err(Errno::OPNOTSUPP | Errno::NOSYS) if len <= SMALL_BYTES => {
            Some(from_disk(file, offset, len))
        }
        Err(Errno::AGAIN | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INTR) => None,
        Err(why) => Some(Err(why.into())),
    }
}

fn from_disk(file: &OwnedFd, offset: u64, len: usize) -> io::Result<Vec<u8>> {
    let mut piece = vec![0; len];
    loop {
        match pread(file, &mut piece[..], offset) {
            Ok(count) => {
                piece.truncate(count);
                return Ok(piece);
            }
            Err(Errno::INTR) => {}
            Err(why) => return Err(why.into()),
        }
    }
}
