//! Cutting of plain bytes into TLS records: small ones first, then as large as they come.
//!
//! A browser can use nothing of a record before its last byte has come. While a connection is young
//! a record of 16 KiB would wait for the second round trip; one that fits a TCP segment is of use
//! as it arrives. Records of one call still leave in one system call. It encrypts nothing itself.
//! Called by [`super::TlsStream`] for every write.

use std::io::{self, IoSlice, Write};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::server::TlsStream;

/// Plain bytes in an early record: a segment over Ethernet with IPv6 and time stamps carries 1428
/// bytes, of which a record of TLS 1.2 takes up to 29.
pub(super) const EARLY_RECORD_BYTES: usize = 1399;
/// Plain bytes that a connection sends in early records: by then the congestion window has grown
/// from ten segments to some fifty, beyond any record.
const EARLY_BYTES: usize = 64 << 10;

/// Holds how far a connection has come.
#[derive(Debug, Default)]
pub(super) struct RecordProgress {
    /// Plain bytes sent, up to [`EARLY_BYTES`].
    sent: usize,
}

impl RecordProgress {
    /// Writes what `pieces` hold, or a part of it.
    pub(super) fn poll_write<S: AsyncRead + AsyncWrite + Unpin>(
        &mut self,
        stream: &mut TlsStream<S>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let total: usize = pieces.iter().map(|piece| piece.len()).sum();
        if self.sent >= EARLY_BYTES || total <= EARLY_RECORD_BYTES {
            // Head and body of a small answer make one record.
            let written = Pin::new(stream).poll_write_vectored(cx, pieces);
            if let Poll::Ready(Ok(count)) = written {
                self.sent = EARLY_BYTES.min(self.sent + count);
            }
            return written;
        }
        self.poll_write_early(stream, cx, pieces, total)
    }

    fn poll_write_early<S: AsyncRead + AsyncWrite + Unpin>(
        &mut self,
        stream: &mut TlsStream<S>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
        total: usize,
    ) -> Poll<io::Result<usize>> {
        let until = total.min(EARLY_BYTES - self.sent);
        let mut rest = pieces.iter().flat_map(|piece| piece.chunks(EARLY_RECORD_BYTES));
        let (mut record, mut ahead) = ([0; EARLY_RECORD_BYTES], &[][..]);
        let mut done = 0;
        loop {
            let mut filled = 0;
            let room = EARLY_RECORD_BYTES.min(until - done);
            while filled < room {
                if ahead.is_empty() {
                    let Some(next) = rest.next() else { break };
                    ahead = next;
                }
                let (now, later) = ahead.split_at(ahead.len().min(room - filled));
                record[filled..filled + now.len()].copy_from_slice(now);
                (filled, ahead) = (filled + now.len(), later);
            }
            let mut taken = 0;
            if done + filled < until {
                // Encrypted and kept: the last record's write takes all along.
                taken = stream.get_mut().1.writer().write(&record[..filled])?;
                (done, self.sent) = (done + taken, self.sent + taken);
                if taken == filled {
                    continue;
                }
            }
            // The last one, or the library's buffer is full.
            return match Pin::new(stream).poll_write(cx, &record[taken..filled]) {
                Poll::Ready(Ok(last)) => {
                    self.sent = EARLY_BYTES.min(self.sent + last);
                    Poll::Ready(Ok(done + last))
                }
                // What is kept has been taken; whoever writes on waits then.
                Poll::Pending if done > 0 => Poll::Ready(Ok(done)),
                Poll::Pending => Poll::Pending,
                Poll::Ready(Err(why)) => Poll::Ready(Err(why)),
            };
        }
    }
}
