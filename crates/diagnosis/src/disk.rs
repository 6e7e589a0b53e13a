//! Room on the disks of the state folder and of the caches.

use crate::DiagnosisSubject;
use crate::finding::{CheckGroup, MachineFinding};
use rustix::fs::{StatVfs, StatVfsMountFlags, statvfs};
use std::fs;
use std::path::Path;

const GROUP: CheckGroup = CheckGroup::Disk;
/// Room below which the ledger does not begin, and little else can be kept.
const ROOM_MIN: u64 = 64 << 20;
/// Share of files left below which a disk counts as full.
const FILES_MIN: u64 = 100;
/// Files of a cache that are added up, at most.
const FILES_MAX: usize = 100_000;

pub(crate) fn check(subject: &DiagnosisSubject) -> Vec<MachineFinding> {
    let state = of_state(&subject.state);
    let caches = subject.cache_folders().into_iter().filter_map(|(setting, folder, size)| {
        let disk = disk_of(&folder)?;
        let used = used(&folder);
        let room = room(&disk) + used;
        let what = format!(
            "{setting}: {} may take {}, of which {} are used and {} are free",
            folder.display(),
            RoundedBytes(size),
            RoundedBytes(used),
            RoundedBytes(room - used)
        );
        Some(if room >= size {
            MachineFinding::fine(GROUP, what)
        } else {
            MachineFinding::warning(GROUP, what).remedy(format!(
                "make room, name a folder on another disk under {setting}.path, or write {} under \
                 {setting}.size",
                RoundedBytes(room / 10 * 8)
            ))
        })
    });
    state.into_iter().chain(caches).collect()
}

fn of_state(state: &Path) -> Option<MachineFinding> {
    let disk = disk_of(state)?;
    let free = room(&disk);
    let place = state.display();
    if disk.f_flag.contains(StatVfsMountFlags::RDONLY) {
        let what = format!("the disk of the state folder {place} can only be read");
        return Some(
            MachineFinding::obstacle(GROUP, what)
                .remedy("mount it for writing, or name another folder with --state or state_dir"),
        );
    }
    let is_out_of_files = disk.f_files > 0 && disk.f_favail < FILES_MIN;
    let what = format!("the state folder {place} has {} free", RoundedBytes(free));
    Some(if free < ROOM_MIN {
        MachineFinding::obstacle(GROUP, what)
            .remedy("make room, or name a folder on another disk with --state or state_dir")
    } else if is_out_of_files {
        let what = format!("the disk of {place} has room for {} more files", disk.f_favail);
        MachineFinding::obstacle(GROUP, what).remedy("remove files there, or name another folder")
    } else {
        MachineFinding::fine(GROUP, what)
    })
}

/// The disk of a folder that may not be there yet.
fn disk_of(folder: &Path) -> Option<StatVfs> {
    let here = Path::new(".");
    let named = |path: &&Path| !path.as_os_str().is_empty();
    let above = folder.ancestors().filter(named).find(|it| it.exists()).unwrap_or(here);
    statvfs(above).ok()
}

fn room(disk: &StatVfs) -> u64 {
    disk.f_bavail.saturating_mul(disk.f_frsize)
}

/// Bytes of the files in a folder, not below it: segments of a cache.
fn used(folder: &Path) -> u64 {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().take(FILES_MAX);
    files.filter_map(|file| Some(file.metadata().ok()?.len())).sum()
}

/// Bytes for people.
struct RoundedBytes(u64);

impl std::fmt::Display for RoundedBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mebibytes = self.0 >> 20;
        if mebibytes >= 10 << 10 {
            return write!(f, "{}GiB", mebibytes >> 10);
        }
        write!(f, "{mebibytes}MiB")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::FindingSeverity;
    use crate::surroundings::tests::FakeMachine;

    #[test]
    fn a_cache_that_does_not_fit_its_disk_is_told() {
        let fake = FakeMachine::new("disk", &[]);
        let yaml = |size: &str| {
            format!(
                "proxy: {{ listen: ['http://127.0.0.1:3128'], cache: {{ disk: {{ path: {}, size: \
                 {size} }} }} }}\n",
                std::env::temp_dir().join("tidegate-no-such-cache").display()
            )
        };
        let told = |size: &str| check(&fake.subject(&yaml(size))).pop().unwrap();
        assert_eq!(told("16MiB").severity, FindingSeverity::Fine);
        let large = told("4TiB");
        assert_eq!(large.severity, FindingSeverity::Warning, "{large:?}");
        assert!(large.remedy.unwrap().contains("proxy.cache.disk.size"));
    }
}
