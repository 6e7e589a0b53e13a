//! The four system calls and one promise that no safe wrapper offers.
//!
//! Everything here is a line or two around `libc` or a tokio contract, with the argument why it is
//! sound. Nothing else in this crate, `udp` apart, may be unsafe.
#![allow(unsafe_code, reason = "socket options and reads without clearing the buffer first")]

use rustix::fd::{AsRawFd, BorrowedFd, OwnedFd};
use rustix::net::{RecvFlags, recv};
use std::io;
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

/// Registers a socket with the reactor, for reading and writing. The socket comes back on failure.
pub(crate) fn register(socket: OwnedFd) -> Result<AsyncFd<OwnedFd>, (OwnedFd, io::Error)> {
    // SAFETY: an `OwnedFd` is an open descriptor, `AsyncFd` keeps it to itself until it is
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
