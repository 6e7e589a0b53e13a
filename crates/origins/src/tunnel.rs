//! Carries bytes both ways between two streams, unread.
//!
//! A side that ends its half is passed on as just that: the other direction goes on until it ends
//! too. A quiet tunnel holds no buffer and is closed after its idle time. The proxy door calls it
//! for `CONNECT` and, like the gateway, for `Upgrade`.

use http_engine::upgrade::{self, OnUpgrade};
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, sleep_until};
use transport::Stream;

/// What one direction reads at once. Larger reads won nothing on loopback, smaller ones cost a
/// system call per 16 KiB TLS record.
const BUFFER_BYTES: usize = 64 << 10;
/// Free buffers that a core keeps: 2 MiB.
const FREE_BUFFERS_MAX: usize = 32;
/// Reads and writes in one turn before other tasks of the core get theirs.
const ROUNDS_MAX: u32 = 8;

thread_local! {
    static FREE: RefCell<Vec<Box<[u8]>>> = const { RefCell::new(Vec::new()) };
}

/// A client's connection that may become one end of a tunnel. Until then, ending its writing half
/// is left to the close that follows, which saves every ordinary connection a system call.
#[derive(Debug)]
pub struct ClientStream {
    stream: Stream,
    tunnel: BecomesTunnel,
}

/// The switch of a [`ClientStream`], kept by whoever answers its requests while the HTTP engine
/// holds the stream itself.
#[derive(Clone, Debug, Default)]
pub struct BecomesTunnel(Arc<AtomicBool>);

impl BecomesTunnel {
    /// From now on the end of one half is passed on as such.
    pub fn now(&self) {
        self.0.store(true, Relaxed);
    }
}

impl ClientStream {
    /// Wraps a connection and hands out its switch.
    pub fn new(stream: Stream) -> (Self, BecomesTunnel) {
        let tunnel = BecomesTunnel::default();
        (Self { stream, tunnel: tunnel.clone() }, tunnel)
    }
}

impl AsyncRead for ClientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.tunnel.0.load(Relaxed) {
            // A connection that is gone already has nothing left to end.
            let _ = self.stream.shutdown_write();
        }
        Poll::Ready(Ok(()))
    }
}

/// Tells how a tunnel ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunnelEnd {
    /// Both sides had said all.
    Closed,
    /// Nothing moved for the idle time.
    Idle,
    /// A side broke off.
    Broken,
}

/// Holds what a tunnel carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TunnelTotals {
    /// Bytes from the client to the server.
    pub up: u64,
    /// Bytes from the server to the client.
    pub down: u64,
    /// How it ended.
    pub end: TunnelEnd,
}

/// Carries bytes between `client` and `server` until both have ended, one breaks off, or nothing
/// moves for `idle`.
pub async fn tunnel<A, B>(mut client: A, mut server: B, idle: Duration) -> TunnelTotals
where
    A: AsyncRead + AsyncWrite + Unpin,
    B: AsyncRead + AsyncWrite + Unpin,
{
    let moved = Cell::new(Instant::now());
    let (mut up, mut down) = (TunnelDirection::new(), TunnelDirection::new());
    let mut alarm = pin!(sleep_until(moved.get() + idle));
    let end = poll_fn(|cx| {
        let (up_done, down_done) = match (
            up.poll(cx, Pin::new(&mut client), Pin::new(&mut server), &moved),
            down.poll(cx, Pin::new(&mut server), Pin::new(&mut client), &moved),
        ) {
            (Poll::Ready(Err(_)), _) | (_, Poll::Ready(Err(_))) => {
                return Poll::Ready(TunnelEnd::Broken);
            }
            (up, down) => (up.is_ready(), down.is_ready()),
        };
        if up_done && down_done {
            return Poll::Ready(TunnelEnd::Closed);
        }
        // One timer for both ways, moved only when it goes off: a busy tunnel never touches it.
        while alarm.as_mut().poll(cx).is_ready() {
            let due = moved.get() + idle;
            if Instant::now() >= due {
                return Poll::Ready(TunnelEnd::Idle);
            }
            alarm.as_mut().reset(due);
        }
        Poll::Pending
    })
    .await;
    TunnelTotals { up: up.bytes, down: down.bytes, end }
}

/// Carries bytes between two connections that leave HTTP (RFC 9110 §7.8), the client's and the
/// server's; gives what went to the client. Nothing did where one left before it had switched.
pub async fn relay_upgraded(client: OnUpgrade, server: OnUpgrade, idle: Duration) -> u64 {
    match (upgrade::stream(client).await, upgrade::stream(server).await) {
        (Ok(client), Ok(server)) => tunnel(client, server, idle).await.down,
        (Ok(_) | Err(_), Ok(_) | Err(_)) => 0,
    }
}

/// One way through a tunnel.
struct TunnelDirection {
    buffer: Option<Box<[u8]>>,
    written: usize,
    filled: usize,
    bytes: u64,
    phase: TunnelPhase,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TunnelPhase {
    Relaying,
    Flushing,
    Ending,
    Ended,
}

impl TunnelDirection {
    fn new() -> Self {
        Self { buffer: None, written: 0, filled: 0, bytes: 0, phase: TunnelPhase::Relaying }
    }

