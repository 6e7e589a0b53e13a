//! The addresses of ours: those that clients may know us by, for which a certificate of our own is,
//! and whether one is ours at all.
//!
//! Nothing is sent: the kernel is asked from which address it would write to a stranger. A process
//! that may make no socket of the Internet, as the signer of a service, asks for the addresses of
//! all interfaces. Called by the doors that have our authority sign their certificate, by the
//! signer, and by those that must not call themselves.

use crate::neighbours;
use rustix::io::Errno;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// Documentation addresses (RFC 5737, RFC 3849): no packet is sent to them, they only have the
/// kernel say from which of our addresses it would go out.
const PROBE_TARGETS: [(IpAddr, IpAddr); 2] = [
    (IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1))),
    (IpAddr::V6(Ipv6Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1))),
];

/// The addresses that clients may know us by. Where all of a family are listened on, those are
/// loopback and the one that a packet to a stranger would leave from.
pub fn own_addresses(listening: &[SocketAddr]) -> Vec<IpAddr> {
    let mut own = Vec::new();
    for address in listening.iter().map(SocketAddr::ip) {
        let known: Vec<IpAddr> = if address.is_unspecified() {
            let loopback = match address {
                IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
                IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
            };
            let reached = match outgoing(address) {
                Err(why) if Errno::from_io_error(&why) == Some(Errno::AFNOSUPPORT) => {
                    of_interfaces(address)
                }
                outgoing => outgoing.ok().flatten().into_iter().collect(),
            };
            reached.into_iter().chain([loopback]).collect()
        } else {
            vec![address]
        };
        for address in known {
            if !own.contains(&address) {
                own.push(address);
            }
        }
    }
    own
}

/// True if an address is this machine's, so that a connection to it stays here. The kernel is asked
/// whether it would let us have it as our own.
pub fn is_own_address(address: IpAddr) -> bool {
    UdpSocket::bind(SocketAddr::new(address, 0)).is_ok()
}

/// The address of ours from which packets go out; none where no way leads anywhere.
fn outgoing(any: IpAddr) -> io::Result<Option<IpAddr>> {
    let target = PROBE_TARGETS.into_iter().find(|(unspecified, _)| *unspecified == any);
    let Some((_, somewhere)) = target else { return Ok(None) };
    let socket = UdpSocket::bind(SocketAddr::new(any, 0))?;
    socket.connect(SocketAddr::new(somewhere, 53))?;
    let address = socket.local_addr()?.ip();
    Ok((!address.is_unspecified()).then_some(address))
}

/// The addresses of all interfaces, of the family of `any`. None where the kernel does not tell.
fn of_interfaces(any: IpAddr) -> Vec<IpAddr> {
    let all = neighbours::local_addresses().unwrap_or_default().into_iter();
    all.filter(|it| it.is_ipv4() == any.is_ipv4() && !it.is_loopback()).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn own(listening: &[&str]) -> Vec<IpAddr> {
        let listening: Vec<_> = listening.iter().map(|it| it.parse().unwrap()).collect();
        own_addresses(&listening)
    }

    #[test]
    fn our_own_addresses_are_told_from_others() {
        assert!(["127.0.0.1", "127.9.9.9"].iter().all(|it| is_own_address(it.parse().unwrap())));
        assert!(["192.0.2.7", "2001:db8::7"].iter().all(|it| !is_own_address(it.parse().unwrap())));
    }

    #[test]
    fn without_sockets_of_the_internet_the_interfaces_are_asked() {
        let any = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let all = of_interfaces(any);
        assert!(all.iter().all(|it| it.is_ipv4() && is_own_address(*it)), "{all:?}");
        // Where a way leads out, its address is one of them.
        assert!(outgoing(any).unwrap_or(None).is_none_or(|it| all.contains(&it)), "{all:?}");
    }

    #[test]
    fn addresses_are_those_listened_on_each_once() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        assert_eq!(
            own(&["192.0.2.7:853", "[2001:db8::7]:853", "192.0.2.7:443"]),
            [ip("192.0.2.7"), ip("2001:db8::7")]
        );
        assert!(own(&["0.0.0.0:853"]).contains(&ip("127.0.0.1")));
        assert!(own(&["[::]:853"]).iter().all(|it| it.is_ipv6() && !it.is_unspecified()));
    }
}
