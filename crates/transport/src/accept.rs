//! Taking connections in: caps, back-off, drain.
//!
//! One loop per listener, on the listener's core. A connection over a cap is closed at once and
//! counted, never queued; when the process runs out of descriptors the loop pauses instead of
//! spinning. It knows no protocol: each connection goes to the handler as a task of its own.

use crate::drain::{Drain, DrainGuard};
use crate::listen::{self, TcpListener, internet};
use crate::stream::Stream;
use crate::sys;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{SocketFlags, acceptfrom_with};
use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::unix::AsyncFd;

/// Connections at once by default: at some 30 KiB each under TLS, 300 MB when full.
pub const CONNECTIONS_MAX_DEFAULT: usize = 10_000;
/// Connections at once from one client by default.
pub const CONNECTIONS_PER_CLIENT_MAX_DEFAULT: usize = 512;
/// Time for which accepting pauses when descriptors or memory have run out.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(50);
/// Accepted in one go before other tasks of the core get their turn.
const BATCH: usize = 64;
const SHARDS: usize = 16;

/// Caps on open connections. Clones share their counts, so one value bounds all listeners of a
/// door over all cores.
#[derive(Clone, Debug)]
pub struct ConnectionLimits(Arc<ConnectionTable>);

#[derive(Debug)]
struct ConnectionTable {
    max: AtomicUsize,
    per_client_max: AtomicUsize,
    open: AtomicUsize,
    clients: [Mutex<HashMap<IpAddr, u32>>; SHARDS],
    accepted: AtomicU64,
    refused_full: AtomicU64,
    refused_client: AtomicU64,
    exhausted: AtomicU64,
}

/// Outcome of connections so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionCounts {
    /// Open now.
    pub open: usize,
    /// Accepted since the start.
    pub accepted: u64,
    /// Closed at once because the total was reached.
    pub refused_full: u64,
    /// Closed at once because their client had too many.
    pub refused_client: u64,
    /// How often accepting paused because descriptors or memory had run out.
    pub exhausted: u64,
}

/// A connection's place under the caps and in the drain; dropping it gives it up.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    table: Arc<ConnectionTable>,
    client: IpAddr,
    _held: DrainGuard,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self::new(CONNECTIONS_MAX_DEFAULT, CONNECTIONS_PER_CLIENT_MAX_DEFAULT)
    }
}

impl ConnectionLimits {
    /// At most `max` connections, and `per_client_max` from one client. A client is an IPv4
    /// address or an IPv6 /64.
    pub fn new(max: usize, per_client_max: usize) -> Self {
        Self(Arc::new(ConnectionTable {
            max: AtomicUsize::new(max),
            per_client_max: AtomicUsize::new(per_client_max),
            open: AtomicUsize::new(0),
            clients: Default::default(),
            accepted: AtomicU64::new(0),
            refused_full: AtomicU64::new(0),
            refused_client: AtomicU64::new(0),
            exhausted: AtomicU64::new(0),
        }))
    }

    /// Other caps from now on, for all clones. Connections over them that are open stay open.
    pub fn set(&self, max: usize, per_client_max: usize) {
        self.0.max.store(max, Relaxed);
        self.0.per_client_max.store(per_client_max, Relaxed);
    }

    /// The counts so far.
    pub fn counts(&self) -> ConnectionCounts {
        ConnectionCounts {
            open: self.0.open.load(Relaxed),
            accepted: self.0.accepted.load(Relaxed),
            refused_full: self.0.refused_full.load(Relaxed),
            refused_client: self.0.refused_client.load(Relaxed),
            exhausted: self.0.exhausted.load(Relaxed),
        }
    }

    /// True if three quarters of all places are taken: idle connections should then end sooner.
    pub fn is_crowded(&self) -> bool {
        let max = self.0.max.load(Relaxed);
        self.0.open.load(Relaxed) >= max - max / 4
    }

    pub(crate) fn place(&self, peer: IpAddr, drain: &Drain) -> Option<ConnectionPermit> {
        let table = &self.0;
        if table.open.fetch_add(1, Relaxed) >= table.max.load(Relaxed) {
            table.open.fetch_sub(1, Relaxed);
            table.refused_full.fetch_add(1, Relaxed);
            return None;
        }
        let client = client_of(peer);
        if !table.enter(client) {
            table.open.fetch_sub(1, Relaxed);
            return None;
        }
        table.accepted.fetch_add(1, Relaxed);
        Some(ConnectionPermit { table: Arc::clone(table), client, _held: drain.hold() })
    }
}

