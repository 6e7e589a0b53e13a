//! Places where the system tells of itself, and processes as they are found there.
//!
//! It reads files and changes none. Tests put folders of their own in place of the system's.

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Bytes that are read of a file in `/proc` or `/etc`, at most.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// Processes that are looked through for who holds a socket, at most.
const PROCESSES_MAX: usize = 65_536;

/// Places where the system tells of itself.
#[derive(Clone, Debug)]
pub struct MachineFolders {
    /// `/proc`.
    pub proc: PathBuf,
    /// `/etc`.
    pub etc: PathBuf,
    /// `/run`.
    pub run: PathBuf,
    /// `/sys`.
    pub sys: PathBuf,
}

/// A process of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedProcess {
    pub(crate) pid: u32,
    pub(crate) name: String,
    /// The unit of systemd that it belongs to.
    pub(crate) unit: Option<String>,
}

impl Default for MachineFolders {
    fn default() -> Self {
        let [proc, etc, run, sys] = ["/proc", "/etc", "/run", "/sys"].map(PathBuf::from);
        Self { proc, etc, run, sys }
    }
}

/// The text of a file, as far as it can be read.
pub(crate) fn text(path: &Path) -> Option<String> {
    use std::io::Read;
    let mut text = String::new();
    fs::File::open(path).ok()?.take(FILE_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

/// True if a process holds the lock of a file (flock(2)).
pub(crate) fn is_locked(file: &Path) -> bool {
    let Ok(file) = fs::File::open(file) else { return false };
    flock(&file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK)
}

impl MachineFolders {
    /// A figure of `/proc/sys`, by its name with slashes.
    pub(crate) fn figure(&self, name: &str) -> Option<u64> {
        text(&self.proc.join("sys").join(name))?.split_whitespace().next()?.parse().ok()
    }

    /// The process that has locked a file (flock(2)).
    pub(crate) fn lock_holder(&self, file: &Path) -> Option<u32> {
        let inode = fs::metadata(file).ok()?.ino().to_string();
        let locks = text(&self.proc.join("locks"))?;
        locks.lines().find_map(|line| {
            // 1: FLOCK  ADVISORY  WRITE 4711 08:02:1234567 0 EOF
            let mut words = line.split_whitespace().skip(1);
            let (kind, _, mode) = (words.next()?, words.next()?, words.next()?);
            let (pid, place) = (words.next()?, words.next()?);
            let is_ours = kind == "FLOCK" && mode == "WRITE";
            (is_ours && place.rsplit(':').next() == Some(&*inode)).then(|| pid.parse().ok())?
        })
    }

    /// A process by its number.
    pub(crate) fn process(&self, pid: u32) -> NamedProcess {
        let folder = self.proc.join(pid.to_string());
        let name = text(&folder.join("comm")).unwrap_or_default().trim().to_owned();
        let groups = text(&folder.join("cgroup")).unwrap_or_default();
        let unit = groups.lines().find_map(|line| {
            let unit = line.rsplit('/').next()?;
            unit.ends_with(".service").then(|| unit.to_owned())
        });
        NamedProcess { pid, name, unit }
    }

    /// Processes that hold a socket with this inode. Those of other users are hidden from all but
    /// root.
    pub(crate) fn socket_holders(&self, inode: u64) -> Vec<NamedProcess> {
        let wanted = format!("socket:[{inode}]");
        let holds = |pid: &u32| {
            let open = fs::read_dir(self.proc.join(pid.to_string()).join("fd"));
            open.into_iter()
                .flatten()
                .flatten()
                .any(|entry| fs::read_link(entry.path()).is_ok_and(|to| to.as_os_str() == &*wanted))
        };
        self.numbers().filter(holds).map(|pid| self.process(pid)).collect()
    }

    /// A process of this name, whoever's it is, but for our own.
    pub(crate) fn process_named(&self, name: &str) -> Option<NamedProcess> {
        let own = std::process::id();
        let mut all = self.numbers().filter(|pid| *pid != own).map(|pid| self.process(pid));
        all.find(|process| process.name == name)
    }

    fn numbers(&self) -> impl Iterator<Item = u32> {
        let entries = fs::read_dir(&self.proc).into_iter().flatten().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        numbers.take(PROCESSES_MAX)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
pub(crate) mod tests {
    use super::*;

    /// A folder that stands in for the machine's, removed at the end.
    pub(crate) struct FakeMachine(pub(crate) MachineFolders, PathBuf);

    impl FakeMachine {
        pub(crate) fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let root = std::env::temp_dir();
            let root = root.join(format!("tidegate-machine-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&root);
            for (name, text) in files {
                let file = root.join(name);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, text).unwrap();
            }
            let [proc, etc, run, sys] = ["proc", "etc", "run", "sys"].map(|it| root.join(it));
            Self(MachineFolders { proc, etc, run, sys }, root)
        }

        pub(crate) fn subject(&self, yaml: &str) -> crate::DiagnosisSubject {
            let plan = config::parse(yaml, Path::new("tidegate.yaml")).unwrap();
            let (state, machine) = (self.1.join("state"), self.0.clone());
            crate::DiagnosisSubject { plan, state, machine }
        }
    }

    impl Drop for FakeMachine {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.1);
        }
    }

    #[test]
    fn who_holds_a_lock_is_found_by_the_file() {
        let fake = FakeMachine::new("lock", &[("state/lock", ""), ("proc/x", "")]);
        let lock = fake.1.join("state/lock");
        let inode = fs::metadata(&lock).unwrap().ino();
        let line = format!(
            "1: POSIX  ADVISORY  WRITE 7 08:02:{inode} 0 EOF\n2: FLOCK  ADVISORY  WRITE 4711 \
             08:02:{inode} 0 EOF\n"
        );
        fs::write(fake.0.proc.join("locks"), line).unwrap();
        assert_eq!(fake.0.lock_holder(&lock), Some(4711));
        assert_eq!(fake.0.lock_holder(Path::new("/nowhere")), None);
    }
}
