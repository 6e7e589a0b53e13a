//! A TCP connection that troubles the reactor only when it must wait.
//!
//! Most requests have arrived when their connection is accepted, and most answers fit the socket's
//! buffer: such a connection is read, answered and closed without ever being registered. What is
//! written to one that has waited is gathered with what its core sends to others
//! ([`crate::outbox`]). Shutting down writing is left to the close that follows (one system call
//! less); a tunnel asks for it with [`Stream::shutdown_write`]. Made by [`crate::accept_loop`] and
//! [`dial`].

use crate::connection_limits::{ConnectionPermit, MovedBytes};
use crate::dial_options::DialOptions;
use crate::outbox::{self, GatheredSocket, GatheredWrite};
use crate::sys;
use crate::sys::local_address;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, bind, connect, recv,
    send, shutdown, socket_with, sockopt,
};
use std::fmt;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::coop;

/// Bytes for which one unit of the task's budget is taken. The runtime gives a task 128 units a
/// turn, so one moves 256 KiB at most before the other connections of its core have theirs.
const BYTES_PER_UNIT: usize = 2048;
/// Bytes that one call gives to the kernel: what a task may move in a turn.
const SENT_AT_ONCE_MAX: usize = 256 << 10;
/// Bytes sent that are not counted yet, at most.
const MOVED_UNTOLD_MAX: u64 = 1 << 20;

/// A connection.
#[derive(Debug)]
pub struct Stream {
    socket: StreamSocket,
    peer: SocketAddr,
    /// This end, where it is known without asking the kernel.
    local: Option<SocketAddr>,
    /// Place under the caps and in the drain, given up when the connection closes.
    permit: Option<ConnectionPermit>,
    /// Told to the permit when the connection waits or closes: connections of all cores count at
    /// one place, which none asks for at each read.
    moved: MovedBytes,
}

#[derive(Debug)]
enum StreamSocket {
    /// Not known to the reactor.
    Free(OwnedFd),
    Registered(Arc<GatheredSocket>),
    /// While it changes hands, within one call only.
    Moving,
}

/// Why a connection could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DialReason {
    /// Nobody listens there.
    Refused,
    /// No answer within the time.
    Timeout,
    /// No way leads there.
    Unreachable,
    /// Anything else, by the system's number.
    Other(i32),
}

/// A connection could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DialError {
    /// To where.
    pub address: SocketAddr,
    /// Why.
    pub reason: DialReason,
}

/// Opens a connection to `address`, waiting at most `timeout`.
pub async fn dial(address: SocketAddr, timeout: Duration) -> Result<Stream, DialError> {
    dial_with(address, timeout, &DialOptions::default()).await
}

/// The same from a chosen interface or address, or with a mark.
pub async fn dial_with(
    address: SocketAddr,
    timeout: Duration,
    options: &DialOptions,
) -> Result<Stream, DialError> {
    match tokio::time::timeout(timeout, dial_unbounded(address, options)).await {
        Ok(outcome) => outcome.map_err(|why| DialError::new(address, &why)),
        Err(_) => Err(DialError { address, reason: DialReason::Timeout }),
    }
}

async fn dial_unbounded(address: SocketAddr, options: &DialOptions) -> io::Result<Stream> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    options.apply(&socket)?;
    options.watch_peer(&socket)?;
    if let Some(local) = options.local(address)? {
        bind(&socket, &local)?;
    }
    let socket = match connect(&socket, &address) {
        Ok(()) => StreamSocket::Free(socket),
        Err(Errno::INPROGRESS) => {
            let socket = GatheredSocket::register(socket).map_err(|(_, why)| why)?;
            socket.fd().writable().await?.retain_ready();
            sockopt::socket_error(socket.as_fd())??;
            StreamSocket::Registered(socket)
        }
        Err(why) => return Err(why.into()),
    };
    Ok(Stream { socket, peer: address, local: None, permit: None, moved: MovedBytes::default() })
}

impl Stream {
    pub(crate) fn accepted(
        socket: OwnedFd,
        peer: SocketAddr,
        local: Option<SocketAddr>,
        permit: ConnectionPermit,
    ) -> Self {
        let (socket, moved) = (StreamSocket::Free(socket), MovedBytes::default());
        Self { socket, peer, local, permit: Some(permit), moved }
    }

    /// Takes over a connection of the standard library.
    pub fn from_std(stream: std::net::TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        let peer = stream.peer_addr()?;
        let (socket, moved) = (StreamSocket::Free(stream.into()), MovedBytes::default());
        Ok(Self { socket, peer, local: None, permit: None, moved })
    }

    /// The other end.
    pub const fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Makes `client` the other end, if it has room under the caps.
    pub(crate) fn set_client(&mut self, client: SocketAddr) -> bool {
        self.peer = client;
        self.permit.as_mut().is_none_or(|permit| permit.reassign(client.ip()))
    }