impl ConnectionTable {
    /// Counts a connection of `client`, unless it has too many.
    fn enter(&self, client: IpAddr) -> bool {
        let mut clients =
            self.clients[shard(client)].lock().unwrap_or_else(PoisonError::into_inner);
        let count = clients.entry(client).or_insert(0);
        if *count as usize >= self.per_client_max.load(Relaxed) {
            if *count == 0 {
                clients.remove(&client);
            }
            self.refused_client.fetch_add(1, Relaxed);
            return false;
        }
        *count += 1;
        true
    }

    fn leave(&self, client: IpAddr) {
        let mut clients =
            self.clients[shard(client)].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = clients.get_mut(&client) {
            *count -= 1;
            if *count == 0 {
                // Only clients with open connections are in the table: the greatest `max` so far
                // bounds it.
                clients.remove(&client);
            }
        }
    }
}

impl ConnectionPermit {
    /// Counts from now on as a connection of `peer`, unless that has too many.
    pub(crate) fn belongs_to(&mut self, peer: IpAddr) -> bool {
        let client = client_of(peer);
        let may = client == self.client || self.table.enter(client);
        if may && client != self.client {
            self.table.leave(self.client);
            self.client = client;
        }
        may
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.table.open.fetch_sub(1, Relaxed);
        self.table.leave(self.client);
    }
}

/// The client behind an address: IPv4 as it is (also where it comes mapped into IPv6), IPv6 by its
/// /64, which is what one customer has.
pub fn client_of(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)))
        }
    }
}

fn shard(client: IpAddr) -> usize {
    let folded = match client {
        IpAddr::V4(address) => u64::from(address.to_bits()),
        IpAddr::V6(address) => (address.to_bits() >> 64) as u64,
    };
    // Fibonacci hashing: the high bits of the product depend on all of the address.
    (folded.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 60) as usize % SHARDS
}

/// Accepts from `listener` until `closing` begins, and once more what had come by then: a client
/// that the kernel has let in is answered although its listener closes. Otherwise as
/// [`accept_loop`].
pub async fn accept_until<H, F>(
    listener: TcpListener,
    limits: ConnectionLimits,
    drain: Drain,
    closing: &Drain,
    handle: H,
) -> io::Result<()>
where
    H: Fn(Stream) -> F + 'static,
    F: Future<Output = ()> + 'static,
{
    let local = Some(listener.local_addr()).filter(|it| !it.ip().is_unspecified());
    let waiting = listener.socket.try_clone()?;
    let handle = Rc::new(handle);
    let accepting = {
        let handle = Rc::clone(&handle);
        accept_loop(listener, limits.clone(), drain.clone(), move |stream| handle(stream))
    };
    tokio::select! {
        biased;
        () = closing.begun() => {}
        ended = accepting => return ended,
    }
    for _ in 0..listen::BACKLOG {
        let Ok((connection, peer)) = accept_one(&waiting) else { break };
        if let Some(place) = limits.place(peer.ip(), &drain) {
            let stream = Stream::accepted(connection, peer, local, place);
            tokio::task::spawn_local(handle(stream));
        }
    }
    Ok(())
}

/// Accepts from `listener` until `drain` begins, and hands each connection to `handle` as a task
/// of this core. Then it returns; the connections still open are the drain's to wait for.
///
/// Must run within a `LocalSet` or local runtime. Fails only if the listener cannot be registered.
pub async fn accept_loop<H, F>(
    listener: TcpListener,
    limits: ConnectionLimits,
    drain: Drain,
    handle: H,
) -> io::Result<()>
where
    H: Fn(Stream) -> F + 'static,
    F: Future<Output = ()> + 'static,
{
    // A listener on one address has connections to no other: nobody need ask the kernel for it.
    let local = Some(listener.local_addr()).filter(|it| !it.ip().is_unspecified());
    let socket = sys::register(listener.socket).map_err(|(_, why)| why)?;
    let mut begun = drain.begun();
    loop {
        tokio::select! {
            biased;
            () = &mut begun => return Ok(()),
            pause = accept_batch((&socket, local), &limits, &drain, &handle) => match pause? {
                AcceptPause::None => {}
                AcceptPause::Yield => tokio::task::yield_now().await,
                AcceptPause::Exhausted => tokio::time::sleep(EXHAUSTED_PAUSE).await,
            },
        }
    }
}

