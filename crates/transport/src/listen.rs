//! TCP listeners, one per core and address.
//!
//! A listener is made anywhere and accepts on the core it is handed to. Every one sets
//! `SO_REUSEADDR` and `SO_REUSEPORT`, and `TCP_NODELAY`, which accepted sockets inherit at no cost.
//! A failure names the address and what to do about it. Called by the binary for every door.

use crate::sys::local_address;
use crate::{socket_transfer, sys};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with, sockopt};
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

/// Connections that the kernel holds for us before we accept them; it caps this by
/// `net.core.somaxconn`, which is 4096 by default since Linux 5.4.
pub const BACKLOG: i32 = 4096;
/// After so long the kernel hands over even a connection that has sent nothing.
const DEFER_SECONDS: i32 = 5;

/// Tells whether the kernel holds a connection back until its client has spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitForData {
    /// Yes (`TCP_DEFER_ACCEPT`): for HTTP, TLS and DNS, where the client speaks first.
    Yes,
    /// No: for protocols in which the server speaks first.
    No,
}

/// Tells whose connections a listener takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListenReach {
    /// Connections to its own address.
    OwnAddress,
    /// Connections to any address and port that the packet filter hands over
    /// (`IP_TRANSPARENT`), whose local address is then where the client wanted to go. Needs
    /// `CAP_NET_ADMIN`.
    AnyAddress,
}

/// Protocol of a socket that is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindProtocol {
    /// Connections.
    Tcp,
    /// Connections to any address: [`ListenReach::AnyAddress`].
    TcpAnyAddress,
    /// Datagrams.
    Udp,
}

/// A socket that listens; see [`crate::accept_loop`].
#[derive(Debug)]
pub struct TcpListener {
    pub(crate) socket: Arc<OwnedFd>,
    address: SocketAddr,
    reach: ListenReach,
}

/// An address cannot be listened on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindError {
    /// Which.
    pub address: SocketAddr,
    /// Why.
    pub reason: BindReason,
}

/// Why an address cannot be listened on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BindReason {
    /// Another process listens there.
    InUse,
    /// Ports below 1024 need a privilege that this process does not have.
    Privileged,
    /// No interface of this machine has that address.
    NoSuchAddress,
    /// Connections to other addresses need a privilege that this process does not have.
    NotTransparent,
    /// Anything else, in the system's words.
    Other(String),
}

/// Listens on `address`. Other sockets of this user may listen there too (that is how each core
/// has its own), so call [`listen_tcp_per_core`] for the first to learn whether the port is taken.
pub fn listen_tcp(address: SocketAddr, wait: WaitForData) -> Result<TcpListener, BindError> {
    listen_within(address, wait, ListenReach::OwnAddress)
}

fn listen_within(
    address: SocketAddr,
    wait: WaitForData,
    reach: ListenReach,
) -> Result<TcpListener, BindError> {
    let socket = open(address, reach)?;
    sockopt::set_socket_reuseport(&socket, true)
        .and_then(|()| bind(&socket, &address))
        .and_then(|()| listen(&socket, BACKLOG))
        .map_err(|why| BindError::new(address, why))?;
    Ok(TcpListener::new(socket, address, wait, reach))
}

/// Listeners at sockets that another process has bound. What their other options are is their
/// binder's affair.
fn adopted(
    address: SocketAddr,
    wait: WaitForData,
    reach: ListenReach,
    cores: usize,
) -> Vec<TcpListener> {
    let found = socket_transfer::adopted(SocketType::STREAM, address, cores);
    let listener = |socket: OwnedFd| {
        // Without the first an accept would hold up its core; the second saves a delay.
        rustix::io::ioctl_fionbio(&socket, true).ok()?;
        let _ = sockopt::set_tcp_nodelay(&socket, true);
        Some(TcpListener::new(socket, address, wait, reach))
    };
    found.into_iter().filter_map(listener).collect()
}

/// One listener per core on the same address; with port 0 they share the port that the kernel
/// picks. Fails if anybody else listens there, our own sockets included, except those at `leaving`:
/// addresses that this process listens on and closes once the new listeners accept, so that a
/// reload can give a port to another door.
///
/// Where sockets at that address were adopted ([`socket_transfer`]) they are taken, and there may
/// be more of them than cores.
pub fn listen_tcp_per_core(
    address: SocketAddr,
    wait: WaitForData,
    cores: usize,
    leaving: &[SocketAddr],
) -> Result<Vec<TcpListener>, BindError> {
    listen_per_core(address, wait, ListenReach::OwnAddress, cores, leaving)
}

/// As [`listen_tcp_per_core`], for connections within `reach` whose clients speak first.
pub fn listen_within_per_core(
    address: SocketAddr,
    reach: ListenReach,
    cores: usize,
    leaving: &[SocketAddr],
) -> Result<Vec<TcpListener>, BindError> {
    listen_per_core(address, WaitForData::Yes, reach, cores, leaving)
}