    /// Waits until something has come that was not there when the socket was last found empty.
    pub(crate) async fn readable_again(&mut self) -> io::Result<()> {
        poll_fn(|cx| {
            let socket = match self.registered() {
                Ok(socket) => socket,
                Err(why) => return Poll::Ready(Err(why)),
            };
            loop {
                let mut data = ready!(socket.poll_read_ready(cx))?;
                match data.try_io(|socket| {
                    let mut byte = [0];
                    recv(socket, &mut byte[..], RecvFlags::PEEK).map_err(Into::into)
                }) {
                    Ok(outcome) => return Poll::Ready(outcome.map(drop)),
                    Err(_would_block) => {}
                }
            }
        })
        .await
    }

    /// Looks at what has come, once it is more than `seen` bytes, and takes nothing out of the
    /// socket: `bytes` then begins with it. Gives how much that is: no more than `seen` if no more
    /// will come, and all of `bytes` if they are too few.
    pub async fn peek_beyond(&mut self, seen: usize, bytes: &mut [u8]) -> io::Result<usize> {
        poll_fn(|cx| {
            let socket = match self.registered() {
                Ok(socket) => socket,
                Err(why) => return Poll::Ready(Err(why)),
            };
            loop {
                let mut data = ready!(socket.poll_read_ready(cx))?;
                let count = match recv(socket, &mut *bytes, RecvFlags::PEEK) {
                    Ok((_, count)) => count,
                    Err(Errno::AGAIN) => 0,
                    Err(why) => return Poll::Ready(Err(why.into())),
                };
                if count > seen || count == bytes.len() || data.ready().is_read_closed() {
                    return Poll::Ready(Ok(count));
                }
                // What comes from now on is reported anew.
                data.clear_ready();
            }
        })
        .await
    }

    /// This end: the address that the client connected to.
    pub fn local(&self) -> io::Result<SocketAddr> {
        self.local
            .or_else(|| local_address(self.as_fd()))
            .ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// The address that the client connected to before the packet filter of this machine redirected
    /// it here (`SO_ORIGINAL_DST`); an error where it has done no such thing.
    pub fn original_destination(&self) -> io::Result<SocketAddr> {
        Ok(match self.local()? {
            SocketAddr::V4(_) => sockopt::ip_original_dst(self)?.into(),
            SocketAddr::V6(_) => sockopt::ipv6_original_dst(self)?.into(),
        })
    }

    /// Tells the other end that nothing more will be written, while reading goes on: what a tunnel
    /// does when one side has ended.
    pub fn shutdown_write(&self) -> io::Result<()> {
        match &self.socket {
            StreamSocket::Registered(socket) => socket.shutdown_write(),
            StreamSocket::Free(_) | StreamSocket::Moving => {
                shutdown(self.as_fd(), Shutdown::Write).map_err(Into::into)
            }
        }
    }

    /// True if the reactor knows this connection; tests and figures ask.
    pub const fn is_registered(&self) -> bool {
        matches!(self.socket, StreamSocket::Registered(_))
    }

    /// The socket as the reactor knows it, registered now if it was not.
    fn registered(&mut self) -> io::Result<&AsyncFd<OwnedFd>> {
        self.gathered().map(|socket| socket.fd())
    }

    fn gathered(&mut self) -> io::Result<&Arc<GatheredSocket>> {
        if let StreamSocket::Free(_) = self.socket {
            let StreamSocket::Free(socket) =
                std::mem::replace(&mut self.socket, StreamSocket::Moving)
            else {
                unreachable!("matched on the line above");
            };
            self.socket = match GatheredSocket::register(socket) {
                Ok(socket) => StreamSocket::Registered(socket),
                Err((socket, why)) => {
                    self.socket = StreamSocket::Free(socket);
                    return Err(why);
                }
            };
        }
        match &self.socket {
            StreamSocket::Registered(socket) => Ok(socket),
            StreamSocket::Free(_) | StreamSocket::Moving => unreachable!("registered just above"),
        }
    }

    /// Tells the permit what has moved.
    fn count_moved_bytes(&mut self) {
        if let Some(permit) = &self.permit {
            permit.count_bytes(std::mem::take(&mut self.moved));
        }
    }

    /// Writes `pieces`: at once, with what its core sends next, or when the socket has room.
    fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let StreamSocket::Free(socket) = &self.socket {
            let turn = ready!(coop::poll_proceed(cx));
            match write_now(socket.as_fd(), pieces) {
                Err(Errno::AGAIN) => {}
                outcome => {
                    turn.made_progress();
                    return Poll::Ready(count_moved(cx, outcome.map_err(Into::into)));
                }
            }
        }
        let socket = self.gathered()?;
        let turn = ready!(coop::poll_proceed(cx));
        if let GatheredWrite::Taken(count) = ready!(socket.poll_write(cx, pieces))? {
            turn.made_progress();
            return Poll::Ready(count_moved(cx, Ok(count)));
        }
        drop(turn);
        loop {
            let mut room = ready!(socket.fd().poll_write_ready(cx))?;
            match room.try_io(|socket| write_now(socket.as_fd(), pieces).map_err(Into::into)) {
                Ok(outcome) => return Poll::Ready(count_moved(cx, outcome)),
                Err(_would_block) => {}
            }
        }
    }
}