enum AcceptPause {
    None,
    Yield,
    Exhausted,
}

async fn accept_batch<H, F>(
    (socket, local): (&AsyncFd<OwnedFd>, Option<SocketAddr>),
    limits: &ConnectionLimits,
    drain: &Drain,
    handle: &H,
) -> io::Result<AcceptPause>
where
    H: Fn(Stream) -> F,
    F: Future<Output = ()> + 'static,
{
    let mut waiting = socket.readable().await?;
    for _ in 0..BATCH {
        match waiting.try_io(|socket| accept_one(socket.get_ref()).map_err(Into::into)) {
            Err(_none_left) => return Ok(AcceptPause::None),
            Ok(Ok((connection, peer))) => {
                // Over a cap, `connection` is dropped here, which closes it.
                if let Some(place) = limits.place(peer.ip(), drain) {
                    let stream = Stream::accepted(connection, peer, local, place);
                    tokio::task::spawn_local(handle(stream));
                }
            }
            Ok(Err(why)) if is_exhausted(&why) => {
                limits.0.exhausted.fetch_add(1, Relaxed);
                return Ok(AcceptPause::Exhausted);
            }
            // This one connection failed while it waited (accept(2): treat such errors like
            // EAGAIN); the next may be sound.
            Ok(Err(_)) => {}
        }
    }
    waiting.retain_ready();
    Ok(AcceptPause::Yield)
}

fn accept_one(listener: &OwnedFd) -> rustix::io::Result<(OwnedFd, SocketAddr)> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let (connection, peer) = acceptfrom_with(listener, flags)?;
    let peer = peer.and_then(internet).ok_or(Errno::CONNABORTED)?;
    Ok((connection, peer))
}

fn is_exhausted(why: &io::Error) -> bool {
    let number = why.raw_os_error();
    [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM]
        .iter()
        .any(|errno| number == Some(errno.raw_os_error()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_client_is_its_slash_64() {
        let client = |text: &str| client_of(text.parse().unwrap());
        assert_eq!(client("2001:db8::1"), client("2001:db8::ffff:1"));
        assert_ne!(client("2001:db8::1"), client("2001:db8:0:1::1"));
        assert_eq!(client("::ffff:192.0.2.7"), client("192.0.2.7"));
    }

    #[test]
    fn a_place_given_up_is_free_again() {
        let (limits, drain) = (ConnectionLimits::new(3, 2), Drain::new());
        let place = |text: &str| limits.place(text.parse().unwrap(), &drain);
        let first = place("192.0.2.1").unwrap();
        let mut second = place("192.0.2.1").unwrap();
        assert!(place("192.0.2.1").is_none());
        let _third = place("192.0.2.2").unwrap();
        assert!(place("192.0.2.3").is_none());
        assert_eq!(drain.open(), 3);
        drop(first);
        let mut again = place("192.0.2.1").unwrap();
        let counts = limits.counts();
        assert_eq!((counts.open, counts.accepted), (3, 4));
        assert_eq!((counts.refused_client, counts.refused_full), (1, 1));
        // Behind a proxy it turns out to be somebody else's.
        assert!(again.belongs_to("192.0.2.2".parse().unwrap()));
        assert!(again.belongs_to("192.0.2.2".parse().unwrap()));
        assert!(!second.belongs_to("192.0.2.2".parse().unwrap()));
        assert!(second.belongs_to("192.0.2.1".parse().unwrap()));
        drop((second, again));
        assert_eq!(drain.open(), 1);
    }

    #[test]
    fn caps_that_change_count_for_what_comes() {
        let (limits, drain) = (ConnectionLimits::new(2, 2), Drain::new());
        let place = |text: &str| limits.place(text.parse().unwrap(), &drain);
        let _held = [place("192.0.2.1").unwrap(), place("192.0.2.1").unwrap()];
        let listener = limits.clone();
        listener.set(3, 1);
        assert_eq!(limits.counts().open, 2, "what is open stays");
        assert!(place("192.0.2.1").is_none());
        let _other = place("192.0.2.2").unwrap();
        assert!(place("192.0.2.3").is_none());
        let counts = limits.counts();
        assert_eq!((counts.refused_client, counts.refused_full), (1, 1));
    }
}
