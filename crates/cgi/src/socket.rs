//! An open connection to a `FastCGI` server, on the reactor of one core.
//!
//! Bytes are written at once, and only a connection that takes no more is waited for: most requests
//! fit. It knows no `FastCGI`. Called by `pool` and `exchange`.

use crate::address::FastcgiAddress;
use bytes::BytesMut;
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use tokio::io::Interest;
use tokio::net::{TcpStream, UnixStream};

/// An open connection on this core.
pub(crate) enum FastcgiSocket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl FastcgiSocket {
    /// A new connection to this address.
    pub(crate) async fn connect(address: &FastcgiAddress) -> io::Result<Self> {
        match address {
            FastcgiAddress::Unix(path) => connect_unix(path),
            FastcgiAddress::Tcp(address) => connect_tcp(&[*address]).await,
            FastcgiAddress::Named(named) => connect_tcp(&named.addresses().await?).await,
        }
    }

    /// The connection on the reactor of the core that asks; it was on another's.
    pub(crate) fn moved_here(self) -> io::Result<Self> {
        match self {
            Self::Unix(socket) => UnixStream::from_std(socket.into_std()?).map(Self::Unix),
            Self::Tcp(socket) => TcpStream::from_std(socket.into_std()?).map(Self::Tcp),
        }
    }

    /// Between two requests, whether the server has left it open and said nothing that nobody
    /// asked.
    pub(crate) fn is_silent(&self) -> bool {
        let mut byte = [0; 1];
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        let found = rustix::net::recv(self.fd(), &mut byte, flags);
        // What was read before has left it marked as readable, which it is not.
        let unmark = || Err::<(), _>(io::Error::from(ErrorKind::WouldBlock));
        let _ = match self {
            Self::Unix(socket) => socket.try_io(Interest::READABLE, unmark),
            Self::Tcp(socket) => socket.try_io(Interest::READABLE, unmark),
        };
        found.is_err_and(|why| why == Errno::WOULDBLOCK)
    }

    /// Reads what is there into `buffer`, `most` bytes at most, waiting until something is.
    pub(crate) async fn read(&self, buffer: &mut BytesMut, most: usize) -> io::Result<usize> {
        buffer.reserve(most);
        loop {
            let outcome = match self {
                Self::Unix(socket) => {
                    socket.readable().await?;
                    socket.try_read_buf(buffer)
                }
                Self::Tcp(socket) => {
                    socket.readable().await?;
                    socket.try_read_buf(buffer)
                }
            };
            match outcome {
                Err(why) if why.kind() == ErrorKind::WouldBlock => {}
                done => return done,
            }
        }
    }

    /// Writes some of `bytes`, waiting until there is room.
    pub(crate) async fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut outcome = self.write_now(bytes);
        while outcome.as_ref().is_err_and(|why| why.kind() == ErrorKind::WouldBlock) {
            outcome = match self {
                Self::Unix(socket) => {
                    socket.writable().await?;
                    socket.try_write(bytes)
                }
                Self::Tcp(socket) => {
                    socket.writable().await?;
                    socket.try_write(bytes)
                }
            };
        }
        outcome
    }

    /// Writes what there is room for now, whatever the reactor has heard so far: of a new
    /// connection, nothing.
    pub(crate) fn write_now(&self, bytes: &[u8]) -> io::Result<usize> {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        Ok(rustix::io::retry_on_intr(|| rustix::net::send(self.fd(), bytes, flags))?)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(socket) => socket.as_fd(),
            Self::Tcp(socket) => socket.as_fd(),
        }
    }
}

/// A server on this machine takes a connection at once, or its backlog is full: there is nothing to
/// wait for.
fn connect_unix(path: &Path) -> io::Result<FastcgiSocket> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket: OwnedFd =
        rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    UnixStream::from_std(socket.into()).map(FastcgiSocket::Unix)
}

/// To the first of these that takes it.
async fn connect_tcp(addresses: &[SocketAddr]) -> io::Result<FastcgiSocket> {
    let socket = TcpStream::connect(addresses).await?;
    socket.set_nodelay(true)?;
    Ok(FastcgiSocket::Tcp(socket))
}
