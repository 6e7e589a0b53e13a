//! The state folder: made on first use, readable by its owner alone, used by one process.
//!
//! [`StateDir`] holds its lock, and looks after the format and the rights of what is in it; a
//! folder in use, of another format, or half restored is refused. Called by the binary, and by
//! commands that work where nothing runs.

#[macro_use]
extern crate command_output;

use admin::AdminToken;
pub use control_client::ADDRESS_FILE;
use control_client::LOCK_FILE;
use durable_file::{FileReplacement, NameDurability};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use signer::CaCertificate;
use state_archive::FormatError;
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The socket in the state folder at which the next process asks for this one's place.
pub const UPGRADE_SOCKET: &str = "upgrade.socket";
/// Number of times, and time, that a start waits for commands that look whether the lock is held.
const LOOKS_MAX: u32 = 10;
const LOOK: Duration = Duration::from_millis(10);
/// Time for which a process whose place was not taken waits for the folder.
const TAKE_AGAIN_MAX: Duration = Duration::from_secs(10);
/// Names in the folder that are ours, and beginnings of such names.
const OWN_NAMES: [&str; 7] =
    ["ca", "config-history", "dns-cache", "format", "lists", UPGRADE_SOCKET, LOCK_FILE];
const OWN_PREFIXES: [&str; 9] = [
    "admin.",
    "allows.",
    "dashboard.",
    "fleet-live.",
    "ledger.",
    "own-rules.",
    "policy.",
    ".replaced-",
    ".restore-draft",
];
/// Names in it that are for everybody: the authority's certificate.
const PUBLIC: [&str; 1] = ["ca.pem"];
/// Folders within folders that are looked at, and files in all of them, at most.
const DEPTH_MAX: u32 = 3;
const FILES_MAX: usize = 10_000;

/// The folder, and the lock that says it is in use; freed when this is dropped.
#[derive(Debug)]
pub struct StateDir {
    path: PathBuf,
    /// None while another process takes this one's place.
    lock: Mutex<Option<File>>,
}

/// Reasons why the folder cannot be used.
#[derive(Debug)]
pub enum StateError {
    /// Cannot be made or written.
    NotWritable(PathBuf, io::Error),
    /// Another Tidegate uses it.
    InUse(PathBuf),
    /// A restore into it was cut off.
    Unfinished(PathBuf),
    /// Another format than ours.
    Format(FormatError),
}

