//! The state folder's owner and rights, and who sees to it that Tidegate runs.

use crate::DiagnosisSubject;
use crate::finding::{CheckGroup, MachineFinding};
use sandbox::SystemAccount;
use std::fs;
use std::os::unix::fs::MetadataExt;

const GROUP: CheckGroup = CheckGroup::Owner;
/// Units, as packages and people have them.
const UNITS: [&str; 2] = ["/usr/lib/systemd/system", "/lib/systemd/system"];
const UNIT: &str = "tidegate.service";

pub(crate) fn check(subject: &DiagnosisSubject) -> Vec<MachineFinding> {
    folder(subject).into_iter().chain(supervisor(subject)).collect()
}

/// The account that Tidegate would have if it were started now.
fn account(subject: &DiagnosisSubject) -> SystemAccount {
    let present = SystemAccount::present();
    if present.uid != 0 {
        return present;
    }
    let file = &subject.plan.file;
    let group = file.group.as_deref();
    let found = match &file.user {
        Some(user) => SystemAccount::find(user, group),
        None => SystemAccount::default_of_system(group),
    };
    found.unwrap_or(present)
}

fn folder(subject: &DiagnosisSubject) -> Vec<MachineFinding> {
    let place = subject.state.display();
    let Ok(facts) = fs::metadata(&subject.state) else {
        return vec![MachineFinding::note(GROUP, format!("{place} is made at the first start"))];
    };
    if !facts.is_dir() {
        let what = format!("{place} is no folder");
        return vec![MachineFinding::obstacle(GROUP, what).remedy("name another with --state")];
    }
    let mut found = Vec::new();
    let account = account(subject);
    let is_root = SystemAccount::present().uid == 0;
    // A start by root gives it to the account.
    if facts.uid() != account.uid && !is_root && subject.running().is_none() {
        let what = format!("{place} belongs to user {}, not to {}", facts.uid(), account.name);
        found.push(MachineFinding::obstacle(GROUP, what).remedy(format!(
            "run Tidegate as that user or as root, or give the folder away: sudo chown -R {} {place}",
            account.name
        )));
    }
    let mode = facts.mode() & 0o777;
    if mode & 0o077 != 0 {
        let what = format!("{place} is open to other users (mode {mode:o})");
        let finding = MachineFinding::note(GROUP, what);
        found.push(finding.remedy(format!("chmod 700 {place}; a start does so where it may")));
    }
    if found.is_empty() {
        found.push(MachineFinding::fine(GROUP, format!("{place} is its owner's alone")));
    }
    found
}

fn supervisor(subject: &DiagnosisSubject) -> Option<MachineFinding> {
    let is_systemd = subject.machine.run.join("systemd/system").is_dir();
    if let Some(pid) = subject.running() {
        let process = subject.machine.process(pid);
        if let Some(unit) = process.unit {
            let what = format!("it runs (process {pid}) by the unit {unit}");
            return Some(MachineFinding::fine(GROUP, what));
        }
        let what =
            format!("it runs (process {pid}) without a unit, and ends with whoever started it");
        let finding = MachineFinding::note(GROUP, what);
        let remedy = "install the unit, see the manual, run as a service";
        return Some(if is_systemd { finding.remedy(remedy) } else { finding });
    }
    if !is_systemd {
        return None;
    }
    let etc = subject.machine.etc.join("systemd/system").join(UNIT);
    let has_unit =
        etc.exists() || UNITS.iter().any(|it| fs::metadata(format!("{it}/{UNIT}")).is_ok());
    has_unit.then(|| {
        MachineFinding::note(
            GROUP,
            format!("{UNIT} is installed, and nothing runs on this state folder"),
        )
        .remedy("systemctl enable --now tidegate; journalctl -u tidegate says why it ended")
    })
}
