//! Connections to one `FastCGI` server, shared by all cores.
//!
//! A child of php-fpm belongs to its connection until that closes, so idle connections that nobody
//! shares would keep children from those that wait: an idle one is taken by whichever core comes
//! first, and none is kept while a new one has not been heard of yet. It speaks no `FastCGI`.
//! Called by `server`.

use crate::address::FastcgiAddress;
use crate::turns::ScriptTurns;
use std::io::{self, ErrorKind, Read};
use std::net::SocketAddr;
use std::net::TcpStream as StdTcp;
use std::os::unix::net::UnixStream as StdUnix;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

/// A server on this machine or its network that takes no connection for so long is down.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Why no connection was had.
#[derive(Debug)]
pub(crate) enum NoConnection {
    /// Too many requests wait for a turn.
    Busy,
    /// The server does not take it.
    Refused(io::Error),
    /// Does not answer.
    TimedOut,
}

/// An open connection on this core.
pub(crate) enum FastcgiSocket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

/// One between two cores: known to no reactor.
enum IdleSocket {
    Unix(StdUnix),
    Tcp(StdTcp),
}

/// All connections to a server.
pub(crate) struct FastcgiPool {
    address: FastcgiAddress,
    keep: usize,
    idle: Mutex<Vec<IdleSocket>>,
    turns: ScriptTurns,
    /// New connections from which nothing has come yet: the server may not have taken them.
    unconfirmed: AtomicU32,
    opened: AtomicU32,
}

/// A connection in use. Dropped, it is closed; [`SocketLease::release`] keeps it.
pub(crate) struct SocketLease {
    pub(crate) socket: FastcgiSocket,
    pool: Arc<FastcgiPool>,
    confirmed: HeardFromServer,
    /// Whether it served an earlier request.
    pub(crate) age: SocketAge,
    _turn: OwnedSemaphorePermit,
}

/// Tells whether anything has come from the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeardFromServer {
    Yes,
    No,
}

/// Where a connection comes from, or may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SocketAge {
    Fresh,
    Reused,
}

impl FastcgiPool {
    /// At most `connections` at once, of which `keep` are left open.
    pub(crate) fn new(address: FastcgiAddress, keep: u32, connections: u32) -> Arc<Self> {
        Arc::new(Self {
            address,
            keep: keep as usize,
            idle: Mutex::new(Vec::new()),
            turns: ScriptTurns::new(connections),
            unconfirmed: AtomicU32::new(0),
            opened: AtomicU32::new(0),
        })
    }

    /// An idle connection, or a new one; [`SocketAge::Fresh`] asks for a new one. Waits `patience`
    /// at most for its turn.
    pub(crate) async fn acquire(
        self: &Arc<Self>,
        age: SocketAge,
        patience: Duration,
    ) -> Result<SocketLease, NoConnection> {
        let turn = self.turns.take(patience).await.map_err(|_| NoConnection::Busy)?;
        if age == SocketAge::Reused
            && let Some(socket) = self.take_idle()
        {
            let pool = Arc::clone(self);
            return Ok(SocketLease {
                socket,
                pool,
                confirmed: HeardFromServer::Yes,
                age: SocketAge::Reused,
                _turn: turn,
            });
        }
        let socket = match timeout(CONNECT_TIMEOUT, FastcgiSocket::connect(&self.address)).await {
            Ok(Ok(socket)) => socket,
            Ok(Err(why)) => return Err(NoConnection::Refused(why)),
            Err(_) => return Err(NoConnection::TimedOut),
        };
        self.unconfirmed.fetch_add(1, Relaxed);
        self.opened.fetch_add(1, Relaxed);
        let pool = Arc::clone(self);
        Ok(SocketLease {
            socket,
            pool,
            confirmed: HeardFromServer::No,
            age: SocketAge::Fresh,
            _turn: turn,
        })
    }

    /// An idle connection that the server has not closed.
    fn take_idle(&self) -> Option<FastcgiSocket> {
        loop {
            let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
            if let Some(socket) = idle.attach() {
                return Some(socket);
            }
        }
    }

    /// Connections opened so far.
    pub(crate) fn opened(&self) -> u32 {
        self.opened.load(Relaxed)
    }
}

impl SocketLease {
    /// Something has come: the server has taken the connection.
    pub(crate) fn confirm(&mut self) {
        if self.confirmed == HeardFromServer::No {
            self.confirmed = HeardFromServer::Yes;
            self.pool.unconfirmed.fetch_sub(1, Relaxed);
        }
    }

    /// The request is done and the connection clean: the next request may have it.
    pub(crate) fn release(mut self) {
        self.confirm();
        let pool = Arc::clone(&self.pool);
        if pool.unconfirmed.load(Relaxed) > 0 {
            return;
        }
        let Some(socket) = self.detach() else { return };
        let mut idle = pool.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < pool.keep {
            idle.push(socket);
        }
        // Only now does the next one get its turn: it finds the connection.
        drop(idle);
        drop(self);
    }

    /// The socket under a descriptor that no reactor knows; ours goes with the lease.
    fn detach(&self) -> Option<IdleSocket> {
        let copy = match &self.socket {
            FastcgiSocket::Unix(socket) => {
                rustix::io::dup(socket).map(|fd| IdleSocket::Unix(fd.into()))
            }
            FastcgiSocket::Tcp(socket) => {
                rustix::io::dup(socket).map(|fd| IdleSocket::Tcp(fd.into()))
            }
        };
        copy.ok()
    }
}

impl Drop for SocketLease {
    fn drop(&mut self) {
        self.confirm();
    }
}

impl IdleSocket {
    /// On this core's reactor; `None` if the server has closed it or said what nobody asked.
    fn attach(self) -> Option<FastcgiSocket> {
        let mut byte = [0];
        let silent = |result: io::Result<usize>| {
            result.is_err_and(|why| why.kind() == ErrorKind::WouldBlock)
        };
        match self {
            Self::Unix(mut socket) => silent(socket.read(&mut byte))
                .then(|| UnixStream::from_std(socket).ok().map(FastcgiSocket::Unix))?,
            Self::Tcp(mut socket) => silent(socket.read(&mut byte))
                .then(|| TcpStream::from_std(socket).ok().map(FastcgiSocket::Tcp))?,
        }
    }
}

impl FastcgiSocket {
    async fn connect(address: &FastcgiAddress) -> io::Result<Self> {
        match address {
            FastcgiAddress::Unix(path) => Ok(Self::Unix(UnixStream::connect(path).await?)),
            FastcgiAddress::Tcp(address) => Self::tcp(&[*address]).await,
            FastcgiAddress::Named(named) => Self::tcp(&named.addresses().await?).await,
        }
    }

    /// To the first of these that takes it.
    async fn tcp(addresses: &[SocketAddr]) -> io::Result<Self> {
        let socket = TcpStream::connect(addresses).await?;
        socket.set_nodelay(true)?;
        Ok(Self::Tcp(socket))
    }

    /// Reads what is there into `buffer`, waiting until something is.
    pub(crate) async fn read(&self, buffer: &mut bytes::BytesMut) -> io::Result<usize> {
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
        loop {
            match self.write_now(bytes) {
                Err(why) if why.kind() == ErrorKind::WouldBlock => match self {
                    Self::Unix(socket) => socket.writable().await?,
                    Self::Tcp(socket) => socket.writable().await?,
                },
                done => return done,
            }
        }
    }

    /// Writes what there is room for now.
    pub(crate) fn write_now(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(socket) => socket.try_write(bytes),
            Self::Tcp(socket) => socket.try_write(bytes),
        }
    }
}
