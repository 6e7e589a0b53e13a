//! The bytes of a file as a body, read without holding up the core.
//!
//! What the kernel has in memory is read at once (`preadv2` with `RWF_NOWAIT`); what must come from
//! the disk is read by a helper thread. One piece at a time: nothing is read that the client has not
//! made room for. Called by `request`.

use crate::ticket::Ticket;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use rustix::fd::OwnedFd;
use rustix::io::{Errno, ReadWriteFlags, pread, preadv2};
use std::future::Future;
use std::io::{self, IoSliceMut};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::task::{JoinHandle, spawn_blocking};

/// One piece of a large file; also the largest file that is read in one go.
pub(crate) const PIECE_BYTES: usize = 128 << 10;

/// The largest piece that is read without knowing that it is in memory.
const SMALL_BYTES: usize = 64 << 10;

/// Part of a file, piece by piece.
pub(crate) struct Content {
    file: Arc<OwnedFd>,
    offset: u64,
    left: u64,
    reading: Option<JoinHandle<io::Result<Vec<u8>>>>,
    sent: u64,
    ticket: Option<Ticket>,
}

/// Reads `len` bytes from `offset` at once, if they are few and in memory.
pub(crate) fn read_now(file: &OwnedFd, offset: u64, len: u64) -> Option<Bytes> {
    let len = usize::try_from(len).ok().filter(|len| *len <= PIECE_BYTES)?;
    let piece = at_hand(file, offset, len)?.ok()?;
    // Less than there was: the file has just been cut short, which the slow way reports.
    (piece.len() == len).then(|| Bytes::from(piece))
}

impl Content {
    /// The `len` bytes from `offset`. The ticket is closed when they are gone.
    pub(crate) fn new(file: OwnedFd, offset: u64, len: u64, ticket: Ticket) -> Self {
        let file = Arc::new(file);
        Self { file, offset, left: len, reading: None, sent: 0, ticket: Some(ticket) }
    }

    fn took(&mut self, piece: Vec<u8>) -> io::Result<Frame<Bytes>> {
        if piece.is_empty() {
            // The length was promised: ending here as if all were well would be a lie.
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file was cut short"));
        }
        let len = piece.len() as u64;
        self.offset += len;
        self.left -= len;
        self.sent += len;
        Ok(Frame::data(Bytes::from(piece)))
    }
}

impl HttpBody for Content {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let this = &mut *self;
        if this.left == 0 {
            return Poll::Ready(None);
        }
        if this.reading.is_none() {
            let len = this.left.min(PIECE_BYTES as u64) as usize;
            if let Some(piece) = at_hand(&this.file, this.offset, len) {
                return Poll::Ready(Some(piece.and_then(|piece| this.took(piece))));
            }
            let (file, offset) = (Arc::clone(&this.file), this.offset);
            this.reading = Some(spawn_blocking(move || from_disk(&file, offset, len)));
        }
        let Some(reading) = &mut this.reading else { unreachable!("set just above") };
        let piece = ready!(Pin::new(reading).poll(cx));
        this.reading = None;
        let piece = piece.map_err(io::Error::other).flatten();
        Poll::Ready(Some(piece.and_then(|piece| this.took(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

impl Drop for Content {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            ticket.close(self.sent);
        }
    }
}

/// What is in memory, if anything is. Where the file system cannot tell, a small piece is read all the
/// same: handing it to a thread would cost more than nearly every such read.
fn at_hand(file: &OwnedFd, offset: u64, len: usize) -> Option<io::Result<Vec<u8>>> {
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
