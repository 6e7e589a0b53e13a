//! Socket options, addresses and control messages as the kernel writes them.
//!
//! It refuses what is not a whole IPv4 or IPv6 address. Called by the parent module alone, whose
//! leave to be unsafe it shares.

use std::io;
use std::mem::{size_of, zeroed};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;

/// Receive buffer asked of the kernel, in bytes: a burst of 4,096 queries, each of which the
/// kernel books at 768 bytes and more, must wait there without loss.
const RECEIVE_BUFFER_BYTES: libc::c_int = 4 << 20;

/// Send buffer asked of the kernel, in bytes.
const SEND_BUFFER_BYTES: libc::c_int = 1 << 20;

/// Time for which a receive waits before it looks whether it should stop, if nothing wakes it
/// earlier.
const STOP_CHECK_SECS: libc::time_t = 1;

/// Space for one `in_pktinfo` or `in6_pktinfo` control message (40 bytes on 64-bit Linux).
pub(super) type Control = [u64; 8];

/// Which of our addresses a datagram came to, as the kernel tells and takes it.
pub(super) enum ArrivalAddress {
    V4(libc::in_pktinfo),
    V6(libc::in6_pktinfo),
}

impl ArrivalAddress {
    /// Returns what a reply is to be sent with, by what the kernel said beside the datagram of
    /// `head`.
    ///
    /// # Safety
    /// As for [`ArrivalAddress::told`].
    pub(super) unsafe fn of(head: &libc::msghdr) -> Option<Self> {
        // SAFETY: the caller's promise is the same.
        let mut arrival = unsafe { Self::told(head) }?;
        match &mut arrival {
            // The route decides the interface; it may differ from where the query came in.
            Self::V4(info) => info.ipi_ifindex = 0,
            // Link-local addresses mean nothing without their interface.
            Self::V6(info) if Ipv6Addr::from(info.ipi6_addr.s6_addr).is_unicast_link_local() => {}
            Self::V6(info) => info.ipi6_ifindex = 0,
        }
        Some(arrival)
    }

    /// The number of the interface that it came in by.
    pub(super) fn interface(&self) -> u32 {
        match self {
            Self::V4(info) => info.ipi_ifindex.cast_unsigned(),
            Self::V6(info) => info.ipi6_ifindex,
        }
    }

    /// Returns what the kernel said beside the datagram of `head`.
    ///
    /// # Safety
    /// `head` must have been filled by recvmsg, and its control buffer must be readable.
    pub(super) unsafe fn told(head: &libc::msghdr) -> Option<Self> {
        // SAFETY: CMSG_FIRSTHDR yields null or a whole header inside the control buffer that the
        // kernel filled; the data after it are read unaligned, in the type that level and kind say.
        unsafe {
            let first = libc::CMSG_FIRSTHDR(head);
            if first.is_null() {
                return None;
            }
            let data = libc::CMSG_DATA(first);
            match ((*first).cmsg_level, (*first).cmsg_type) {
                (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                    Some(Self::V4(data.cast::<libc::in_pktinfo>().read_unaligned()))
                }
                (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                    Some(Self::V6(data.cast::<libc::in6_pktinfo>().read_unaligned()))
                }
                _ => None,
            }
        }
    }

    /// Writes the message that makes a reply leave from that address; returns its bytes.
    pub(super) fn write(self, control: &mut Control) -> usize {
        match self {
            Self::V4(info) => write_control(control, libc::IPPROTO_IP, libc::IP_PKTINFO, info),
            Self::V6(info) => write_control(control, libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, info),
        }
    }
}

fn write_control<T: Copy>(
    control: &mut Control,
    level: libc::c_int,
    kind: libc::c_int,
    data: T,
) -> usize {
    const { assert!(size_of::<libc::cmsghdr>() + size_of::<T>() <= size_of::<Control>()) };
    // SAFETY: CMSG_SPACE and CMSG_LEN only compute; header and data fit, as asserted, and u64s are
    // aligned for a cmsghdr.
    unsafe {
        *control = [0; 8];
        let head = control.as_mut_ptr().cast::<libc::cmsghdr>();
        (*head).cmsg_len = libc::CMSG_LEN(size_of::<T>() as u32) as _;
        (*head).cmsg_level = level;
        (*head).cmsg_type = kind;
        libc::CMSG_DATA(head).cast::<T>().write_unaligned(data);
        libc::CMSG_SPACE(size_of::<T>() as u32) as usize
    }
}

