//! The system calls and the one promise that no safe wrapper offers.
//!
//! Everything here is a line or two around `libc` or a tokio contract, with the argument why it is
//! sound. Nothing else in this crate, `udp` apart, may be unsafe.
#![allow(unsafe_code, reason = "socket options and reads without clearing the buffer first")]

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::net::{RecvFlags, SocketAddrAny, getsockname, recv};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::ReadBuf;
use tokio::io::unix::AsyncFd;

/// Reads from a socket into the unfilled part of `buf`; returns how many bytes.
pub(crate) fn receive(socket: BorrowedFd<'_>, buf: &mut ReadBuf<'_>) -> rustix::io::Result<usize> {
    // SAFETY: the part is handed to `recv`, which only writes to it, so nothing initialised
    // becomes uninitialised.
    let unfilled = unsafe { buf.unfilled_mut() };
    let (filled, _) = recv(socket, unfilled, RecvFlags::empty())?;
    let count = filled.0.len();
    // SAFETY: `recv` returned the first `count` bytes of the unfilled part as initialised.
    unsafe { buf.assume_init(count) };
    buf.advance(count);
    Ok(count)
}

/// A value that keeps one descriptor open, and the same one, as long as it lives.
///
/// # Safety
/// It does.
pub(crate) unsafe trait OwnsDescriptor {}

// SAFETY: an `OwnedFd` closes its descriptor when it is dropped, and never exchanges it.
unsafe impl OwnsDescriptor for OwnedFd {}
// SAFETY: the same, with the last of them; nothing takes the descriptor out.
unsafe impl OwnsDescriptor for Arc<OwnedFd> {}

/// Registers a socket with the reactor, for reading and writing. The socket comes back on failure.
pub(crate) fn register<T>(socket: T) -> Result<AsyncFd<T>, (T, io::Error)>
where
    T: AsRawFd + OwnsDescriptor,
{
    // SAFETY: an `OwnsDescriptor` is an open descriptor, `AsyncFd` keeps it to itself until it is
    // deregistered, and `as_raw_fd` always returns the same number.
    unsafe { AsyncFd::register(socket) }.map_err(tokio::io::unix::AsyncFdRegisterError::into_parts)
}

/// Has the kernel keep an accepted connection to itself until the client has sent something, for
/// at most `seconds`.
pub(crate) fn defer_accept(socket: &OwnedFd, seconds: libc::c_int) -> io::Result<()> {
    // SAFETY: the descriptor is open for the length of the call, and the pointer and length
    // describe one `c_int` on this stack frame.
    let outcome = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_DEFER_ACCEPT,
            (&raw const seconds).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Has a listener take connections to addresses that are not this machine's, where the packet
/// filter hands them over.
pub(crate) fn set_transparent(socket: &OwnedFd, address: SocketAddr) -> io::Result<()> {
    let (level, option) = if address.is_ipv4() {
        (libc::IPPROTO_IP, libc::IP_TRANSPARENT)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_TRANSPARENT)
    };
    let on: libc::c_int = 1;
    // SAFETY: the descriptor is open for the length of the call, and the pointer and length
    // describe one `c_int` on this stack frame.
    let outcome = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Has a socket's packets carry a firewall mark.
pub(crate) fn set_mark(socket: BorrowedFd<'_>, mark: u32) -> io::Result<()> {
    // SAFETY: the descriptor is open for the length of the call, and the pointer and length
    // describe one `u32` on this stack frame.
    let outcome = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MARK,
            (&raw const mark).cast(),
            size_of::<u32>() as libc::socklen_t,
        )
    };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The firewall mark of a socket; tests ask.
#[cfg(test)]
pub(crate) fn mark(socket: BorrowedFd<'_>) -> io::Result<u32> {
    let (mut mark, mut length) = (0_u32, size_of::<u32>() as libc::socklen_t);
    // SAFETY: the descriptor is open for the length of the call, and the pointers describe one
    // `u32` and its length on this stack frame.
    let outcome = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MARK,
            (&raw mut mark).cast(),
            &raw mut length,
        )
    };
    if outcome == 0 { Ok(mark) } else { Err(io::Error::last_os_error()) }
}

/// Has a socket send and receive through one interface only.
pub(crate) fn bind_to_device(socket: BorrowedFd<'_>, interface: &str) -> io::Result<()> {
    // SAFETY: the descriptor is open for the length of the call, and the pointer and length
    // describe the name, which the kernel copies and needs no final zero of.
    let outcome = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_BINDTODEVICE,
            interface.as_ptr().cast(),
            interface.len() as libc::socklen_t,
        )
    };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The local address of a socket, if it is an Internet one.
pub(crate) fn local_address(socket: impl AsFd) -> Option<SocketAddr> {
    getsockname(socket).ok().and_then(internet)
}

/// An address as the standard library's, if it is an Internet one.
pub(crate) fn internet(address: SocketAddrAny) -> Option<SocketAddr> {
    SocketAddr::try_from(address).ok()
}
