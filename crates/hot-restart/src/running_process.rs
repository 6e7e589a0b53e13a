//! A running process as proc(5) shows it: what it was started with, and whether another may take
//! its place.

use crate::process_entry::{FolderOfEntry, ProcessEntry, raise_file_limit};
use crate::service_manager::OF_ONE_PROCESS;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where control groups are mounted.
const CONTROL_GROUPS: &str = "/sys/fs/cgroup";

/// Holds what a process was started with.
#[derive(Debug)]
pub struct RunningProcess {
    number: u32,
    arguments: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    folder: PathBuf,
    /// The control group (version 2), where it is another than this process's.
    control_group: Option<PathBuf>,
    /// The way from here to its surroundings.
    entry: ProcessEntry,
}

/// Reasons why no other process can take a process's place.
#[derive(Debug)]
pub enum IrreplaceableReason {
    /// Cannot be looked at.
    Hidden(io::Error),
    /// Is the first of its container, which ends with it.
    FirstOfContainer,
    /// The service manager would end the service with it.
    NotNotified,
    /// The service's control group cannot be joined.
    OtherGroup(io::Error),
}

impl RunningProcess {
    /// Looks at a process that the user `started_as` has started.
    pub fn find(number: u32, started_as: u32) -> Result<Self, IrreplaceableReason> {
        let hidden = IrreplaceableReason::Hidden;
        let at = |name: &str| format!("/proc/{number}/{name}");
        if number == 1 {
            return Err(IrreplaceableReason::FirstOfContainer);
        }
        let words = |name: &str| fs::read(at(name)).map(|bytes| split(&bytes)).map_err(hidden);
        let variables = words("environ")?.into_iter().filter_map(variable);
        let group = control_group(&at("cgroup"));
        let other =
            group.filter(|group| control_group("/proc/self/cgroup").as_ref() != Some(group));
        let found = Self {
            number,
            arguments: words("cmdline")?.into_iter().skip(1).collect(),
            variables: variables.collect(),
            folder: fs::read_link(at("cwd")).map_err(hidden)?,
            control_group: other,
            entry: ProcessEntry::into(number, started_as),
        };
        if found.has("INVOCATION_ID") && !found.has("NOTIFY_SOCKET") && found.is_of_manager() {
            return Err(IrreplaceableReason::NotNotified);
        }
        Ok(found)
    }

    /// Puts this process, and with it all that it starts, into the control group of a process that
    /// a service manager watches.
    pub fn join_group(&self) -> Result<(), IrreplaceableReason> {
        let Some(group) = self.control_group.as_ref().filter(|_| self.has("NOTIFY_SOCKET")) else {
            return Ok(());
        };
        raise_file_limit(self.number);
        let own = std::process::id().to_string();
        fs::write(group.join("cgroup.procs"), own).map_err(IrreplaceableReason::OtherGroup)
    }

    /// The command that starts `program` as this process was started, in the same folder and with
    /// the same variables, but for those that were meant for it alone.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = self.entry.command(program);
        command.args(&self.arguments).env_clear();
        if self.entry.folder() == FolderOfEntry::Starter {
            command.current_dir(&self.folder);
        }
        let own = |name: &OsStr| OF_ONE_PROCESS.iter().any(|it| name == *it);
        let variables = self.variables.iter().filter(|(name, _)| !own(name));
        command.envs(variables.map(|(name, value)| (name, value)));
        command
    }

    /// Number of the process.
    pub const fn number(&self) -> u32 {
        self.number
    }

    fn has(&self, name: &str) -> bool {
        self.variables.iter().any(|(known, _)| known == name)
    }

    /// True for a process that systemd has started itself; one that a service's shell has started
    /// inherits the variables.
    fn is_of_manager(&self) -> bool {
        let Some(parent) = parent_of(self.number) else { return false };
        let name = fs::read_to_string(format!("/proc/{parent}/comm")).unwrap_or_default();
        name.trim() == "systemd"
    }
}

/// The parent of a process; none where it is gone.
fn parent_of(number: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    // The name before may hold anything, brackets included.
    let (_, after) = stat.rsplit_once(')')?;
    after.split_whitespace().nth(1)?.parse().ok()
}

/// The folder of a control group, of the file of proc(5) that names it.
fn control_group(file: &str) -> Option<PathBuf> {
    let text = fs::read_to_string(file).ok()?;
    let path = text.lines().find_map(|line| line.strip_prefix("0::"))?;
    Some(Path::new(CONTROL_GROUPS).join(path.trim_start_matches('/')))
}

fn split(bytes: &[u8]) -> Vec<OsString> {
    // Each ends with a zero byte; an argument may be empty.
    let Some(whole) = bytes.strip_suffix(&[0]) else { return Vec::new() };
    whole.split(|byte| *byte == 0).map(|word| OsString::from_vec(word.to_vec())).collect()
}

fn variable(text: OsString) -> Option<(OsString, OsString)> {
    let mut name = text.into_vec();
    let end = name.iter().position(|byte| *byte == b'=')?;
    let value = name.split_off(end + 1);
    name.pop();
    Some((OsString::from_vec(name), OsString::from_vec(value)))
}

impl fmt::Display for IrreplaceableReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hidden(why) => write!(
                f,
                "the running Tidegate cannot be looked at: {why}; run this as root, or as its user"
            ),
            Self::FirstOfContainer => f.write_str(
                "the running Tidegate is the first process of its container, which ends with it; \
                 start a new container in its place",
            ),
            Self::NotNotified => f.write_str(
                "the running Tidegate's unit is not of Type=notify, so systemd would end the \
                 service with it; take the unit of `tidegate service install`, or restart",
            ),
            Self::OtherGroup(why) => {
                write!(f, "the service's control group cannot be joined: {why}; run this as root")
            }
        }
    }
}

impl std::error::Error for IrreplaceableReason {}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use std::process::Stdio;

    #[test]
    fn a_process_is_started_as_another_was_but_for_what_was_meant_for_that_one() {
        let mut child = Command::new("sh")
            .args(["-c", "read line", "name", "", "last"])
            .stdin(Stdio::piped())
            .env("KEPT", "a=b")
            .env("WATCHDOG_PID", "7")
            .current_dir("/usr")
            .spawn()
            .unwrap();
        let started_as = rustix::process::geteuid().as_raw();
        // The kernel shows arguments a moment after the program has begun.
        let shown = format!("/proc/{}/cmdline", child.id());
        while fs::read(&shown).unwrap().is_empty() {
            std::thread::yield_now();
        }
        let found = RunningProcess::find(child.id(), started_as);
        child.kill().unwrap();
        child.wait().unwrap();
        let command = found.unwrap().command(Path::new("/bin/true"));
        assert_eq!(command.get_program(), "/bin/true");
        assert_eq!(command.get_current_dir(), Some(Path::new("/usr")));
        assert_eq!(command.get_args().collect::<Vec<_>>(), ["-c", "read line", "name", "", "last"]);
        let variables: Vec<_> = command.get_envs().collect();
        assert!(variables.contains(&(OsStr::new("KEPT"), Some(OsStr::new("a=b")))));
        assert!(!variables.iter().any(|(name, _)| *name == "WATCHDOG_PID"));
    }

    #[test]
    fn the_first_process_of_a_container_is_not_replaced() {
        assert!(matches!(RunningProcess::find(1, 0), Err(IrreplaceableReason::FirstOfContainer)));
    }
}
