//! Connections to one `FastCGI` server, shared by all cores.
//!
//! A child of php-fpm belongs to its connection until that closes, so idle connections that nobody
//! shares would keep children from those that wait: an idle one is taken by whichever core comes
//! first, one of its own before another's, and none is kept while a new one has waited for some
//! time without being heard of; the new one then closes those that are idle. It speaks no
//! `FastCGI`. Called by `server`.

use crate::address::FastcgiAddress;
use crate::socket::FastcgiSocket;
use crate::turns::ScriptTurns;
use std::cell::Cell;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep, timeout};

/// A server on this machine or its network that takes no connection for so long is down.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A new connection from which nothing has come for so long may wait for a child of the server: one
/// is freed for it. Scripts that only take longer gain little by kept connections.
const BACKLOG_AFTER: Duration = Duration::from_millis(5);

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

/// All connections to a server.
pub(crate) struct FastcgiPool {
    address: FastcgiAddress,
    keep: usize,
    state: Mutex<PoolState>,
    turns: ScriptTurns,
    opened: AtomicU32,
}

/// Connections that nobody uses, and those that the server may not have taken.
#[derive(Default)]
struct PoolState {
    idle: Vec<IdleSocket>,
    /// New ones from which nothing has come yet, by number, the oldest first. No more than there
    /// are turns.
    unheard: VecDeque<(u32, Instant)>,
}

/// A connection between two requests.
struct IdleSocket {
    socket: FastcgiSocket,
    /// The core on whose reactor it is.
    core: ThreadId,
}

/// A connection in use. Dropped, it is closed; [`SocketLease::release`] keeps it.
pub(crate) struct SocketLease {
    pub(crate) socket: FastcgiSocket,
    end: LeaseEnd,
    /// Reused if it served an earlier request.
    pub(crate) age: SocketAge,
}

/// Turn and standing of a connection, which are given back with it.
struct LeaseEnd {
    pool: Arc<FastcgiPool>,
    /// The number of a new one from which nothing has come.
    unheard: Cell<Option<u32>>,
    _turn: OwnedSemaphorePermit,
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
            state: Mutex::default(),
            turns: ScriptTurns::new(connections),
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
        let end = LeaseEnd { pool: Arc::clone(self), unheard: Cell::new(None), _turn: turn };
        if age == SocketAge::Reused
            && let Some(socket) = self.take_idle()
        {
            return Ok(SocketLease { socket, end, age: SocketAge::Reused });
        }
        let socket = match timeout(CONNECT_TIMEOUT, FastcgiSocket::connect(&self.address)).await {
            Ok(Ok(socket)) => socket,
            Ok(Err(why)) => return Err(NoConnection::Refused(why)),
            Err(_) => return Err(NoConnection::TimedOut),
        };
        let number = self.opened.fetch_add(1, Relaxed);
        self.state().unheard.push_back((number, Instant::now()));
        end.unheard.set(Some(number));
        Ok(SocketLease { socket, end, age: SocketAge::Fresh })
    }

    /// An idle connection that the server has not closed.
    fn take_idle(&self) -> Option<FastcgiSocket> {
        let here = thread::current().id();
        loop {
            let idle = self.state().take(here)?;
            if idle.socket.is_silent() {
                if idle.core == here {
                    return Some(idle.socket);
                }
                if let Ok(socket) = idle.socket.moved_here() {
                    return Some(socket);
                }
            }
        }
    }

    /// Closes the idle connection that was used longest ago, so that its child is free.
    fn close_idle(&self) {
        let mut state = self.state();
        let closed = (!state.idle.is_empty()).then(|| state.idle.remove(0));
        drop(state);
        drop(closed);
    }

    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Connections opened so far.
    pub(crate) fn opened(&self) -> u32 {
        self.opened.load(Relaxed)
    }
}

impl PoolState {
    /// The idle connection that was used last on this core, or else on any.
    fn take(&mut self, here: ThreadId) -> Option<IdleSocket> {
        let of_here = self.idle.iter().rposition(|it| it.core == here);
        match of_here {
            Some(at) => Some(self.idle.remove(at)),
            None => self.idle.pop(),
        }
    }

    /// True if a new connection may wait for the server to have a child for it.
    fn has_backlog(&self) -> bool {
        self.unheard.front().is_some_and(|(_, since)| since.elapsed() >= BACKLOG_AFTER)
    }
}

impl SocketLease {
    /// Something has come: the server has taken the connection.
    pub(crate) fn confirm(&self) {
        self.end.confirm();
    }

    /// Frees a child for a new connection each time that nothing has come over it for some time:
    /// idle connections may hold all children, and none is released any more where everybody
    /// waits. Never ends.
    pub(crate) async fn make_room(&self) -> Infallible {
        while self.end.unheard.get().is_some() {
            sleep(BACKLOG_AFTER).await;
            self.end.pool.close_idle();
        }
        pending().await
    }

