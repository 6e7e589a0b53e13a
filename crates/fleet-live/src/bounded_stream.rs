//! Stream to a server under the client's library: what comes in passes a gauge, which ends the
//! connection before an answer fills the memory.

use crate::reply_gauge::ReplyGauge;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Stream to a server.
pub(crate) struct BoundedStream<S> {
    stream: S,
    gauge: ReplyGauge,
}

impl<S> BoundedStream<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, gauge: ReplyGauge::default() }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for BoundedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        let taken = self.gauge.take(&buf.filled()[before..]);
        Poll::Ready(taken.map_err(|why| {
            buf.set_filled(before);
            // A kind with which the library gives the connection up.
            io::Error::new(ErrorKind::ConnectionAborted, format!("it answers with {why}"))
        }))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for BoundedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.gauge.sent();
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
