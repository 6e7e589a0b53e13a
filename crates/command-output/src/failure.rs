//! A command that failed: what is said, the exit code, and the remedy where the system's error
//! names none.

use clap::ValueEnum;
use rustix::io::Errno;
use std::fmt::Display;

/// Tells how a command can fail: its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExitReason {
    /// The configuration or the input is wrong.
    Wrong = 1,
    /// Could not start, or nothing runs.
    NotStarted = 3,
    /// Was stopped by a fault.
    Fault = 4,
    /// Of `upgrade`: the new process did not come up, and the running one goes on.
    SuccessorGivenUp = 5,
    /// Of `upgrade`: the running one cannot be replaced, and nothing was begun.
    Irreplaceable = 6,
}

/// A failed command: what to say, and the exit code.
#[derive(Debug)]
pub struct CommandFailure {
    /// Code that the program leaves with.
    pub exit: ExitReason,
    /// Text for standard error.
    pub message: String,
}

impl CommandFailure {
    /// One line of explanation.
    pub fn new(exit: ExitReason, message: impl Display) -> Self {
        let message = message.to_string();
        let remedy = remedy(&message).map_or_else(String::new, |remedy| format!("; {remedy}"));
        Self { exit, message: format!("tidegate: {message}{remedy}\n") }
    }

    /// The complaints of a configuration, a line each.
    pub fn complaints(complaints: &[impl Display]) -> Self {
        let lines: Vec<String> = complaints.iter().map(ToString::to_string).collect();
        Self { exit: ExitReason::Wrong, message: lines.join("\n") + "\n" }
    }
}

/// Remedy for a limit of the system, wherever it was met: the error alone names none.
fn remedy(message: &str) -> Option<&'static str> {
    const REMEDIES: [(Errno, &str); 4] = [
        (Errno::NOSPC, "make room on the disk, or name another state folder with --state"),
        (Errno::DQUOT, "make room, or have the quota raised"),
        (
            Errno::MFILE,
            "raise the limit on open files: ulimit -n 65536, or LimitNOFILE= of systemd",
        ),
        (Errno::NFILE, "raise the machine's limit on open files: sysctl fs.file-max"),
    ];
    let is_meant = |errno: &Errno| {
        let code = format!("(os error {})", errno.raw_os_error());
        message.contains(&code)
    };
    REMEDIES.iter().find(|(errno, _)| is_meant(errno)).map(|(_, remedy)| *remedy)
}
