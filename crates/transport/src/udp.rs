//! UDP in batches: up to 64 datagrams a system call, replies from the address that was asked.
//!
//! This is the one place that speaks `recvmmsg`, `sendmmsg` and `IP_PKTINFO`; it knows nothing of
//! what the bytes mean and starts no thread. The DNS door's workers call it, one [`UdpReceiver`],
//! one [`DatagramBatch`] and one [`UdpSocket`] each; late replies go through [`UdpReplies`].
#![allow(unsafe_code)] // No safe wrapper offers recvmmsg with control messages; see each SAFETY.

pub mod batch;
mod raw;
mod receiver;
mod replies;

pub use receiver::UdpReceiver;
pub use replies::UdpReplies;

use crate::neighbours::ArrivedAt;
use crate::{BindError, socket_transfer};
use raw::{ArrivalAddress, Control, local_address, prepare, raw_address, set, to_raw};
use rustix::io::Errno;
use rustix::net::SocketType;
use std::io;
use std::mem::{size_of, zeroed};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::Notify;

/// Datagrams taken or sent in one system call. Measured: 32 to 128 cost the same, below 16 more.
pub const BATCH_DATAGRAMS: usize = 64;

/// Longest datagram that is read, in bytes. A DNS query is under 600 bytes; longer datagrams are
/// handed on as [`Datagram::cut`], to be counted and dropped.
pub const DATAGRAM_BYTES_MAX: usize = 4096;

/// Room that each reply has from the start: more than is ever sent over UDP.
const REPLY_BYTES: usize = 1536;

/// One bound UDP socket. It may be shared: one thread receives, any thread replies.
#[derive(Debug)]
pub struct UdpSocket {
    fd: Arc<OwnedFd>,
    local: SocketAddr,
    /// Wildcard sockets learn from each datagram which of our addresses it came to.
    wildcard: bool,
    origin: SocketOrigin,
    stopping: AtomicBool,
    /// Told when reading is to stop, for a receiver that waits beside other things.
    stopped: Notify,
}

/// Process that has bound a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SocketOrigin {
    /// This one.
    Bound,
    /// Another one, which may read it still.
    Adopted,
}

/// Where a datagram came from and to which of our addresses, so that the reply goes the same way.
#[derive(Clone, Copy)]
pub struct DatagramOrigin {
    name: libc::sockaddr_in6,
    name_bytes: libc::socklen_t,
    control: Control,
    control_bytes: usize,
}

/// Behaviour of a receive while nothing has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveWait {
    /// Blocks the thread, for a second at most.
    Block,
    /// Returns at once.
    Never,
}

/// Tells what a receive brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveOutcome {
    /// So many datagrams, at least one; see [`DatagramBatch::datagram`].
    Datagrams(usize),
    /// [`UdpSocket::stop`] was called and what had arrived before is done.
    Stopped,
}

/// One datagram of a batch, and the place for its reply.
pub struct Datagram<'b> {
    /// Bytes, at most [`DATAGRAM_BYTES_MAX`].
    pub bytes: &'b [u8],
    /// True if it was longer than that; `bytes` are then only its beginning.
    pub cut: bool,
    /// Sender.
    pub peer: SocketAddr,
    /// The reply, empty at first. [`DatagramBatch::send`] sends what is not empty.
    pub reply: &'b mut Vec<u8>,
    /// The way back, for a reply that takes longer than the batch.
    pub route: ReplyRoute<'b>,
}

/// The way a datagram came, while its batch holds it.
#[derive(Clone, Copy)]
pub struct ReplyRoute<'b>(&'b libc::msghdr);

/// Buffers for [`BATCH_DATAGRAMS`] datagrams and their replies, about 0.4 MiB, used again and
/// again.
pub struct DatagramBatch {
    /// Behind a raw pointer because the heads point into the same allocation.
    slots: NonNull<DatagramSlots>,
    received: usize,
}

struct DatagramSlots {
    heads: [libc::mmsghdr; BATCH_DATAGRAMS],
    vectors: [libc::iovec; BATCH_DATAGRAMS],
    names: [libc::sockaddr_in6; BATCH_DATAGRAMS],
    controls: [Control; BATCH_DATAGRAMS],
    packets: [[u8; DATAGRAM_BYTES_MAX]; BATCH_DATAGRAMS],
    replies: [Vec<u8>; BATCH_DATAGRAMS],
    reply_heads: [libc::mmsghdr; BATCH_DATAGRAMS],
    reply_vectors: [libc::iovec; BATCH_DATAGRAMS],
}

