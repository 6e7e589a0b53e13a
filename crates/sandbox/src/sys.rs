//! The system calls of a sandbox that no safe wrapper offers.
//!
//! Everything here is a few lines around `libc`, with the argument why it is sound. Nothing else in
//! this crate may be unsafe.
#![allow(unsafe_code, reason = "signals, inherited descriptors and filters of system calls")]

use std::io;

/// Has the signals that ask a program to end do nothing: this one ends with its parent.
pub fn ignore_ending_signals() {
    for number in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT] {
        // SAFETY: no handler is installed, so no code runs in a signal's context.
        unsafe { libc::signal(number, libc::SIG_IGN) };
    }
}

/// Closes everything but standard input, output and error, whatever was inherited by mistake. For a
/// process that has opened nothing yet.
pub fn close_inherited_descriptors() {
    // SAFETY: called before anything in this process holds a descriptor beyond the three, so none
    // is closed under its owner. An old kernel that has no such call leaves them open, as without
    // it.
    unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, 0_u32) };
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
