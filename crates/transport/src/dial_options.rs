//! Options of a socket that dials: its interface, its mark, its address.
//!
//! It opens UDP sockets that way and lends the same to TCP in `stream`; it connects to nobody by
//! itself and chooses no peer. Called by `resolver` and `origins`, whose settings name these
//! options.

use crate::sys;
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with, sockopt};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

/// Bytes of an interface's name, at most (`IFNAMSIZ` less its final zero).
pub const INTERFACE_BYTES_MAX: usize = 15;

/// Holds how outgoing connections and datagrams leave. The default says nothing, so routes decide.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct DialOptions {
    /// The interface, as in `eth0` (`SO_BINDTODEVICE`); at most [`INTERFACE_BYTES_MAX`] bytes. The
    /// kernel lets any process set it on a socket that has none (Linux 5.7).
    pub interface: Option<Box<str>>,
    /// The firewall mark (`SO_MARK`), which routing rules and firewalls can tell. Needs
    /// `CAP_NET_ADMIN`.
    pub mark: Option<u32>,
    /// The address to leave from. One of the other family than the peer's is an error.
    pub source: Option<IpAddr>,
    /// For streams, the time after which the kernel asks a silent peer whether it is there still
    /// (`SO_KEEPALIVE`, `TCP_KEEPIDLE`), in whole seconds; it asks again after a third of it, and
    /// gives up after three such tries. None: never.
    pub keepalive: Option<Duration>,
}

impl DialOptions {
    /// Sets interface and mark on a socket that is not connected yet. The source is not set here:
    /// it is what the socket is bound to.
    pub fn apply(&self, socket: impl AsFd) -> io::Result<()> {
        let socket = socket.as_fd();
        if let Some(mark) = self.mark {
            sys::set_mark(socket, mark)?;
        }
        if let Some(interface) = &self.interface {
            sys::bind_to_device(socket, interface)?;
        }
        Ok(())
    }

    /// Has the kernel ask a silent peer whether it is there still, if that is wanted.
    pub(crate) fn watch_peer(&self, stream: impl AsFd) -> io::Result<()> {
        const TRIES: u32 = 3;
        let Some(after) = self.keepalive else { return Ok(()) };
        sockopt::set_socket_keepalive(&stream, true)?;
        sockopt::set_tcp_keepidle(&stream, after)?;
        sockopt::set_tcp_keepintvl(&stream, (after / TRIES).max(Duration::from_secs(1)))?;
        Ok(sockopt::set_tcp_keepcnt(&stream, TRIES)?)
    }

    /// Where a socket that speaks to `peer` is bound to; none if the kernel may choose.
    pub(crate) fn local(&self, peer: SocketAddr) -> io::Result<Option<SocketAddr>> {
        match self.source {
            None => Ok(None),
            Some(source) if source.is_ipv4() == peer.is_ipv4() => {
                Ok(Some(SocketAddr::new(source, 0)))
            }
            Some(_) => Err(io::ErrorKind::AddrNotAvailable.into()),
        }
    }
}

/// Opens a UDP socket for talking to `peer` and to nobody else: connected, so that the kernel drops
/// what comes from elsewhere, on a port of the kernel's random choice, and non-blocking.
pub fn dial_udp(peer: SocketAddr, options: &DialOptions) -> io::Result<UdpSocket> {
    let socket = open(peer, options)?;
    connect(&socket, &peer)?;
    Ok(socket.into())
}

/// The same without connecting it: one socket for several peers of `peer`'s family, for protocols
/// that know their peers themselves (QUIC).
pub(crate) fn open_udp(peer: SocketAddr, options: &DialOptions) -> io::Result<UdpSocket> {
    Ok(open(peer, options)?.into())
}

fn open(peer: SocketAddr, options: &DialOptions) -> io::Result<OwnedFd> {
    let (family, any): (_, IpAddr) = match peer {
        SocketAddr::V4(_) => (AddressFamily::INET, Ipv4Addr::UNSPECIFIED.into()),
        SocketAddr::V6(_) => (AddressFamily::INET6, Ipv6Addr::UNSPECIFIED.into()),
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::DGRAM, flags, None)?;
    options.apply(&socket)?;
    bind(&socket, &options.local(peer)?.unwrap_or(SocketAddr::new(any, 0)))?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;

    fn to(peer: &str, options: &DialOptions) -> io::Result<UdpSocket> {
        dial_udp(peer.parse().unwrap(), options)
    }

    #[test]
    fn a_datagram_leaves_from_the_address_that_is_set() {
        let source = Some("127.0.0.9".parse().unwrap());
        let socket = to("127.0.0.1:9", &DialOptions { source, ..Default::default() }).unwrap();
        assert_eq!(socket.local_addr().unwrap().ip().to_string(), "127.0.0.9");
        let wrong = to("[::1]:9", &DialOptions { source, ..Default::default() }).unwrap_err();
        assert_eq!(wrong.kind(), io::ErrorKind::AddrNotAvailable);
    }

    #[test]
    fn an_interface_that_is_not_there_is_an_error_and_not_ignored() {
        let on = |name: &str| DialOptions { interface: Some(name.into()), ..Default::default() };
        to("127.0.0.1:9", &on("lo")).unwrap();
        let why = to("127.0.0.1:9", &on("no-such-one")).unwrap_err();
        assert_eq!(why.raw_os_error(), Some(libc::ENODEV));
    }

    #[test]
    fn a_mark_is_set_or_refused_but_never_ignored() {
        let marked = DialOptions { mark: Some(0x10), ..Default::default() };
        match to("127.0.0.1:9", &marked) {
            Ok(socket) => assert_eq!(sys::mark(socket.as_fd()).unwrap(), 0x10),
            // Without the right to set it.
            Err(why) => assert_eq!(why.raw_os_error(), Some(libc::EPERM)),
        }
    }
}
