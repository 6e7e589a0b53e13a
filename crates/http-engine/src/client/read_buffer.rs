//! The memory into which answers are read: one stretch a thread, used again and again.
//!
//! A connection that waits holds none of it. What is read is cut off as a piece; once all pieces of
//! a stretch were dropped it is read into anew, so that a long body passes through the same warm
//! pages. Small pieces are copied out, for whoever keeps one keeps the stretch that it is cut from.
//! Called by
//! [`super::exchange`] and [`super::answer_body`].

use bytes::{BufMut, Bytes, BytesMut};
use std::cell::Cell;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes of a stretch, and of the longest piece.
pub(super) const BLOCK_BYTES: usize = 64 << 10;
/// A piece of at most so many bytes is copied.
const COPIED_BYTES_MAX: usize = 4 << 10;

thread_local! {
    /// Empty; its capacity is what is left of the stretch.
    static BLOCK: Cell<BytesMut> = Cell::new(BytesMut::new());
}

/// Reads up to `most` bytes (of [`BLOCK_BYTES`]); an empty piece is the stream's end.
pub(super) fn poll_read(
    io: &mut (dyn AsyncRead + Unpin),
    cx: &mut Context<'_>,
    most: usize,
) -> Poll<io::Result<Bytes>> {
    let mut room = BLOCK.take();
    if room.capacity() < most {
        room.reserve(BLOCK_BYTES);
    }
    let mut limited = (&mut room).limit(most);
    // The future keeps nothing from one poll to the next.
    let read = pin!(io.read_buf(&mut limited)).poll(cx);
    let outcome = read.map_ok(|count| {
        if count > COPIED_BYTES_MAX {
            return room.split().freeze();
        }
        let piece = Bytes::copy_from_slice(&room);
        room.clear();
        piece
    });
    BLOCK.set(room);
    outcome
}