fn listen_per_core(
    address: SocketAddr,
    wait: WaitForData,
    reach: ListenReach,
    cores: usize,
    leaving: &[SocketAddr],
) -> Result<Vec<TcpListener>, BindError> {
    let handed = adopted(address, wait, reach, cores);
    if !handed.is_empty() {
        return Ok(handed);
    }
    // Without SO_REUSEPORT this fails where anybody listens; with it, a second Tidegate of the same
    // user would silently take half of the first one's connections.
    let is_ours = |why: &BindError| {
        why.reason == BindReason::InUse && leaving.iter().any(|ours| overlap(*ours, address))
    };
    if let Err(why) = probe_tcp(address, reach)
        && !is_ours(&why)
    {
        return Err(why);
    }
    let mut listeners = vec![listen_within(address, wait, reach)?];
    let chosen = listeners[0].address;
    for _ in 1..cores {
        listeners.push(listen_within(chosen, wait, reach)?);
    }
    Ok(listeners)
}

/// Binds a socket that shares its port with nobody, and closes it.
fn probe_tcp(address: SocketAddr, reach: ListenReach) -> Result<(), BindError> {
    let probe = open(address, reach)?;
    bind(&probe, &address).map_err(|why| BindError::new(address, why))
}

/// Learns whether `address` could be listened on, without doing so: no connection is let in.
pub fn check_bind(address: SocketAddr, protocol: BindProtocol) -> Result<(), BindError> {
    match protocol {
        BindProtocol::Tcp => probe_tcp(address, ListenReach::OwnAddress),
        BindProtocol::TcpAnyAddress => probe_tcp(address, ListenReach::AnyAddress),
        BindProtocol::Udp => {
            let family = family(address);
            socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
                .and_then(|probe| bind(&probe, &address))
                .map_err(|why| BindError::new(address, why))
        }
    }
}

/// True if sockets at both addresses would be in each other's way.
fn overlap(one: SocketAddr, other: SocketAddr) -> bool {
    let same_host = one.ip() == other.ip()
        || one.is_ipv4() == other.is_ipv4()
            && (one.ip().is_unspecified() || other.ip().is_unspecified());
    one.port() == other.port() && same_host
}

fn open(address: SocketAddr, reach: ListenReach) -> Result<OwnedFd, BindError> {
    let socket = open_own(address).map_err(|why| BindError::new(address, why))?;
    if reach == ListenReach::AnyAddress
        && let Err(why) = sys::set_transparent(&socket, address)
    {
        let reason = match why.kind() {
            std::io::ErrorKind::PermissionDenied => BindReason::NotTransparent,
            _ => BindReason::Other(why.to_string()),
        };
        return Err(BindError { address, reason });
    }
    Ok(socket)
}

fn open_own(address: SocketAddr) -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family(address), SocketType::STREAM, flags, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    if address.is_ipv6() {
        // [::] must not take what 0.0.0.0 is asked for beside it.
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    Ok(socket)
}

const fn family(address: SocketAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 }
}

impl TcpListener {
    fn new(socket: OwnedFd, address: SocketAddr, wait: WaitForData, reach: ListenReach) -> Self {
        if wait == WaitForData::Yes {
            // Only saves a wake-up: a kernel without it serves as well.
            let _ = sys::defer_accept(&socket, DEFER_SECONDS);
        }
        let address = local_address(&socket).unwrap_or(address);
        let socket = Arc::new(socket);
        socket_transfer::enlist(&socket);
        Self { socket, address, reach }
    }

    /// Where it listens, with the port that the kernel picked for port 0.
    pub const fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The local address of all connections that it takes, where they have the same.
    pub(crate) fn common_local_addr(&self) -> Option<SocketAddr> {
        let is_common =
            self.reach == ListenReach::OwnAddress && !self.address.ip().is_unspecified();
        is_common.then_some(self.address)
    }
}

