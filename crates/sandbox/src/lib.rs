//! The sandbox of the program and the narrower one of the signer's process: user, capabilities,
//! seccomp, landlock.
//!
//! All of these hold for one thread and what it starts, so [`PrivilegePlan::apply`] runs once
//! the configuration is read and before there is a second thread. It opens no configuration and
//! decides nothing about it: the binary says what is needed. Called by the binary, by the launcher
//! of signers, and by the signer's process ([`signer_process`]).

mod account;
mod capabilities;
mod ownership;
pub mod signer_process;
mod sys;
mod system_calls;
mod write_bounds;

pub use account::{AccountError, FileAccess, SystemAccount};
pub use capabilities::{Capability, can_become, file_reading_capability, first_unprivileged_port};
pub use ownership::{OwnershipError, give_ownership, make_folder_of_root};
pub use sys::{close_inherited_descriptors, ignore_ending_signals};
pub use write_bounds::is_within;

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Everything that a process gives up at once.
#[derive(Clone, Debug)]
pub struct PrivilegePlan {
    /// The account to become; none for a process that stays who it is.
    pub account: Option<SystemAccount>,
    /// Capabilities that are kept, if the process has them.
    pub keep: Vec<Capability>,
    /// Programs that the process may start from now on.
    pub programs: ProgramStarts,
    /// Folders and files that may be written, with all below them; none: whatever the file system
    /// lets.
    pub writable: Option<Vec<PathBuf>>,
}

/// Programs that a process may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramStarts {
    /// Any.
    Allowed,
    /// None: `execve` is refused.
    Refused,
}

/// Protection that holds for the rest of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelProtection {
    /// No program gains privileges by being started (`PR_SET_NO_NEW_PRIVS`).
    NoNewPrivileges,
    /// System calls that no server needs are refused.
    SystemCallFilter,
    /// Nothing is written outside the named folders.
    WriteBounds,
}

/// Privileges and protections as they are once a plan was carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldPrivileges {
    /// The account that the process became, or was.
    pub user: String,
    /// Capabilities that are left.
    pub kept: Vec<Capability>,
    /// Capabilities that the process had and has no more.
    pub dropped: Vec<Capability>,
    /// Protections in force.
    pub protections: Vec<KernelProtection>,
    /// Protections that were wanted and could not be had, with the reason.
    pub missing: Vec<(KernelProtection, String)>,
}

/// Privileges that could not be given up, so that the process must not go on.
#[derive(Debug)]
pub enum PrivilegeError {
    /// There is a second thread, which would keep everything.
    Threads,
    /// The account could not be taken on.
    Account(SystemAccount, io::Error),
    /// The capabilities could not be dropped.
    Capabilities(io::Error),
    /// `PR_SET_NO_NEW_PRIVS` was refused.
    NoNewPrivileges(io::Error),
}

impl PrivilegePlan {
    /// Gives up all that the plan does not name. What the kernel does not know is among
    /// [`HeldPrivileges::missing`]; what it refuses is an error.
    pub fn apply(&self) -> Result<HeldPrivileges, PrivilegeError> {
        if has_threads() {
            return Err(PrivilegeError::Threads);
        }
        let before = capabilities::held();
        capabilities::drop_bounds(&self.keep);
        if let Some(account) = &self.account {
            capabilities::become_account(account)
                .map_err(|why| PrivilegeError::Account(account.clone(), why))?;
        }
        let kept = capabilities::keep_only(&self.keep).map_err(PrivilegeError::Capabilities)?;
        rustix::thread::set_no_new_privs(true)
            .map_err(|why| PrivilegeError::NoNewPrivileges(why.into()))?;
        let mut protections = vec![KernelProtection::NoNewPrivileges];
        let mut missing = Vec::new();
        let mut note = |protection, trouble: Option<String>| match trouble {
            None => protections.push(protection),
            Some(why) => missing.push((protection, why)),
        };
        if let Some(folders) = &self.writable {
            let outcome = write_bounds::restrict_writes(folders);
            note(KernelProtection::WriteBounds, outcome.err().map(|why| why.to_string()));
        }
        // Last: the filter need not let through what the others are made with.
        let outcome = system_calls::refuse_system_calls(self.programs);
        note(KernelProtection::SystemCallFilter, outcome.err().map(|why| why.to_string()));
        protections.sort_by_key(|it| *it as u8);
        let user = match &self.account {
            Some(account) => account.name.clone(),
            None => SystemAccount::present().name,
        };
        let dropped = before.into_iter().filter(|it| !kept.contains(it)).collect();
        Ok(HeldPrivileges { user, kept, dropped, protections, missing })
    }
}

/// True if there is another thread than this one.
fn has_threads() -> bool {
    // Without proc(5) the caller's word must do.
    std::fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() > 1)
}

impl HeldPrivileges {
    /// True if the protection is in force.
    pub fn has(&self, protection: KernelProtection) -> bool {
        self.protections.contains(&protection)
    }
}

impl fmt::Display for KernelProtection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoNewPrivileges => "no-new-privs",
            Self::SystemCallFilter => "seccomp",
            Self::WriteBounds => "landlock",
        })
    }
}

impl fmt::Display for HeldPrivileges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "user {}", self.user)?;
        if self.kept.is_empty() {
            f.write_str(", no capabilities")?;
        }
        for capability in &self.kept {
            write!(f, ", {capability}")?;
        }
        for protection in &self.protections {
            write!(f, ", {protection}")?;
        }
        for (protection, why) in &self.missing {
            write!(f, ", no {protection} ({why})")?;
        }
        Ok(())
    }
}

impl fmt::Display for PrivilegeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Threads => f.write_str("privileges can be given up by a single thread only"),
            Self::Account(account, why) => write!(
                f,
                "cannot become the user {} ({}, group {}): {why}; start with the capabilities \
                 setuid and setgid, name another user, or start as that user",
                account.name, account.uid, account.gid
            ),
            Self::Capabilities(why) => write!(f, "capabilities cannot be dropped: {why}"),
            Self::NoNewPrivileges(why) => write!(f, "no-new-privs cannot be set: {why}"),
        }
    }
}

impl std::error::Error for PrivilegeError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_is_held_and_what_is_missing() {
        let mut held = HeldPrivileges {
            user: "tidegate".into(),
            kept: Vec::new(),
            dropped: Vec::new(),
            protections: vec![
                KernelProtection::NoNewPrivileges,
                KernelProtection::SystemCallFilter,
            ],
            missing: Vec::new(),
        };
        assert_eq!(held.to_string(), "user tidegate, no capabilities, no-new-privs, seccomp");
        held.kept.push(Capability::BindService);
        held.missing.push((KernelProtection::WriteBounds, "the kernel has none".into()));
        assert_eq!(
            held.to_string(),
            "user tidegate, CAP_NET_BIND_SERVICE, no-new-privs, seccomp, no landlock (the kernel \
             has none)"
        );
    }

    #[test]
    fn nothing_is_given_up_beside_a_second_thread() {
        let (end, wait) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || wait.recv());
        let plan = PrivilegePlan {
            account: None,
            keep: Vec::new(),
            programs: ProgramStarts::Refused,
            writable: None,
        };
        assert!(matches!(plan.apply(), Err(PrivilegeError::Threads)));
        drop(end);
        assert!(other.join().is_ok_and(|told| told.is_err()));
    }
}
