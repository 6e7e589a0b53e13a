//! A stream of HTTP/2 that has left HTTP (RFC 9113 §8.5, RFC 8441): a byte stream in its frames.
//!
//! What is read makes room for as much more, and no more is written than the other side has room
//! for. Its end is the end of the stream in that direction. It judges nothing, and nothing here
//! keeps time: whoever holds the tunnel does. Made by [`super::exchange`], handed out by
//! [`crate::upgrade`].

use super::piece::StreamPiece;
use bytes::{Buf, Bytes};
use h2::{Reason, RecvStream, SendStream};
use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::oneshot;

/// Bytes of one piece that is written.
const PIECE_BYTES_MAX: usize = 16 << 10;

/// A stream as a tunnel.
pub(crate) struct Http2Tunnel {
    received: RecvStream,
    sending: SendStream<StreamPiece>,
    /// Received, and not read.
    read: Bytes,
    writing: WriteSide,
}

/// Says if bytes may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriteSide {
    Open,
    Ended,
}

/// A tunnel that is there when its request is answered so.
pub(super) struct TunnelOffer {
    received: RecvStream,
    taker: oneshot::Sender<Http2Tunnel>,
}

impl TunnelOffer {
    /// A tunnel of which `received` will be one half, and where it can be waited for.
    pub(super) fn new(received: RecvStream) -> (Self, oneshot::Receiver<Http2Tunnel>) {
        let (taker, tunnel) = oneshot::channel();
        (Self { received, taker }, tunnel)
    }

    /// The request is answered; this is the other half. Where nobody takes the tunnel it ends.
    pub(super) fn open(self, sending: SendStream<StreamPiece>) {
        let Self { received, taker } = self;
        let (read, writing) = (Bytes::new(), WriteSide::Open);
        drop(taker.send(Http2Tunnel { received, sending, read, writing }));
    }
}

impl Http2Tunnel {
    fn end(&mut self) -> io::Result<()> {
        if self.writing == WriteSide::Ended {
            return Ok(());
        }
        self.writing = WriteSide::Ended;
        self.sending.send_data(StreamPiece::plain(Bytes::new()), true).map_err(io::Error::other)
    }

    /// Waits until there is room, and returns how much.
    fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        loop {
            let room = self.sending.capacity();
            if room > 0 {
                return Poll::Ready(Ok(room));
            }
            match ready!(self.sending.poll_capacity(cx)) {
                Some(Ok(_)) => {}
                Some(Err(why)) => return Poll::Ready(Err(io::Error::other(why))),
                None => return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
            }
        }
    }
}

impl Drop for Http2Tunnel {
    fn drop(&mut self) {
        // As a socket ends that is closed; what failed before has been told.
        drop(self.end());
    }
}

impl fmt::Debug for Http2Tunnel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Http2Tunnel")
    }
}

impl AsyncRead for Http2Tunnel {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        while this.read.is_empty() {
            match ready!(this.received.poll_data(cx)) {
                Some(Ok(bytes)) => this.read = bytes,
                None => return Poll::Ready(Ok(())),
                Some(Err(why)) => return Poll::Ready(end_of(why)),
            }
        }
        let count = this.read.len().min(buf.remaining());
        buf.put_slice(&this.read[..count]);
        this.read.advance(count);
        // Only a stream that has ended refuses, and needs no room.
        let _ = this.received.flow_control().release_capacity(count);
        Poll::Ready(Ok(()))
    }
}

/// Says how a stream that was reset ended.
fn end_of(why: h2::Error) -> io::Result<()> {
    match why.reason() {
        Some(Reason::NO_ERROR | Reason::CANCEL) => Ok(()),
        Some(Reason::STREAM_CLOSED) => Err(io::Error::new(io::ErrorKind::BrokenPipe, why)),
        None if why.is_io() => Err(why.into_io().unwrap_or_else(|| io::ErrorKind::Other.into())),
        Some(_) | None => Err(io::Error::other(why)),
    }
}

impl AsyncWrite for Http2Tunnel {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.writing == WriteSide::Ended {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        if bytes.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let wanted = bytes.len().min(PIECE_BYTES_MAX);
        self.sending.reserve_capacity(wanted);
        let count = ready!(self.poll_room(cx))?.min(wanted);
        let piece = StreamPiece::plain(Bytes::copy_from_slice(&bytes[..count]));
        self.sending.send_data(piece, false).map_err(io::Error::other)?;
        Poll::Ready(Ok(count))
    }

    /// All that was taken is on its way: there was room for it.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.end())
    }
}
