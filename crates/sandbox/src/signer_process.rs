//! The sandbox of the signer's process: what it may still do once it has its key.
//!
//! Root becomes a user who owns nothing; nobody may look into its memory; it gains no privileges;
//! and of system calls only those for memory, its one socket and its open log are left. No file can
//! be opened, no socket made, no program run. Called once by the signer's process, which has one
//! thread.

use crate::account::{AccountError, SystemAccount};
use crate::capabilities::{become_reader, drop_all};
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::thread::set_no_new_privs;
use seccompiler::{BackendError, BpfProgram, SeccompAction, SeccompFilter, TargetArch};
use std::collections::BTreeMap;
use std::fmt;
use std::io;

/// Reason why the signer must not run.
#[derive(Debug)]
pub enum SandboxError {
    /// There is no such user, or it is root.
    NoUser(AccountError),
    /// Root could not be left.
    StillRoot(io::Error),
    /// The memory could not be closed to others.
    Open(io::Error),
}

/// Why the signer goes on without a filter of system calls.
#[derive(Debug)]
enum NotFiltered {
    /// The filter cannot be written for this processor.
    Program(BackendError),
    /// The kernel does not take the filter.
    Kernel(seccompiler::Error),
    /// The kernel took the filter, and lets through what it refuses.
    NotInForce,
}

/// The calls that are left.
const CALLS: &[libc::c_long] = &[
    // The socket, and the log.
    libc::SYS_recvfrom,
    libc::SYS_sendto,
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_lseek,
    libc::SYS_ftruncate,
    libc::SYS_fdatasync,
    libc::SYS_flock,
    libc::SYS_close,
    // Memory.
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    // Chance and time, locks, and the end.
    libc::SYS_getrandom,
    libc::SYS_clock_gettime,
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigaction,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// Proof that the signer is not root.
pub struct NotRoot(());

/// Becomes the user for good, where this is root, and keeps no more than the right to read files:
/// the lists are read after this.
pub fn leave_root(user: &str) -> Result<NotRoot, SandboxError> {
    if rustix::process::geteuid().is_root() {
        let account = SystemAccount::find(user, None).map_err(SandboxError::NoUser)?;
        // Of this thread alone, and it is the only one.
        become_reader(&account).map_err(|why| SandboxError::StillRoot(why.into()))?;
        close_memory()?;
    }
    Ok(NotRoot(()))
}

/// Gives up all that the signer does not need from now on. `Ok` with a text is a filter of system
/// calls that could not be had: the signer goes on without it, and the operator is told.
pub fn enter(_: &NotRoot) -> Result<Option<String>, SandboxError> {
    drop_all().map_err(|why| SandboxError::StillRoot(why.into()))?;
    close_memory()?;
    set_no_new_privs(true).map_err(|why| SandboxError::Open(why.into()))?;
    Ok(filter().and_then(|()| prove()).err().map(|why| why.to_string()))
}

/// Closes the memory to other processes of the same user.
fn close_memory() -> Result<(), SandboxError> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|why| SandboxError::Open(why.into()))
}

fn filter() -> Result<(), NotFiltered> {
    let arch: TargetArch = std::env::consts::ARCH.try_into().map_err(NotFiltered::Program)?;
    // Glibc begins threads and pools with calls that may be missing: an error is enough, and a
    // signer that is killed for one would be killed for ever.
    let refused = SeccompAction::Errno(Errno::PERM.raw_os_error().cast_unsigned());
    let calls: BTreeMap<_, _> = CALLS.iter().map(|call| (*call, Vec::new())).collect();
    let filter = SeccompFilter::new(calls, refused, SeccompAction::Allow, arch)
        .map_err(NotFiltered::Program)?;
    let program: BpfProgram = filter.try_into().map_err(NotFiltered::Program)?;
    seccompiler::apply_filter(&program).map_err(NotFiltered::Kernel)
}

/// Tries what must not go any more.
fn prove() -> Result<(), NotFiltered> {
    let denied = |outcome: Result<(), io::Error>| {
        outcome.is_err_and(|why| why.raw_os_error() == Some(Errno::PERM.raw_os_error()))
    };
    let network = std::net::UdpSocket::bind(("127.0.0.1", 0)).map(drop);
    let files = std::fs::File::open("/dev/null").map(drop);
    if denied(network) && denied(files) { Ok(()) } else { Err(NotFiltered::NotInForce) }
}

impl fmt::Display for NotFiltered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program(why) => write!(f, "the kernel's filter of system calls: {why}"),
            Self::Kernel(why) => write!(f, "the kernel's filter of system calls: {why}"),
            Self::NotInForce => f.write_str("the kernel's filter of system calls is not in force"),
        }
    }
}

impl std::error::Error for NotFiltered {}

impl std::error::Error for SandboxError {}

impl fmt::Display for SandboxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoUser(why) => {
                write!(f, "the signer cannot run: {why}; name a user under signer.user")
            }
            Self::StillRoot(why) => write!(
                f,
                "the signer could not stop being root: {why}; start Tidegate as another user, or \
                 with the capabilities setuid and setgid"
            ),
            Self::Open(why) => write!(f, "the signer could not close its memory: {why}"),
        }
    }
}
