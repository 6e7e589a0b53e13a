//! The way into the surroundings of a running process: its mounts, its user, what it may.
//!
//! A service manager starts a service as a user of its own and shows it a file system of its own.
//! Who is started from a root shell in its place must have neither more rights nor other files.
//! util-linux has the programs for that, which are there wherever systemd is.

use rustix::process::{Resource, Rlimit, geteuid, getrlimit, setrlimit};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Words that lead from this process to the surroundings of another, before a program's own; none
/// where both have the same.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ProcessEntry {
    words: Vec<String>,
    /// The program that enters other mounts goes to the process's folder by itself: its path means
    /// another one here.
    folder: FolderOfEntry,
}

/// Program that goes to the folder a process works in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FolderOfEntry {
    /// The one that starts the command.
    #[default]
    Starter,
    /// The entry itself.
    Entry,
}

impl ProcessEntry {
    /// The way into the surroundings of process `number`, which the user `started_as` has started.
    /// Nobody but root can enter others.
    pub(crate) fn into(number: u32, started_as: u32) -> Self {
        let mut entry = Self::default();
        if !geteuid().is_root() {
            return entry;
        }
        let mounts = |process: &str| fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
        if mounts("self") != mounts(&number.to_string()) {
            let target = format!("--target={number}");
            entry.folder = FolderOfEntry::Entry;
            entry
                .words
                .extend(["nsenter", &target, "--mount", "--root", "--wd", "--"].map(str::to_owned));
        }
        if started_as != 0 {
            let status = fs::read_to_string(format!("/proc/{number}/status")).unwrap_or_default();
            entry.words.extend(as_user(&status));
        }
        entry
    }

    /// Returns which program goes to the folder of the process.
    pub(crate) const fn folder(&self) -> FolderOfEntry {
        self.folder
    }

    /// The command that starts `program` there.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let Some((first, rest)) = self.words.split_first() else { return Command::new(program) };
        let mut command = Command::new(first);
        command.args(rest).arg(program);
        command
    }
}

/// Words that make a program run as the process with this status file does: user, groups, and the
/// capabilities that it has left.
fn as_user(status: &str) -> Vec<String> {
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.unwrap_or_default().trim()
    };
    let first = |name: &str| field(name).split_whitespace().next().unwrap_or_default().to_owned();
    let groups: Vec<&str> = field("Groups").split_whitespace().collect();
    let groups = if groups.is_empty() {
        "--clear-groups".to_owned()
    } else {
        format!("--groups={}", groups.join(","))
    };
    let bits = u64::from_str_radix(field("CapPrm"), 16).unwrap_or(0);
    let kept = (0..64).filter(|number| bits & (1 << number) != 0);
    let kept: String = std::iter::once("-all".to_owned())
        .chain(kept.map(|number| format!("+cap_{number}")))
        .collect::<Vec<_>>()
        .join(",");
    [
        "setpriv".to_owned(),
        format!("--reuid={}", first("Uid")),
        format!("--regid={}", first("Gid")),
        groups,
        format!("--inh-caps={kept}"),
        format!("--ambient-caps={kept}"),
        format!("--bounding-set={kept}"),
        "--no-new-privs".to_owned(),
        "--".to_owned(),
    ]
    .into()
}

/// Takes the limit on open files that process `number` has, where that is higher: a shell's is low.
pub(crate) fn raise_file_limit(number: u32) {
    let limits = fs::read_to_string(format!("/proc/{number}/limits")).unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let mut numbers = line.unwrap_or_default().split_whitespace().map(str::parse::<u64>);
    let (Some(Ok(current)), Some(Ok(maximum))) = (numbers.next(), numbers.next()) else { return };
    let own = getrlimit(Resource::Nofile);
    let wanted = Rlimit {
        current: Some(current.max(own.current.unwrap_or(u64::MAX))),
        maximum: Some(maximum.max(own.maximum.unwrap_or(u64::MAX))),
    };
    // Where it may not be raised, the new process says so when it needs more.
    let _ = setrlimit(Resource::Nofile, wanted);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_runs_as_the_user_with_the_groups_and_the_capabilities_that_are_left() {
        let status = "Name:\ttidegate\nUid:\t990\t990\t990\t990\nGid:\t980\t980\t980\t980\nGroups:\t980 \
                      33 \nCapPrm:\t0000000000000400\n";
        assert_eq!(
            as_user(status).join(" "),
            "setpriv --reuid=990 --regid=980 --groups=980,33 --inh-caps=-all,+cap_10 \
             --ambient-caps=-all,+cap_10 --bounding-set=-all,+cap_10 --no-new-privs --"
        );
        let none = "Uid:\t5\t5\nGid:\t6\t6\nGroups:\t\nCapPrm:\t0000000000000000\n";
        assert!(
            as_user(none).join(" ").contains("--clear-groups --inh-caps=-all --ambient-caps=-all")
        );
    }

    #[test]
    fn who_is_in_the_same_surroundings_is_started_directly() {
        let entry = ProcessEntry::into(std::process::id(), 0);
        assert_eq!(entry, ProcessEntry::default());
        assert_eq!(entry.command(Path::new("/bin/true")).get_program(), "/bin/true");
    }
}