impl BindError {
    /// Returns what a failure of `bind` or `listen` on `address` means.
    pub fn new(address: SocketAddr, why: Errno) -> Self {
        let reason = match why {
            Errno::ADDRINUSE => BindReason::InUse,
            Errno::ACCESS | Errno::PERM => BindReason::Privileged,
            Errno::ADDRNOTAVAIL => BindReason::NoSuchAddress,
            other => BindReason::Other(std::io::Error::from(other).to_string()),
        };
        Self { address, reason }
    }
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (address, port) = (self.address, self.address.port());
        match &self.reason {
            BindReason::InUse => write!(
                f,
                "cannot listen on {address}: another process does; find it with \
                 `ss -lntup 'sport = :{port}'` and stop it, or choose another port"
            ),
            BindReason::Privileged => write!(
                f,
                "cannot listen on {address}: ports below 1024 need a privilege; choose a higher \
                 port, or give the program CAP_NET_BIND_SERVICE"
            ),
            BindReason::NoSuchAddress => write!(
                f,
                "cannot listen on {address}: this machine has no such address; `ip address` shows \
                 those it has, and {} means all of them",
                if self.address.is_ipv4() { "0.0.0.0" } else { "[::]" }
            ),
            BindReason::NotTransparent => write!(
                f,
                "cannot listen on {address}: taking connections to other addresses \
                 (IP_TRANSPARENT) needs CAP_NET_ADMIN; give the program that capability, or \
                 listen at redirect://{address}, which needs none"
            ),
            BindReason::Other(why) => write!(f, "cannot listen on {address}: {why}"),
        }
    }
}

impl std::error::Error for BindError {}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    const ANY: &str = "127.0.0.1:0";

    #[test]
    fn every_core_listens_on_the_same_port() {
        let listeners =
            listen_tcp_per_core(ANY.parse().unwrap(), WaitForData::Yes, 3, &[]).unwrap();
        assert_eq!(listeners.len(), 3);
        assert!(listeners.iter().all(|it| it.local_addr() == listeners[0].local_addr()));
        assert_ne!(listeners[0].local_addr().port(), 0);
    }

    #[test]
    fn a_taken_port_is_named_with_a_remedy() {
        let other = std::net::TcpListener::bind(ANY).unwrap();
        let address = other.local_addr().unwrap();
        let why = listen_tcp_per_core(address, WaitForData::No, 1, &[]).unwrap_err();
        assert_eq!(why, BindError { address, reason: BindReason::InUse });
        assert!(why.to_string().contains(&format!("cannot listen on {address}")));
    }

    #[test]
    fn our_own_second_instance_counts_as_taken() {
        let first = listen_tcp_per_core(ANY.parse().unwrap(), WaitForData::No, 2, &[]).unwrap();
        let again = listen_tcp_per_core(first[0].local_addr(), WaitForData::No, 2, &[]);
        assert_eq!(again.unwrap_err().reason, BindReason::InUse);
    }

    #[test]
    fn an_address_that_we_are_leaving_can_be_had_again() {
        let first = listen_tcp_per_core(ANY.parse().unwrap(), WaitForData::No, 1, &[]).unwrap();
        let address = first[0].local_addr();
        let everywhere = SocketAddr::new([0, 0, 0, 0].into(), address.port());
        for leaving in [address, everywhere] {
            let again = listen_tcp_per_core(address, WaitForData::No, 1, &[leaving]).unwrap();
            assert_eq!(again[0].local_addr(), address);
        }
        let other = SocketAddr::new(address.ip(), address.port() ^ 1);
        let refused = listen_tcp_per_core(address, WaitForData::No, 1, &[other]).unwrap_err();
        assert_eq!(refused.reason, BindReason::InUse);
    }

    #[test]
    fn an_address_can_be_asked_about_without_listening() {
        let (tcp, udp) = (BindProtocol::Tcp, BindProtocol::Udp);
        let other = std::net::TcpListener::bind(ANY).unwrap();
        let address = other.local_addr().unwrap();
        assert_eq!(check_bind(address, tcp).unwrap_err().reason, BindReason::InUse);
        drop(other);
        assert_eq!(check_bind(address, tcp), Ok(()));
        let other = std::net::UdpSocket::bind(ANY).unwrap();
        let address = other.local_addr().unwrap();
        assert_eq!(check_bind(address, udp).unwrap_err().reason, BindReason::InUse);
        let elsewhere = "192.0.2.1:53".parse().unwrap();
        assert_eq!(check_bind(elsewhere, udp).unwrap_err().reason, BindReason::NoSuchAddress);
    }

    #[test]
    fn a_listener_for_any_address_has_the_right_to_it_or_says_what_it_needs() {
        let any = ANY.parse().unwrap();
        match listen_within_per_core(any, ListenReach::AnyAddress, 1, &[]) {
            Ok(listeners) => assert_eq!(listeners[0].common_local_addr(), None),
            Err(why) => {
                assert_eq!(why.reason, BindReason::NotTransparent);
                assert!(why.to_string().contains("CAP_NET_ADMIN"));
            }
        }
        let own = listen_tcp(any, WaitForData::No).unwrap();
        assert_eq!(own.common_local_addr(), Some(own.local_addr()));
    }

    #[test]
    fn an_address_of_another_machine_is_named() {
        let address = "192.0.2.1:8080".parse().unwrap();
        let why = listen_tcp(address, WaitForData::No).unwrap_err();
        assert_eq!(why.reason, BindReason::NoSuchAddress);
        assert!(why.to_string().contains("ip address"));
    }
}