impl StateDir {
    /// Makes the folder if need be (mode 0700) and takes its lock.
    pub fn open(path: &Path) -> Result<Self, StateError> {
        let failed = |error| StateError::NotWritable(path.into(), error);
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600);
        let lock = match options.open(path.join(LOCK_FILE)) {
            // Nobody else can have made the file either: the folder itself is locked.
            Err(why) if why.kind() == io::ErrorKind::StorageFull => File::open(path),
            lock => lock,
        };
        let lock = lock.map_err(failed)?;
        let mut taken = flock(&lock, FlockOperation::NonBlockingLockExclusive);
        for _ in 0..LOOKS_MAX {
            if taken != Err(Errno::WOULDBLOCK) {
                break;
            }
            // A command that looks whether it is held holds it for a moment.
            std::thread::sleep(LOOK);
            taken = flock(&lock, FlockOperation::NonBlockingLockExclusive);
        }
        match taken {
            Ok(()) if state_archive::is_unfinished(path) => {
                Err(StateError::Unfinished(path.into()))
            }
            Ok(()) => {
                for kept in state_archive::admit_format(path).map_err(StateError::Format)? {
                    println!("the ledger of an earlier version was kept as {}", kept.display());
                }
                // What one that was killed has left says where somebody else may listen by now.
                drop(std::fs::remove_file(path.join(ADDRESS_FILE)));
                restrict_to_owner(path);
                Ok(Self { path: path.into(), lock: Mutex::new(Some(lock)) })
            }
            Err(Errno::WOULDBLOCK) => Err(StateError::InUse(path.into())),
            Err(error) => Err(failed(error.into())),
        }
    }

    /// Leaves the folder to the process that takes this one's place.
    pub fn release(&self) {
        *self.lock.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Takes the folder again, where none has come in this one's place. One that gives up holds it
    /// until it has ended.
    pub fn take_again(&self) {
        let end = Instant::now() + TAKE_AGAIN_MAX;
        let taken = loop {
            match Self::open(&self.path) {
                Err(StateError::InUse(_)) if Instant::now() < end => std::thread::sleep(LOOK),
                taken => break taken,
            }
        };
        match taken {
            Ok(Self { lock, .. }) => {
                let taken = lock.into_inner().unwrap_or_else(PoisonError::into_inner);
                *self.lock.lock().unwrap_or_else(PoisonError::into_inner) = taken;
            }
            Err(why) => log::error!(target: "program", "{why}"),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Takes the rights to the folder and to our files in it away from everybody but their owner:
/// somebody else, or an earlier version, may have made them. A folder with other files in it, such
/// as one that was named by mistake, keeps its own rights. Best effort: what is another user's
/// stays as it is.
fn restrict_to_owner(state: &Path) {
    let mut is_shared = false;
    let mut left = Vec::new();
    for entry in std::fs::read_dir(state).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let begins = OWN_PREFIXES.iter().any(|ours| name.starts_with(ours));
        if begins || OWN_NAMES.contains(&name.as_str()) {
            left.push((entry.path(), 0));
        } else if name != "www" && !name.contains("cache") {
            // Neither the built-in site nor the disk tier of a cache, which sees to its own rights.
            is_shared = true;
        }
    }
    if !is_shared {
        close(state);
    }
    let mut files = 0;
    while let Some((path, depth)) = left.pop() {
        files += 1;
        let is_public = PUBLIC.iter().any(|public| path.ends_with(public));
        let Ok(facts) = path.symlink_metadata() else { continue };
        if is_public || facts.is_symlink() || files > FILES_MAX {
            continue;
        }
        if facts.is_file() {
            close(&path);
        } else if facts.is_dir() && depth < DEPTH_MAX {
            let entries = std::fs::read_dir(&path).into_iter().flatten().flatten();
            left.extend(entries.map(|entry| (entry.path(), depth + 1)));
        }
    }
}

fn close(path: &Path) {
    let Ok(facts) = path.metadata() else { return };
    let mode = facts.mode() & 0o7777;
    if mode & 0o077 != 0 && facts.uid() == rustix::process::geteuid().as_raw() {
        // On a file system that cannot be written it stays as it is.
        drop(std::fs::set_permissions(path, Permissions::from_mode(mode & !0o077)));
    }
}

/// Faults of what stands in a state folder: Tidegate would run without these.
pub fn problems(state: &Path) -> Vec<String> {
    let authority = CaCertificate::find_error(&state.join("ca")).map(|why| why.to_string());
    let token = AdminToken::find_error(state).map(|why| why.to_string());
    authority.into_iter().chain(token).collect()
}

/// Replaces a file as a whole, readable by its owner alone: a reader, or a crash, sees the old one
/// or the new one.
pub fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let durability = NameDurability::Left;
    FileReplacement { durability, ..FileReplacement::private(path) }.write(bytes).map(drop)
}

impl std::fmt::Display for StateError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotWritable(path, error) => write!(
                f,
                "the state folder {} cannot be written: {error}; name another with --state DIR",
                path.display()
            ),
            Self::InUse(path) => write!(
                f,
                "the state folder {} is in use by a running Tidegate; stop that one, or name \
                 another folder with --state DIR",
                path.display()
            ),
            Self::Unfinished(path) => write!(
                f,
                "a restore into the state folder {} was cut off, and it is neither old nor new; run \
                 tidegate restore again",
                path.display()
            ),
            Self::Format(why) => why.fmt(f),
        }
    }
}
