//! The signer's program, and the socket between it and whoever starts it.
//!
//! It starts nothing itself. Used by the supervisor, which starts signers as its children, and by
//! the launcher.

use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// Variables that the service manager has set for one process, which the signer is not.
const OF_ONE_PROCESS: [&str; 6] = [
    "LISTEN_FDNAMES",
    "LISTEN_FDS",
    "LISTEN_PID",
    "NOTIFY_SOCKET",
    "WATCHDOG_PID",
    "WATCHDOG_USEC",
];

/// Path and arguments with which a signer's process is started.
#[derive(Clone, Debug)]
pub struct SignerProgram {
    /// The binary.
    pub path: PathBuf,
    /// Arguments.
    pub args: Vec<OsString>,
}

impl SignerProgram {
    /// The command that starts it. The environment goes along: the configuration, which the signer
    /// reads itself, may have values from there, and the folder of credentials.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        // A terminal's Ctrl-C is for the program; what it started ends when it does.
        command.args(&self.args).arg0("tidegate").process_group(0);
        for name in OF_ONE_PROCESS {
            command.env_remove(name);
        }
        command
    }
}

/// A line between two processes, of whole packets.
pub(crate) fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SocketFlags::CLOEXEC;
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?)
}