    fn poll<R: AsyncRead, W: AsyncWrite>(
        &mut self,
        cx: &mut Context<'_>,
        mut from: Pin<&mut R>,
        mut to: Pin<&mut W>,
        moved: &Cell<Instant>,
    ) -> Poll<io::Result<()>> {
        let mut rounds = 0;
        loop {
            match self.phase {
                TunnelPhase::Ended => return Poll::Ready(Ok(())),
                TunnelPhase::Ending => {
                    ready!(to.as_mut().poll_shutdown(cx))?;
                    self.phase = TunnelPhase::Ended;
                }
                TunnelPhase::Flushing => {
                    ready!(to.as_mut().poll_flush(cx))?;
                    self.phase = TunnelPhase::Relaying;
                }
                TunnelPhase::Relaying if self.written < self.filled => {
                    let buffer = self.buffer.as_deref().unwrap_or_default();
                    let wrote =
                        ready!(to.as_mut().poll_write(cx, &buffer[self.written..self.filled]))?;
                    if wrote == 0 {
                        return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
                    }
                    self.written += wrote;
                    self.bytes += wrote as u64;
                    moved.set(Instant::now());
                    if self.written == self.filled {
                        self.phase = TunnelPhase::Flushing;
                    }
                }
                TunnelPhase::Relaying => {
                    if rounds == ROUNDS_MAX {
                        cx.waker().wake_by_ref();
                        return Poll::Pending;
                    }
                    rounds += 1;
                    match self.fill(cx, from.as_mut()) {
                        Poll::Pending => {
                            return_buffer(self.buffer.take());
                            return Poll::Pending;
                        }
                        Poll::Ready(read) => {
                            if read? == 0 {
                                return_buffer(self.buffer.take());
                                self.phase = TunnelPhase::Ending;
                            }
                        }
                    }
                }
            }
        }
    }

    fn fill<R: AsyncRead>(
        &mut self,
        cx: &mut Context<'_>,
        from: Pin<&mut R>,
    ) -> Poll<io::Result<usize>> {
        let mut window = ReadBuf::new(self.buffer.get_or_insert_with(take_buffer));
        ready!(from.poll_read(cx, &mut window))?;
        (self.written, self.filled) = (0, window.filled().len());
        Poll::Ready(Ok(self.filled))
    }
}

impl Drop for TunnelDirection {
    fn drop(&mut self) {
        return_buffer(self.buffer.take());
    }
}

fn take_buffer() -> Box<[u8]> {
    FREE.with_borrow_mut(Vec::pop).unwrap_or_else(|| vec![0; BUFFER_BYTES].into_boxed_slice())
}

/// Keeps a buffer for the next direction that has something to carry; beyond the cap it is freed.
fn return_buffer(buffer: Option<Box<[u8]>>) {
    if let Some(buffer) = buffer {
        FREE.with_borrow_mut(|free| {
            if free.len() < FREE_BUFFERS_MAX {
                free.push(buffer);
            }
        });
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    const IDLE: Duration = Duration::from_mins(5);

    #[tokio::test]
    async fn one_half_may_end_while_the_other_goes_on() {
        let (mut client, near) = duplex(1 << 20);
        let (far, mut server) = duplex(1 << 20);
        let carrying = async { tunnel(near, far, IDLE).await };
        let talking = async {
            client.write_all(b"question").await.unwrap();
            client.shutdown().await.unwrap();
            let mut question = Vec::new();
            server.read_to_end(&mut question).await.unwrap();
            assert_eq!(question, b"question");
            server.write_all(&vec![7; 300_000]).await.unwrap();
            server.shutdown().await.unwrap();
            let mut answer = Vec::new();
            client.read_to_end(&mut answer).await.unwrap();
            assert_eq!(answer, vec![7; 300_000]);
        };
        let (carried, ()) = tokio::join!(carrying, talking);
        assert_eq!(carried, TunnelTotals { up: 8, down: 300_000, end: TunnelEnd::Closed });
    }

    #[tokio::test(start_paused = true)]
    async fn a_quiet_tunnel_ends_and_a_busy_one_does_not() {
        let (mut client, near) = duplex(64);
        let (far, mut server) = duplex(64);
        let carrying = async { tunnel(near, far, IDLE).await };
        let talking = async {
            for _ in 0..3 {
                tokio::time::sleep(IDLE * 2 / 3).await;
                client.write_all(b"x").await.unwrap();
                server.read_u8().await.unwrap();
            }
            Instant::now()
        };
        let (carried, last) = tokio::join!(carrying, talking);
        assert_eq!((carried.up, carried.end), (3, TunnelEnd::Idle));
        assert!(last.elapsed() >= IDLE);
    }

    #[tokio::test]
    async fn idle_tunnels_hold_no_buffer() {
        let (mut client, near) = duplex(64);
        let (far, mut server) = duplex(64);
        FREE.with_borrow_mut(Vec::clear);
        let mut carrying = pin!(tunnel(near, far, IDLE));
        let talking = async {
            client.write_all(b"x").await.unwrap();
            server.read_u8().await.unwrap();
        };
        tokio::select! { _ = &mut carrying => unreachable!("both sides are open"), () = talking => {} }
        // One more turn, so that the tunnel has seen that nothing follows.
        tokio::select! { biased; _ = &mut carrying => unreachable!("both sides are open"), () = std::future::ready(()) => {} }
        assert!(FREE.with_borrow(|free| !free.is_empty()));
    }
}
