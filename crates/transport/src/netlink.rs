//! A socket to the kernel's tables: netfilter's sets of addresses, links and neighbours.
//!
//! It carries datagrams and refuses those that are not from the kernel; what stands in them is its
//! caller's business. It never waits longer than [`REPLY_WAIT`]. Called by the DNS door's effects,
//! on a thread of their own, and by `near`.

use rustix::fd::OwnedFd;
use rustix::net::netlink::{NETFILTER, SocketAddrNetlink};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recvfrom, sendto,
    socket_with,
};
use std::io;
use std::time::Duration;

/// Time that the kernel may take to reply. It replies before the send returns, but a commit of
/// nftables may wait for another's.
pub const REPLY_WAIT: Duration = Duration::from_secs(2);

/// Largest datagram from the kernel: it fills pages, of 32 KiB at most (netlink(7)).
pub const REPLY_BYTES_MAX: usize = 32 << 10;

/// The kernel's own port.
const KERNEL: SocketAddrNetlink = SocketAddrNetlink::new(0, 0);

/// An open socket to the kernel, in the network namespace of the thread that opened it.
#[derive(Debug)]
pub struct NetlinkSocket {
    socket: OwnedFd,
    reply: Box<[u8]>,
}

impl NetlinkSocket {
    /// Opens one to netfilter. That needs no privilege; what is asked over it does
    /// (`CAP_NET_ADMIN`).
    pub fn netfilter() -> io::Result<Self> {
        Self::open(Some(NETFILTER))
    }

    /// Opens one to links, their addresses and neighbours, which anyone may read (rtnetlink(7)).
    pub(crate) fn route() -> io::Result<Self> {
        // NETLINK_ROUTE is the protocol's number 0.
        Self::open(None)
    }

    fn open(protocol: Option<Protocol>) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol)?;
        bind(&socket, &KERNEL)?;
        set_socket_timeout(&socket, Timeout::Recv, Some(REPLY_WAIT))?;
        set_socket_timeout(&socket, Timeout::Send, Some(REPLY_WAIT))?;
        Ok(Self { socket, reply: vec![0; REPLY_BYTES_MAX].into() })
    }

    /// Sends one datagram of whole messages.
    pub fn send(&self, messages: &[u8]) -> io::Result<()> {
        let sent = sendto(&self.socket, messages, SendFlags::empty(), &KERNEL)?;
        if sent == messages.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    }

    /// The next datagram of the kernel: one message or several. Fails with `WouldBlock` when none
    /// came in time, and with `InvalidData` when it was longer than [`REPLY_BYTES_MAX`].
    pub fn receive(&mut self) -> io::Result<&[u8]> {
        loop {
            let (_, bytes, from) = recvfrom(&self.socket, &mut *self.reply, RecvFlags::TRUNC)?;
            let from_kernel = from.is_some_and(|from| {
                SocketAddrNetlink::try_from(from).is_ok_and(|from| from.pid() == 0)
            });
            if !from_kernel {
                continue;
            }
            if bytes > self.reply.len() {
                return Err(io::ErrorKind::InvalidData.into());
            }
            return Ok(&self.reply[..bytes]);
        }
    }

    /// Throws away replies that nobody waited for any more, so that they are not taken for later
    /// ones.
    pub fn discard_replies(&mut self) {
        while recvfrom(&self.socket, &mut *self.reply, RecvFlags::DONTWAIT).is_ok() {}
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_replies_to_a_message_it_does_not_know() {
        let mut netfilter = NetlinkSocket::netfilter().unwrap();
        // A header alone: length 20 with the family header, an unknown subsystem, request and
        // acknowledge, sequence 7.
        let mut message = Vec::new();
        message.extend(20_u32.to_ne_bytes());
        message.extend(0xff00_u16.to_ne_bytes());
        message.extend(5_u16.to_ne_bytes());
        message.extend(7_u32.to_ne_bytes());
        message.extend([0; 8]);
        netfilter.send(&message).unwrap();
        let reply = netfilter.receive().unwrap();
        assert_eq!(reply[4..6], 2_u16.to_ne_bytes(), "an error message");
        assert_eq!(reply[8..12], 7_u32.to_ne_bytes(), "to our sequence number");
        let error = i32::from_ne_bytes(reply[16..20].try_into().unwrap());
        assert!(error < 0, "{error}");
    }
}
