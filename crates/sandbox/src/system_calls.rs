//! System calls that a server at the edge of a network never needs, refused by the kernel
//! (seccomp(2)).
//!
//! They look into other processes, change the system, or open parts of the kernel where most of its
//! holes have been: namespaces, `bpf`, keyrings, `io_uring`. A list of what is refused, unlike the
//! signer's list of what is allowed, outlives a new C library and a new kernel. They fail with
//! `EPERM`, or as if the kernel did not know them where the C library has another way. Called once,
//! by a process of one thread.

use crate::ProgramStarts;
use crate::sys;
use rustix::io::Errno;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, sock_filter,
};
use std::collections::BTreeMap;
use std::fmt;
use std::io;

/// Refused on every processor.
const REFUSED: &[libc::c_long] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    // Namespaces and file systems.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_mknodat,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_fanotify_init,
    // The kernel itself.
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_syslog,
    libc::SYS_personality,
    libc::SYS_vhangup,
    // The machine.
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_nfsservctl,
];

/// Refused where the processor has them.
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[libc::c_long] = &[
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_kexec_file_load,
    libc::SYS_mknod,
    libc::SYS_uselib,
    libc::SYS_ustat,
    libc::SYS_sysfs,
    libc::SYS__sysctl,
];
/// `kexec_file_load`, which libc does not name for every C library; the processors of the generic
/// table share its number (include/uapi/asm-generic/unistd.h).
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[libc::c_long] = &[294];

/// Calls with another way round them: the C library takes it when these are not there.
const UNKNOWN: &[libc::c_long] = &[
    // Its flags cannot be judged, for they are in memory; `clone` is taken instead.
    libc::SYS_clone3,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// Flags of `clone` that make namespaces.
const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// Why the kernel does not refuse system calls.
#[derive(Debug)]
pub(crate) enum SystemCallsOpen {
    /// The filter cannot be written for this processor.
    Program(BackendError),
    /// The kernel does not take the filter.
    Kernel(io::Error),
}

type Rules = BTreeMap<libc::c_long, Vec<SeccompRule>>;

/// Has the kernel refuse the calls from now on, in this thread and all that it starts.
pub(crate) fn refuse_system_calls(programs: ProgramStarts) -> Result<(), SystemCallsOpen> {
    let program = filters(programs).map_err(SystemCallsOpen::Program)?;
    program.iter().try_for_each(|it| sys::install_filter(it).map_err(SystemCallsOpen::Kernel))
}

/// The filters that the kernel is given, one after the other.
fn filters(programs: ProgramStarts) -> Result<Vec<BpfProgram>, BackendError> {
    let architecture: TargetArch = std::env::consts::ARCH.try_into()?;
    let filter = |rules: Rules, errno: Errno| -> Result<BpfProgram, BackendError> {
        let refused = SeccompAction::Errno(errno.raw_os_error().cast_unsigned());
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, architecture);
        filter?.try_into()
    };
    let mut denied: Rules = REFUSED.iter().chain(REFUSED_HERE).map(|it| (*it, vec![])).collect();
    if programs == ProgramStarts::Refused {
        denied.extend([(libc::SYS_execve, vec![]), (libc::SYS_execveat, vec![])]);
    }
    denied.insert(libc::SYS_clone, namespaces()?);
    let unknown: Rules = UNKNOWN.iter().map(|it| (*it, vec![])).collect();
    let mut programs = vec![filter(denied, Errno::PERM)?, filter(unknown, Errno::NOSYS)?];
    programs.extend(foreign_numbers());
    Ok(programs)
}

impl fmt::Display for SystemCallsOpen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program(why) => why.fmt(f),
            Self::Kernel(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for SystemCallsOpen {}

/// A rule for each namespace that `clone` must not make.
fn namespaces() -> Result<Vec<SeccompRule>, BackendError> {
    let rule = |flag: libc::c_int| {
        let flag = u64::from(flag.cast_unsigned());
        let set = SeccompCmpOp::MaskedEq(flag);
        SeccompRule::new(vec![SeccompCondition::new(0, SeccompCmpArgLen::Qword, set, flag)?])
    };
    NAMESPACES.into_iter().map(rule).collect()
}

/// The numbers of the x32 interface, by which every call has a second name on `x86_64`.
fn foreign_numbers() -> Option<BpfProgram> {
    const X32_BIT: u32 = 0x4000_0000;
    const REFUSE: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
    let is_here = cfg!(target_arch = "x86_64");
    let step = |code: u32, jt, jf, k| sock_filter { code: code as u16, jt, jf, k };
    is_here.then(|| {
        vec![
            // The number is the first field of what a filter sees.
            step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
            step(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, X32_BIT),
            step(libc::BPF_RET | libc::BPF_K, 0, 0, REFUSE),
            step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
        ]
    })
}
