//! One ICMP echo over a socket that needs no privilege (`IPPROTO_ICMP`, datagrams).
//!
//! The kernel numbers the request, matches the reply and drops everything else. Where the system
//! does not allow such sockets (`net.ipv4.ping_group_range`), nothing is measured. Called by
//! [`super::probe`].

use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with};
use std::io;
use std::net::{IpAddr, SocketAddr};
use tokio::net::UdpSocket;

/// Types of the messages (RFC 792, RFC 4443 §4).
const ECHO_REQUEST_V4: u8 = 8;
const ECHO_REQUEST_V6: u8 = 128;
const ECHO_REPLY_V4: u8 = 0;
const ECHO_REPLY_V6: u8 = 129;

/// Completes when `address` has answered an echo.
pub(super) async fn ping(address: IpAddr) -> io::Result<()> {
    let (family, protocol, request, reply) = match address {
        IpAddr::V4(_) => (AddressFamily::INET, ipproto::ICMP, ECHO_REQUEST_V4, ECHO_REPLY_V4),
        IpAddr::V6(_) => (AddressFamily::INET6, ipproto::ICMPV6, ECHO_REQUEST_V6, ECHO_REPLY_V6),
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::DGRAM, flags, Some(protocol))?;
    let socket = UdpSocket::from_std(std::net::UdpSocket::from(socket))?;
    socket.connect(SocketAddr::new(address, 0)).await?;
    // Number and checksum are the kernel's; the sequence is 1.
    socket.send(&[request, 0, 0, 0, 0, 0, 0, 1]).await?;
    let mut message = [0; 64];
    loop {
        let length = socket.recv(&mut message).await?;
        if message[..length].first() == Some(&reply) {
            return Ok(());
        }
    }
}