fn write_now(socket: BorrowedFd<'_>, pieces: &[IoSlice<'_>]) -> rustix::io::Result<usize> {
    match pieces {
        [piece] => send(socket, piece, SendFlags::NOSIGNAL),
        // SIGPIPE is ignored by the standard library's start-up code.
        _ => rustix::io::writev(socket, pieces),
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.count_moved_bytes();
        if let StreamSocket::Registered(socket) = &self.socket {
            socket.keep_until_sent(&mut self.permit);
        }
    }
}

/// Takes the bytes that were moved out of what the task may do in this turn. Without that, a
/// connection whose other end keeps up would hold its core for as long as there is something to
/// send, and nobody else on that core would be answered.
fn count_moved(cx: &mut Context<'_>, moved: io::Result<usize>) -> io::Result<usize> {
    // The call itself has taken one unit.
    for _ in 0..moved.as_ref().map_or(0, |bytes| bytes / BYTES_PER_UNIT) {
        match coop::poll_proceed(cx) {
            Poll::Ready(unit) => unit.made_progress(),
            Poll::Pending => break,
        }
    }
    moved
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.socket {
            StreamSocket::Free(socket) => socket.as_fd(),
            StreamSocket::Registered(socket) => socket.as_fd(),
            StreamSocket::Moving => unreachable!("no method leaves it so"),
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let outcome = self.poll_receive(cx, buf);
        if outcome.is_pending() {
            self.count_moved_bytes();
        } else {
            self.moved.received += (buf.filled().len() - before) as u64;
        }
        outcome
    }
}

impl Stream {
    fn note_sent(&mut self, outcome: &Poll<io::Result<usize>>) {
        if let Poll::Ready(Ok(count)) = outcome {
            self.moved.sent += *count as u64;
        }
        // A long download never waits for its client's next request.
        if self.moved.sent > MOVED_UNTOLD_MAX {
            self.count_moved_bytes();
        }
    }

    fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let StreamSocket::Free(socket) = &self.socket {
            let turn = ready!(coop::poll_proceed(cx));
            match sys::receive(socket.as_fd(), buf) {
                Err(Errno::AGAIN) => {}
                outcome => {
                    turn.made_progress();
                    return Poll::Ready(count_moved(cx, outcome.map_err(Into::into)).map(drop));
                }
            }
        }
        outbox::count_read();
        let socket = self.registered()?;
        loop {
            let mut data = ready!(socket.poll_read_ready(cx))?;
            let room = buf.remaining();
            let received = data
                .try_io(|socket| sys::receive(socket.get_ref().as_fd(), buf).map_err(Into::into));
            match received {
                Ok(Ok(count)) => {
                    // Readiness is reported on change only, and a short read has emptied the
                    // socket: clearing it here saves the read that would find nothing.
                    if count > 0 && count < room {
                        data.clear_ready();
                    }
                    return Poll::Ready(count_moved(cx, Ok(count)).map(drop));
                }
                Ok(Err(why)) => return Poll::Ready(Err(why)),
                Err(_would_block) => {}
            }
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let bytes = &bytes[..bytes.len().min(SENT_AT_ONCE_MAX)];
        let outcome = self.poll_send(cx, &[IoSlice::new(bytes)]);
        self.note_sent(&outcome);
        outcome
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = self.poll_send(cx, pieces);
        self.note_sent(&outcome);
        outcome
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Waits for what the socket had no room for; what is to be sent with others is on its way.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &self.socket {
            StreamSocket::Registered(socket) => socket.poll_sent(cx),
            StreamSocket::Free(_) | StreamSocket::Moving => Poll::Ready(Ok(())),
        }
    }

    /// Nothing: the close that follows says the same. See [`Stream::shutdown_write`].
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Waits until `stream` has something to read, or has ended, without reading it.
pub async fn readable(stream: &mut Stream) -> io::Result<()> {
    poll_fn(|cx| {
        let socket = match stream.registered() {
            Ok(socket) => socket,
            Err(why) => return Poll::Ready(Err(why)),
        };
        socket.poll_read_ready(cx).map(|ready| ready.map(|mut guard| guard.retain_ready()))
    })
    .await
}

impl DialError {
    fn new(address: SocketAddr, why: &io::Error) -> Self {
        let reason = match why.kind() {
            io::ErrorKind::ConnectionRefused => DialReason::Refused,
            io::ErrorKind::TimedOut => DialReason::Timeout,
            io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
                DialReason::Unreachable
            }
            _ => DialReason::Other(why.raw_os_error().unwrap_or(0)),
        };
        Self { address, reason }
    }
}

impl fmt::Display for DialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot connect to {}: ", self.address)?;
        match self.reason {
            DialReason::Refused => f.write_str("nothing listens there"),
            DialReason::Timeout => f.write_str("no answer in time"),
            DialReason::Unreachable => f.write_str("no way leads there"),
            DialReason::Other(number) => io::Error::from_raw_os_error(number).fmt(f),
        }
    }
}

impl std::error::Error for DialError {}
