//! The system calls and the one promise that no safe wrapper offers.
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

/// Has the signals that ask a program to end do nothing: this one ends with its parent.
pub(crate) fn stay_until_the_parent_goes() {
    for number in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT] {
        // SAFETY: no handler is installed, so no code runs in a signal's context.
        unsafe { libc::signal(number, libc::SIG_IGN) };
    }
}

/// Closes everything but standard input, output and error, whatever was inherited by mistake. For a
/// process that has opened nothing yet.
pub(crate) fn close_all_but_standard() {
    // SAFETY: called before anything in this process holds a descriptor beyond the three, so none
    // is closed under its owner. An old kernel that has no such call leaves them open, as without
    // it.
    unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, 0_u32) };
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

/// Has the kernel judge all system calls of this thread, and of all that it starts, by a program.
/// Needs no-new-privs.
pub(crate) fn install_filter(program: &[seccompiler::sock_filter]) -> io::Result<()> {
    // The type of one instruction is the C library's, field by field.
    const { assert!(size_of::<seccompiler::sock_filter>() == size_of::<libc::sock_filter>()) };
    let given = libc::sock_fprog {
        len: program.len() as libc::c_ushort,
        filter: program.as_ptr().cast_mut().cast(),
    };
    // Kernels before 5.16 would slow down the whole process, against attacks from inside of it;
    // those before 4.17 do not know the flag.
    for flags in [libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW, 0] {
        // SAFETY: the kernel reads `len` instructions behind the pointer, which outlive the call,
        // and checks every one of them before it takes any.
        let outcome = unsafe {
            libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const given)
        };
        match io::Error::last_os_error() {
            _ if outcome == 0 => return Ok(()),
            why if flags == 0 || why.raw_os_error() != Some(libc::EINVAL) => return Err(why),
            _ => {}
        }
    }
    Ok(())
}