    /// The request is done and the connection clean: the next request may have it.
    pub(crate) fn release(self) {
        let Self { socket, end, .. } = self;
        end.confirm();
        let mut state = end.pool.state();
        let is_kept = state.idle.len() < end.pool.keep && !state.has_backlog();
        // Any other is closed once nobody waits for the lock.
        let closed = if is_kept {
            state.idle.push(IdleSocket { socket, core: thread::current().id() });
            None
        } else {
            Some(socket)
        };
        drop(state);
        drop(closed);
        // Only now does the next one get its turn: it finds the connection.
        drop(end);
    }
}

impl LeaseEnd {
    fn confirm(&self) {
        let Some(number) = self.unheard.take() else { return };
        let mut state = self.pool.state();
        if let Some(at) = state.unheard.iter().position(|(it, _)| *it == number) {
            state.unheard.remove(at);
        }
    }
}

impl Drop for LeaseEnd {
    fn drop(&mut self) {
        self.confirm();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;
    use bytes::BytesMut;
    use std::os::unix::net::UnixListener;

    const PATIENCE: Duration = Duration::from_secs(5);

    fn pool(name: &str, keep: u32) -> (UnixListener, Arc<FastcgiPool>, std::path::PathBuf) {
        let path = std::env::temp_dir().join(format!("cgi-pool-{name}-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).unwrap();
        let pool = FastcgiPool::new(FastcgiAddress::Unix(path.clone()), keep, 4);
        (listener, pool, path)
    }

    fn run(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(test);
    }

    async fn acquire(pool: &Arc<FastcgiPool>) -> SocketLease {
        pool.acquire(SocketAge::Reused, PATIENCE).await.unwrap()
    }

    #[test]
    fn connections_are_kept_while_new_ones_are_heard_of_soon() {
        let (_listener, pool, path) = pool("soon", 4);
        run(async {
            let (first, second) = (acquire(&pool).await, acquire(&pool).await);
            // The second has only just been made: it may be with a child already.
            first.release();
            assert_eq!(acquire(&pool).await.age, SocketAge::Reused);
            second.release();
            assert_eq!(pool.opened(), 2);
        });
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_connection_that_may_wait_for_a_child_is_given_one() {
        let (_listener, pool, path) = pool("backlog", 4);
        run(async {
            let (first, second) = (acquire(&pool).await, acquire(&pool).await);
            tokio::time::advance(BACKLOG_AFTER).await;
            first.release();
            assert_eq!(acquire(&pool).await.age, SocketAge::Fresh);
            // Once it has been heard of, all are kept.
            second.confirm();
            let third = acquire(&pool).await;
            third.release();
            second.release();
            assert_eq!(pool.state().idle.len(), 2);
            assert!(pool.state().unheard.is_empty());
        });
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn whoever_waits_for_a_child_has_idle_connections_closed() {
        let (_listener, pool, path) = pool("room-for-new", 4);
        run(async {
            let (first, second) = (acquire(&pool).await, acquire(&pool).await);
            let third = acquire(&pool).await;
            // All are so new that they are kept, and hold the children of the server.
            first.release();
            second.release();
            assert_eq!(pool.state().idle.len(), 2);
            let waited = timeout(BACKLOG_AFTER * 3, third.make_room()).await;
            assert!(waited.is_err());
            assert!(pool.state().idle.is_empty());
            // What has been heard of needs no room.
            third.confirm();
            let (fourth, _fifth) = (acquire(&pool).await, acquire(&pool).await);
            fourth.release();
            assert!(timeout(BACKLOG_AFTER * 3, third.make_room()).await.is_err());
            assert_eq!(pool.state().idle.len(), 1);
        });
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_connection_is_used_on_by_another_core_unless_the_server_closed_it() {
        let (listener, pool, path) = pool("cores", 4);
        let other = Arc::clone(&pool);
        // One reactor ends before the other begins: the connection is taken out of it all the same.
        thread::spawn(move || run(async move { acquire(&other).await.release() })).join().unwrap();
        let (server, _) = listener.accept().unwrap();
        run(async {
            let lease = acquire(&pool).await;
            assert_eq!(lease.age, SocketAge::Reused);
            lease.socket.write(b"asked").await.unwrap();
            std::io::Write::write_all(&mut &server, b"told").unwrap();
            let mut buffer = BytesMut::new();
            assert_eq!(lease.socket.read(&mut buffer, 64).await.unwrap(), 4);
            assert_eq!(&buffer[..], b"told");
            lease.release();
            drop(server);
            assert_eq!(acquire(&pool).await.age, SocketAge::Fresh);
        });
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn what_does_not_fit_is_written_as_there_is_room() {
        let (listener, pool, path) = pool("room", 0);
        let reading = thread::spawn(move || {
            let (mut server, _) = listener.accept().unwrap();
            let mut all = Vec::new();
            std::io::Read::read_to_end(&mut server, &mut all).unwrap();
            all.len()
        });
        run(async {
            let lease = acquire(&pool).await;
            let (bytes, mut sent) = (vec![7; 4 << 20], 0);
            while sent < bytes.len() {
                sent += lease.socket.write(&bytes[sent..]).await.unwrap();
            }
        });
        assert_eq!(reading.join().unwrap(), 4 << 20);
        std::fs::remove_file(path).unwrap();
    }
}
