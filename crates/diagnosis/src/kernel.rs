//! Features of the kernel that protect Tidegate or that the configuration needs.

use crate::DiagnosisSubject;
use crate::finding::{CheckGroup, MachineFinding};
use crate::surroundings::text;
use config::LandlockMode;
use vocab::Scheme;

const GROUP: CheckGroup = CheckGroup::Kernel;

pub(crate) fn check(subject: &DiagnosisSubject) -> Vec<MachineFinding> {
    let found = [landlock(subject), seccomp(subject), transparent(subject), memory(subject)];
    found.into_iter().flatten().collect()
}

fn landlock(subject: &DiagnosisSubject) -> Option<MachineFinding> {
    if subject.plan.file.landlock == LandlockMode::Off {
        return None;
    }
    let modules = text(&subject.machine.sys.join("kernel/security/lsm"))?;
    Some(if modules.trim().split(',').any(|it| it == "landlock") {
        MachineFinding::fine(GROUP, "landlock bounds what Tidegate may write")
    } else {
        let what =
            "the kernel has no landlock: what Tidegate may write is bounded by its user alone";
        MachineFinding::note(GROUP, what)
            .remedy("add landlock to the kernel's `lsm=` parameter; it is there since Linux 5.13")
    })
}

fn seccomp(subject: &DiagnosisSubject) -> Option<MachineFinding> {
    let status = text(&subject.machine.proc.join("self/status"))?;
    Some(if status.lines().any(|line| line.starts_with("Seccomp:")) {
        MachineFinding::fine(GROUP, "seccomp refuses system calls that no server needs")
    } else {
        MachineFinding::note(GROUP, "the kernel has no seccomp: all system calls stay open")
    })
}

/// Rules that hand over connections of others, where a listener takes such.
fn transparent(subject: &DiagnosisSubject) -> Option<MachineFinding> {
    let listeners = subject.plan.listen_settings();
    let (path, _) = listeners.iter().find(|(_, listen)| listen.scheme == Scheme::Tproxy)?;
    let modules = text(&subject.machine.proc.join("modules")).unwrap_or_default();
    let is_loaded = ["nft_tproxy", "xt_TPROXY"].iter().any(|it| modules.contains(it));
    // Built into the kernel it is in no list.
    Some(if is_loaded {
        MachineFinding::fine(GROUP, format!("{path}: TPROXY is loaded"))
    } else {
        let what = format!("{path}: no rule with TPROXY seems to be there");
        MachineFinding::note(GROUP, what)
            .remedy("see the manual, transparent proxy: `nft list ruleset` shows what is there")
    })
}

/// A bound on memory by the control group, which ends the process when it is met.
fn memory(subject: &DiagnosisSubject) -> Option<MachineFinding> {
    let group = text(&subject.machine.proc.join("self/cgroup"))?;
    let place = group.lines().find_map(|line| line.strip_prefix("0::/"))?.to_owned();
    let folder = subject.machine.sys.join("fs/cgroup").join(place);
    let most: u64 = text(&folder.join("memory.max"))?.trim().parse().ok()?;
    let mebibytes = most >> 20;
    let what = format!("the control group allows {mebibytes} MiB of memory");
    Some(if mebibytes >= 64 {
        MachineFinding::fine(GROUP, what)
    } else {
        MachineFinding::warning(GROUP, what)
            .remedy("raise MemoryMax= of the unit, or the container's")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::FindingSeverity;
    use crate::surroundings::tests::FakeMachine;

    #[test]
    fn features_are_read_from_where_the_kernel_tells_them() {
        let fake = FakeMachine::new(
            "kernel",
            &[
                ("sys/kernel/security/lsm", "lockdown,landlock,yama\n"),
                ("proc/self/status", "Name:\tx\nSeccomp:\t0\n"),
                ("proc/self/cgroup", "0::/a.slice\n"),
                ("sys/fs/cgroup/a.slice/memory.max", "33554432\n"),
                ("proc/modules", "nf_tables 1 2 - Live 0x0\n"),
            ],
        );
        let found = check(&fake.subject("proxy: { listen: ['tproxy://127.0.0.1:3129'] }\n"));
        let severities: Vec<_> = found.iter().map(|it| it.severity).collect();
        let expected = [
            FindingSeverity::Fine,
            FindingSeverity::Fine,
            FindingSeverity::Note,
            FindingSeverity::Warning,
        ];
        assert_eq!(severities, expected, "{found:?}");
    }
}
