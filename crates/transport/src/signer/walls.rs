//! The walls around the signer's process: what it may still do once it has its key.
//!
//! Root becomes a user who owns nothing; nobody may look into its memory; it gains no privileges; and of
//! system calls only those for memory, its one socket and its open log are left. No file can be opened,
//! no socket made, no program run. Called once by `process`, which has one thread.

use rustix::io::Errno;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::thread::{set_no_new_privs, set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};
use std::collections::BTreeMap;
use std::fmt;
use std::io;

/// Why the signer must not run.
#[derive(Debug)]
pub(crate) enum WallsError {
    /// There is no such user.
    NoUser(String),
    /// Root could not be left.
    StillRoot(io::Error),
    /// The memory could not be closed to others.
    Open(io::Error),
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

/// Gives up what the signer needs no more: `Ok` says what could not be given up and is worth a word.
pub(crate) fn raise(user: &str) -> Result<Option<String>, WallsError> {
    if rustix::process::geteuid().is_root() {
        become_user(user)?;
    }
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|why| WallsError::Open(why.into()))?;
    set_no_new_privs(true).map_err(|why| WallsError::Open(why.into()))?;
    Ok(filter().and_then(|()| prove()).err())
}

/// Becomes the user for good: real, effective and saved ids, and no further group.
fn become_user(user: &str) -> Result<(), WallsError> {
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let (uid, gid) = ids(&users, user).ok_or_else(|| WallsError::NoUser(user.to_owned()))?;
    let (uid, gid) = (rustix::process::Uid::from_raw(uid), rustix::process::Gid::from_raw(gid));
    // Of this thread alone, and it is the only one.
    set_thread_groups(&[gid])
        .and_then(|()| set_thread_res_gid(gid, gid, gid))
        .and_then(|()| set_thread_res_uid(uid, uid, uid))
        .map_err(|why| WallsError::StillRoot(why.into()))
}

/// A user's number and group in the text of `/etc/passwd`; root is none.
fn ids(users: &str, user: &str) -> Option<(u32, u32)> {
    let line = users.lines().find(|line| line.split(':').next() == Some(user))?;
    let mut fields = line.split(':').skip(2);
    let (uid, gid) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    (uid != 0).then_some((uid, gid))
}

fn filter() -> Result<(), String> {
    let wrong = |why: &dyn fmt::Display| format!("the kernel's filter of system calls: {why}");
    let arch: TargetArch = std::env::consts::ARCH.try_into().map_err(|why| wrong(&why))?;
    // Glibc begins threads and pools with calls that may be missing: an error is enough, and a signer
    // that is killed for one would be killed for ever.
    let refused = SeccompAction::Errno(Errno::PERM.raw_os_error().cast_unsigned());
    let calls: BTreeMap<_, _> = CALLS.iter().map(|call| (*call, Vec::new())).collect();
    let filter = SeccompFilter::new(calls, refused, SeccompAction::Allow, arch)
        .map_err(|why| wrong(&why))?;
    let program: BpfProgram = filter.try_into().map_err(|why| wrong(&why))?;
    seccompiler::apply_filter(&program).map_err(|why| wrong(&why))
}

/// Tries what must not go any more.
fn prove() -> Result<(), String> {
    let denied = |outcome: Result<(), io::Error>| {
        outcome.is_err_and(|why| why.raw_os_error() == Some(Errno::PERM.raw_os_error()))
    };
    let network = std::net::UdpSocket::bind(("127.0.0.1", 0)).map(drop);
    let files = std::fs::File::open("/dev/null").map(drop);
    if denied(network) && denied(files) {
        Ok(())
    } else {
        Err("the kernel's filter of system calls is not in force".into())
    }
}

impl fmt::Display for WallsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoUser(user) => write!(
                f,
                "there is no user {user} other than root in /etc/passwd for the signer to run as; \
                 name one under signer.user"
            ),
            Self::StillRoot(why) => write!(
                f,
                "the signer could not stop being root: {why}; start Tidegate as another user, or \
                 with the capabilities setuid and setgid"
            ),
            Self::Open(why) => write!(f, "the signer could not close its memory: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_the_whole_name_and_root_is_none() {
        let users = "root:x:0:0::/root:/bin/sh\ntoor:x:0:0::/:\nnobody2:x:7:7::/:\n\
                     nobody:x:65534:65533:nobody:/:/bin/false\nbad:x:a:b\n";
        for (user, expected) in [
            ("nobody", Some((65534, 65533))),
            ("nobody2", Some((7, 7))),
            ("root", None),
            ("toor", None),
            ("bad", None),
            ("no", None),
        ] {
            assert_eq!(ids(users, user), expected, "{user}");
        }
    }
}