pub(super) fn set(
    fd: &OwnedFd,
    level: libc::c_int,
    option: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    // SAFETY: the pointer is to a live c_int, whose size is given.
    let done = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Options that a socket at `address` has before datagrams come.
pub(super) fn prepare(fd: &OwnedFd, address: SocketAddr) -> io::Result<()> {
    if address.ip().is_unspecified() {
        match address {
            SocketAddr::V4(_) => set(fd, libc::IPPROTO_IP, libc::IP_PKTINFO, 1)?,
            SocketAddr::V6(_) => set(fd, libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, 1)?,
        }
    }
    size_buffers(fd);
    Ok(())
}

/// Buffers and time-outs. Sizes are wishes: beyond `net.core.rmem_max` only a process with
/// `CAP_NET_ADMIN` gets them, and a smaller buffer is no reason not to serve.
fn size_buffers(fd: &OwnedFd) {
    if set(fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, RECEIVE_BUFFER_BYTES).is_err() {
        let _ = set(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, RECEIVE_BUFFER_BYTES);
    }
    if set(fd, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, SEND_BUFFER_BYTES).is_err() {
        let _ = set(fd, libc::SOL_SOCKET, libc::SO_SNDBUF, SEND_BUFFER_BYTES);
    }
    let span = libc::timeval { tv_sec: STOP_CHECK_SECS, tv_usec: 0 };
    for option in [libc::SO_RCVTIMEO, libc::SO_SNDTIMEO] {
        // SAFETY: the pointer is to a live timeval, whose size is given. Without the time-outs
        // `stop` still wakes the receiver, so a failure is borne.
        unsafe {
            libc::setsockopt(
                fd.as_raw_fd(),
                libc::SOL_SOCKET,
                option,
                (&raw const span).cast(),
                size_of::<libc::timeval>() as libc::socklen_t,
            );
        }
    }
}

pub(super) fn local_address(fd: &OwnedFd) -> io::Result<SocketAddr> {
    // SAFETY: a sockaddr_in6 of zeroes is valid, and getsockname writes at most `length` bytes.
    unsafe {
        let mut name: libc::sockaddr_in6 = zeroed();
        let mut length = size_of::<libc::sockaddr_in6>() as libc::socklen_t;
        if libc::getsockname(fd.as_raw_fd(), (&raw mut name).cast(), &raw mut length) < 0 {
            return Err(io::Error::last_os_error());
        }
        raw_address(&name, length).ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
    }
}

pub(super) fn to_raw(address: SocketAddr) -> (libc::sockaddr_in6, libc::socklen_t) {
    // SAFETY: zero is valid for both; a sockaddr_in is smaller than a sockaddr_in6 and no more
    // strictly aligned, so it may be written over its beginning.
    unsafe {
        let mut name: libc::sockaddr_in6 = zeroed();
        match address {
            SocketAddr::V4(v4) => {
                let mut plain: libc::sockaddr_in = zeroed();
                plain.sin_family = libc::AF_INET as _;
                plain.sin_port = v4.port().to_be();
                plain.sin_addr.s_addr = u32::from_ne_bytes(v4.ip().octets());
                (&raw mut name).cast::<libc::sockaddr_in>().write(plain);
                (name, size_of::<libc::sockaddr_in>() as _)
            }
            SocketAddr::V6(v6) => {
                name.sin6_family = libc::AF_INET6 as _;
                name.sin6_port = v6.port().to_be();
                name.sin6_addr.s6_addr = v6.ip().octets();
                name.sin6_scope_id = v6.scope_id();
                (name, size_of::<libc::sockaddr_in6>() as _)
            }
        }
    }
}

/// The address; nothing if the kernel wrote no whole one.
pub(super) fn raw_address(
    name: &libc::sockaddr_in6,
    length: libc::socklen_t,
) -> Option<SocketAddr> {
    let length = length as usize;
    if length == size_of::<libc::sockaddr_in>() && i32::from(name.sin6_family) == libc::AF_INET {
        // SAFETY: a sockaddr_in lies at the beginning, is smaller and no more strictly aligned.
        let plain = unsafe { *ptr::from_ref(name).cast::<libc::sockaddr_in>() };
        let ip = Ipv4Addr::from(plain.sin_addr.s_addr.to_ne_bytes());
        return Some(SocketAddrV4::new(ip, u16::from_be(plain.sin_port)).into());
    }
    if length == size_of::<libc::sockaddr_in6>() && i32::from(name.sin6_family) == libc::AF_INET6 {
        let ip = Ipv6Addr::from(name.sin6_addr.s6_addr);
        let port = u16::from_be(name.sin6_port);
        return Some(SocketAddrV6::new(ip, port, 0, name.sin6_scope_id).into());
    }
    None
}