/// Binds `count` sockets (at least one) to one address; the kernel spreads the clients over them.
///
/// The first is bound alone, so that a port that another server holds is an error rather than a
/// port that both get half of; only then is it opened to the others.
///
/// Where sockets at that address were adopted ([`crate::socket_transfer`]) they are taken, and
/// there may be more than `count`.
pub fn listen_udp(address: SocketAddr, count: usize) -> Result<Vec<UdpSocket>, BindError> {
    let handed = socket_transfer::adopted(SocketType::DGRAM, address, count);
    if !handed.is_empty() {
        let adopted = handed.into_iter().map(UdpSocket::adopt);
        return adopted.collect::<io::Result<_>>().map_err(|why| failed(address, &why));
    }
    let first =
        UdpSocket::bind(address, PortSharing::Alone).map_err(|why| failed(address, &why))?;
    let shared = first.local;
    let mut sockets = vec![first];
    while sockets.len() < count {
        let next = UdpSocket::bind(shared, PortSharing::Shared);
        sockets.push(next.map_err(|why| failed(shared, &why))?);
    }
    Ok(sockets)
}

fn failed(address: SocketAddr, why: &io::Error) -> BindError {
    BindError::new(address, Errno::from_io_error(why).unwrap_or(Errno::IO))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PortSharing {
    Alone,
    Shared,
}

impl UdpSocket {
    fn bind(address: SocketAddr, port: PortSharing) -> io::Result<Self> {
        let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
        // SAFETY: no pointers; a fresh descriptor is owned by nobody else.
        let fd = unsafe {
            let raw = libc::socket(family, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
            if raw < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(raw)
        };
        // Responders of multicast DNS share 0.0.0.0:5353 with whoever sets SO_REUSEADDR; it is
        // taken back below, so that a second Tidegate still finds the port taken.
        set(&fd, libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
        if port == PortSharing::Shared {
            set(&fd, libc::SOL_SOCKET, libc::SO_REUSEPORT, 1)?;
        }
        if address.is_ipv6() {
            // As for TCP: [::] must not take what 0.0.0.0 is asked for beside it.
            set(&fd, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 1)?;
        }
        prepare(&fd, address)?;
        let (name, name_bytes) = to_raw(address);
        // SAFETY: `name` is a live socket address of `name_bytes` bytes.
        let bound = unsafe { libc::bind(fd.as_raw_fd(), (&raw const name).cast(), name_bytes) };
        if bound < 0 {
            return Err(io::Error::last_os_error());
        }
        if port == PortSharing::Alone {
            set(&fd, libc::SOL_SOCKET, libc::SO_REUSEADDR, 0)?;
            set(&fd, libc::SOL_SOCKET, libc::SO_REUSEPORT, 1)?;
        }
        Self::new(fd, SocketOrigin::Bound)
    }

    fn adopt(fd: OwnedFd) -> io::Result<Self> {
        // A worker blocks in a receive; a flag that waiting is not wanted would make it spin.
        rustix::io::ioctl_fionbio(&fd, false)?;
        prepare(&fd, local_address(&fd)?)?;
        Self::new(fd, SocketOrigin::Adopted)
    }

    fn new(fd: OwnedFd, origin: SocketOrigin) -> io::Result<Self> {
        let local = local_address(&fd)?;
        let fd = Arc::new(fd);
        socket_transfer::enlist(&fd);
        Ok(Self {
            fd,
            local,
            wildcard: local.ip().is_unspecified(),
            origin,
            stopping: AtomicBool::new(false),
            stopped: Notify::new(),
        })
    }

    /// The address bound, with the port that the kernel chose if 0 was asked for.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Bytes that may wait here; the kernel counts its own overhead among them.
    pub fn receive_buffer_bytes(&self) -> io::Result<usize> {
        let mut size: libc::c_int = 0;
        let mut length = size_of::<libc::c_int>() as libc::socklen_t;
        // SAFETY: both pointers are to live values, `length` says the size of the first.
        let got = unsafe {
            libc::getsockopt(
                self.fd.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_RCVBUF,
                (&raw mut size).cast(),
                &raw mut length,
            )
        };
        if got < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(usize::try_from(size).unwrap_or(0))
    }

    /// Makes the receiver finish what has arrived and then return [`ReceiveOutcome::Stopped`].
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.stopped.notify_one();
        if self.origin == SocketOrigin::Adopted || socket_transfer::is_passed_on() {
            // It would be shut down for all who have it. A receive that blocks looks now and then.
            return;
        }
        // On a socket without a peer this reports ENOTCONN, yet wakes the receiver (Linux,
        // inet_shutdown); should it not, the time-out of a receive that blocks does.
        // SAFETY: no pointers.
        unsafe { libc::shutdown(self.fd.as_raw_fd(), libc::SHUT_RD) };
    }

    /// Sends one datagram back the way another came, from any thread, without waiting: where the
    /// send buffer is full the reply is lost and the error says so, as a network would lose it.
    pub fn reply(&self, origin: &DatagramOrigin, bytes: &[u8]) -> io::Result<()> {
        let mut to = *origin;
        let mut vector =
            libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        // SAFETY: an all-zero msghdr is valid; its pointers are to locals that outlive the call,
        // and sendmsg only reads through them.
        let sent = unsafe {
            let mut head: libc::msghdr = zeroed();
            head.msg_name = (&raw mut to.name).cast();
            head.msg_namelen = to.name_bytes;
            head.msg_iov = &raw mut vector;
            head.msg_iovlen = 1;
            if to.control_bytes > 0 {
                head.msg_control = (&raw mut to.control).cast();
                head.msg_controllen = to.control_bytes as _;
            }
            libc::sendmsg(
                self.fd.as_raw_fd(),
                &raw const head,
                libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL,
            )
        };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

impl AsRawFd for UdpSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

impl DatagramBatch {
    /// Empty buffers.
    pub fn new() -> Self {
        let slots =
            NonNull::from(Box::leak(Box::<DatagramSlots>::new_zeroed())).cast::<DatagramSlots>();
        for index in 0..BATCH_DATAGRAMS {
            // SAFETY: the allocation is live and ours; a field is written without being read.
            unsafe {
                (&raw mut (*slots.as_ptr()).replies[index]).write(Vec::with_capacity(REPLY_BYTES));
            }
        }
        // From here on Slots is whole: its other parts are integers, bytes and pointers, for which
        // zero is valid.
        let mut batch = Self { slots, received: BATCH_DATAGRAMS };
        batch.rearm();
        batch
    }

    /// Points the heads used last at their buffers again: the kernel shortens the lengths.
    fn rearm(&mut self) {
        let slots = self.slots.as_ptr();
        for index in 0..self.received {
            // SAFETY: `slots` is our live allocation and nothing borrows from it now, as we hold
            // `&mut self`; every index is below BATCH_DATAGRAMS.
            unsafe {
                let packet = &raw mut (*slots).packets[index];
                (*slots).vectors[index] =
                    libc::iovec { iov_base: packet.cast(), iov_len: DATAGRAM_BYTES_MAX };
                let head = &mut (*slots).heads[index].msg_hdr;
                head.msg_name = (&raw mut (*slots).names[index]).cast();
                head.msg_namelen = size_of::<libc::sockaddr_in6>() as _;
                head.msg_iov = &raw mut (*slots).vectors[index];
                head.msg_iovlen = 1;
                head.msg_control = (&raw mut (*slots).controls[index]).cast();
                head.msg_controllen = size_of::<Control>() as _;
                head.msg_flags = 0;
                let reply = &mut (*slots).replies[index];
                reply.clear();
            }
        }
        self.received = 0;
    }

    /// Takes all datagrams that have arrived, up to the batch. Whatever the last batch held is
    /// gone. [`io::ErrorKind::WouldBlock`] where there are none, or none for a second; any other
    /// error is the socket's end.
    pub fn receive(&mut self, socket: &UdpSocket, wait: ReceiveWait) -> io::Result<ReceiveOutcome> {
        self.rearm();
        loop {
            // Read first: what came before it was set is still taken.
            let stopping = socket.stopping.load(Ordering::Acquire);
            let flags = match wait {
                ReceiveWait::Block if !stopping => libc::MSG_WAITFORONE,
                ReceiveWait::Block | ReceiveWait::Never => libc::MSG_DONTWAIT,
            };
            // SAFETY: each of the BATCH_DATAGRAMS heads points at buffers of the stated sizes in
            // our allocation, which nothing else borrows during the call.
            let got = unsafe {
                libc::recvmmsg(
                    socket.fd.as_raw_fd(),
                    (&raw mut (*self.slots.as_ptr()).heads).cast(),
                    BATCH_DATAGRAMS as _,
                    flags as _,
                    ptr::null_mut(),
                )
            };
            if let Ok(got @ 1..) = usize::try_from(got) {
                self.received = got.min(BATCH_DATAGRAMS);
                return Ok(ReceiveOutcome::Datagrams(self.received));
            }
            let why = io::Error::last_os_error();
            match why.kind() {
                io::ErrorKind::WouldBlock if stopping => return Ok(ReceiveOutcome::Stopped),
                // A signal, or news of an earlier reply that did not arrive (ICMP).
                io::ErrorKind::Interrupted
                | io::ErrorKind::ConnectionRefused
                | io::ErrorKind::HostUnreachable
                | io::ErrorKind::NetworkUnreachable => {}
                _ => return Err(why),
            }
        }
    }

    /// The datagram at `index`, or nothing where the last receive brought none, or one without a
    /// sender to reply to (a woken receive, a source port of 0).
    pub fn datagram(&mut self, index: usize) -> Option<Datagram<'_>> {
        if index >= self.received {
            return None;
        }
        let slots = self.slots.as_ptr();
        // SAFETY: the index is in bounds, the kernel wrote `msg_len` bytes at most the buffer's
        // size, and `&mut self` makes these the only borrows of the slot.
        unsafe {
            let head = &(*slots).heads[index];
            let name = &(*slots).names[index];
            let peer =
                raw_address(name, head.msg_hdr.msg_namelen).filter(|peer| peer.port() != 0)?;
            let length = (head.msg_len as usize).min(DATAGRAM_BYTES_MAX);
            let packet = &(*slots).packets[index];
            let reply = &mut (*slots).replies[index];
            Some(Datagram {
                bytes: &packet[..length],
                cut: head.msg_hdr.msg_flags & libc::MSG_TRUNC != 0,
                peer,
                reply,
                route: ReplyRoute(&head.msg_hdr),
            })
        }
    }

    /// Sends every reply that is not empty and empties it; says how many the kernel refused (a
    /// firewall, no route, a full buffer for a second).
    pub fn send(&mut self, socket: &UdpSocket) -> usize {
        let slots = self.slots.as_ptr();
        let mut count = 0;
        for index in 0..self.received {
            // SAFETY: indices are in bounds; heads, names, controls and replies stay where they
            // are until the sends below return, since we hold `&mut self`.
            unsafe {
                let reply = &mut (*slots).replies[index];
                if reply.is_empty() {
                    continue;
                }
                (*slots).reply_vectors[count] =
                    libc::iovec { iov_base: reply.as_mut_ptr().cast(), iov_len: reply.len() };
                let mut head = (*slots).heads[index].msg_hdr;
                head.msg_iov = &raw mut (*slots).reply_vectors[count];
                head.msg_iovlen = 1;
                head.msg_flags = 0;
                let arrival = if socket.wildcard { ArrivalAddress::of(&head) } else { None };
                head.msg_controllen =
                    arrival.map_or(0, |arrival| arrival.write(&mut (*slots).controls[index])) as _;
                (*slots).reply_heads[count].msg_hdr = head;
            }
            count += 1;
        }
        let refused = self.send_heads(socket, count);
        for index in 0..self.received {
            // SAFETY: as above; the kernel is done with the replies.
            let reply = unsafe { &mut (*slots).replies[index] };
            reply.clear();
        }
        refused
    }

    fn send_heads(&mut self, socket: &UdpSocket, count: usize) -> usize {
        let (mut done, mut refused) = (0, 0);
        while done < count {
            // SAFETY: the heads from `done` to `count` were filled by `send` and point at live
            // buffers that nobody writes during the call.
            let sent = unsafe {
                libc::sendmmsg(
                    socket.fd.as_raw_fd(),
                    (&raw mut (*self.slots.as_ptr()).reply_heads[done]).cast(),
                    (count - done) as _,
                    libc::MSG_NOSIGNAL as _,
                )
            };
            match usize::try_from(sent) {
                Ok(sent @ 1..) => done += sent,
                _ if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
                // The error is the first datagram's; the others may fare better.
                _ => {
                    refused += 1;
                    done += 1;
                }
            }
        }
        refused
    }
}

impl Default for DatagramBatch {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for DatagramBatch {
    fn drop(&mut self) {
        // SAFETY: it came out of a Box in `new`, where the vectors were initialised too.
        drop(unsafe { Box::from_raw(self.slots.as_ptr()) });
    }
}

impl ReplyRoute<'_> {
    /// Returns what [`UdpSocket::reply`] needs to answer later.
    pub fn origin(&self) -> DatagramOrigin {
        let mut origin = DatagramOrigin {
            // SAFETY: `msg_name` of a received head points at its slot's sockaddr_in6.
            name: unsafe { *self.0.msg_name.cast::<libc::sockaddr_in6>() },
            name_bytes: self.0.msg_namelen,
            control: [0; 8],
            control_bytes: 0,
        };
        // SAFETY: the head is a received one, and its slot lives as long as `self`.
        if let Some(arrival) = unsafe { ArrivalAddress::of(self.0) } {
            origin.control_bytes = arrival.write(&mut origin.control);
        }
        origin
    }

    /// Where it came in: by the interface that the kernel told of, or to the address that its
    /// socket is bound to.
    pub fn arrived_at(&self, socket: &UdpSocket) -> ArrivedAt {
        // SAFETY: the head is a received one, and its slot lives as long as `self`.
        match unsafe { ArrivalAddress::told(self.0) } {
            Some(arrival) => ArrivedAt::Interface(arrival.interface()),
            None => ArrivedAt::Address(socket.local),
        }
    }
}
