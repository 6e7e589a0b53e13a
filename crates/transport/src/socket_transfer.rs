//! Bound sockets that pass from one process to another: to the program that takes this one's place,
//! and from a supervisor that has bound them (systemd's socket activation).
//!
//! A socket that passed is the same socket in both: what waits in it waits for either, so nobody is
//! refused while one begins and the other ends. It is known by its protocol and address; whoever
//! listens asks here first. One table for the process, since descriptors are the process's own.
//! Filled by the binary before the first door listens; asked by the listeners of this crate.

use crate::Drain;
use crate::sys::local_address;
use rustix::fd::OwnedFd;
use rustix::net::{SocketType, sockopt};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

/// Sockets that are open and may be passed on.
static OPEN: Mutex<Vec<Weak<OwnedFd>>> = Mutex::new(Vec::new());
/// Sockets that came from elsewhere and that nobody has asked for yet.
static ADOPTED: Mutex<Vec<AdoptedSocket>> = Mutex::new(Vec::new());
/// Set once this process's sockets may be another one's, too.
static PASSED_ON: AtomicBool = AtomicBool::new(false);
/// Begun when this process may take what comes to adopted sockets; none where it may from the
/// start.
static START: OnceLock<Drain> = OnceLock::new();
/// Begun when the process that the sockets came from reads them no more; none where it never did.
static FORMER_READER: OnceLock<Drain> = OnceLock::new();

/// A socket from elsewhere.
struct AdoptedSocket {
    kind: SocketType,
    address: SocketAddr,
    socket: OwnedFd,
}

/// Takes over sockets that another process has bound. Those that are no bound Internet sockets are
/// closed.
pub fn adopt(sockets: Vec<OwnedFd>) {
    let known = sockets.into_iter().filter_map(|socket| {
        let kind = sockopt::socket_type(&socket).ok()?;
        let address = local_address(&socket)?;
        Some(AdoptedSocket { kind, address, socket })
    });
    lock(&ADOPTED).extend(known);
}

/// Has every listener wait with its first client until the returned drain begins: what a process
/// takes that then fails to start is lost.
pub fn hold_back() -> Drain {
    START.get_or_init(Drain::new).clone()
}

/// Completes when clients may be taken.
pub(crate) async fn start_allowed() {
    if let Some(begun) = START.get().map(Drain::started) {
        begun.await;
    }
}

/// Says that another process still reads the sockets that were adopted, until the returned drain
/// begins. What both must not read at once waits for it: connections of QUIC have their state in
/// one of them.
pub fn wait_for_former_reader() -> Drain {
    FORMER_READER.get_or_init(Drain::new).clone()
}

/// Completes when no other process reads what was adopted.
pub(crate) async fn former_reader_gone() {
    if let Some(gone) = FORMER_READER.get().map(Drain::started) {
        gone.await;
    }
}

/// The sockets at `address` that were adopted: at most `count` of them, or copies of them, so that
/// each core has one; more, where there are more. Empty where there are none, and for port 0.
pub(crate) fn adopted(kind: SocketType, address: SocketAddr, count: usize) -> Vec<OwnedFd> {
    let mut table = lock(&ADOPTED);
    let is_it = |it: &mut AdoptedSocket| it.kind == kind && it.address == address;
    let mut found: Vec<OwnedFd> = table.extract_if(.., is_it).map(|it| it.socket).collect();
    // A supervisor binds one socket; the cores take turns at it.
    for index in found.len()..if found.is_empty() { 0 } else { count } {
        match found[index % found.len()].try_clone() {
            Ok(copy) => found.push(copy),
            // The cores that have one go on.
            Err(_) => break,
        }
    }
    found
}

/// Closes what was adopted and nobody has asked for, and gives the addresses.
pub fn close_unclaimed() -> Vec<SocketAddr> {
    let unclaimed = std::mem::take(&mut *lock(&ADOPTED));
    let mut addresses: Vec<_> = unclaimed.iter().map(|it| it.address).collect();
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}

/// Notes a socket as one that may be passed on while it is open.
pub(crate) fn enlist(socket: &Arc<OwnedFd>) {
    let mut open = lock(&OPEN);
    open.retain(|it| it.strong_count() > 0);
    open.push(Arc::downgrade(socket));
}

/// Every bound socket of the doors, to be passed on. From now on none of them is shut down for
/// reading when it is closed here: it would be so everywhere.
pub fn open_sockets() -> Vec<Arc<OwnedFd>> {
    PASSED_ON.store(true, Ordering::Release);
    lock(&OPEN).iter().filter_map(Weak::upgrade).collect()
}

/// True if another process may have this process's sockets.
pub(crate) fn is_passed_on() -> bool {
    PASSED_ON.load(Ordering::Acquire)
}

fn lock<T>(table: &Mutex<T>) -> MutexGuard<'_, T> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::{WaitForData, listen_tcp_per_core};
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn one_adopted_socket_serves_every_core_and_is_not_bound_again() {
        let bound = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = bound.local_addr().unwrap();
        adopt(vec![bound.into()]);
        let listeners = listen_tcp_per_core(address, WaitForData::Yes, 3, &[]).unwrap();
        assert_eq!(listeners.len(), 3);
        assert!(listeners.iter().all(|it| it.local_addr() == address));
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(b"x").unwrap();
        let accepted = rustix::net::accept(&listeners[2].socket).unwrap();
        let mut byte = [0];
        TcpStream::from(accepted).read_exact(&mut byte).unwrap();
        assert_eq!(byte, *b"x");
    }

    #[test]
    fn what_nobody_asks_for_is_told_and_closed() {
        let bound = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = bound.local_addr().unwrap();
        adopt(vec![bound.into(), std::fs::File::open("/dev/null").unwrap().into()]);
        assert!(close_unclaimed().contains(&address));
        assert_eq!(
            TcpStream::connect(address).unwrap_err().kind(),
            std::io::ErrorKind::ConnectionRefused
        );
    }
}
