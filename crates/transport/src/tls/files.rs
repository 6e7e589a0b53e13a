//! Certificates as files: read once, then watched, so that a renewed one is served without a
//! reload.
//!
//! A change is taken over when the files have stayed the same for one look, so that a certificate
//! whose key follows a moment later is not taken for a mistake; what cannot be used changes nothing
//! and is said once. It chooses no file and writes none. Made by the doors on start and reload.

use super::{BadPem, ServerIdentity};
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Bytes of a file of certificates or of a key, at most: some hundred times what a chain has.
pub const PEM_FILE_BYTES_MAX: u64 = 1 << 20;

/// Interval at which watched files are looked at: two calls of `stat` each, 4 ms a minute for 100.
pub const FILES_LOOK_EVERY: Duration = Duration::from_secs(2);

/// Where a certificate and its key are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityFiles {
    /// The chain, leaf first, in PEM.
    pub chain: PathBuf,
    /// The leaf's private key, in PEM.
    pub key: PathBuf,
}

/// Why files give no identity.
#[derive(Debug)]
pub enum FilesError {
    /// One cannot be read.
    Read(PathBuf, io::Error),
    /// The two are no certificate with its key.
    Pem(IdentityFiles, BadPem),
}

/// An identity with the files that it was read from.
#[derive(Debug)]
pub struct WatchedIdentity {
    files: IdentityFiles,
    identity: ServerIdentity,
    /// The files as they were when the identity was read.
    served: Stamps,
    /// The files at the last look.
    seen: Stamps,
}

/// State of a file: device, inode, bytes, and its last change in seconds and nanoseconds.
type Stamp = (u64, u64, u64, i64, i64);
type Stamps = [Option<Stamp>; 2];

/// Outcome of a change of files.
#[derive(Debug)]
pub enum FilesNews {
    /// New handshakes get the new certificate.
    Renewed(IdentityFiles),
    /// The new files cannot be used; the old certificate goes on.
    KeptOld(FilesError),
}

/// Looks at files from a thread of its own, until it is dropped.
#[derive(Debug)]
pub struct FilesWatch {
    _until_dropped: Sender<()>,
}

/// Files that only root could read, as they were at the start: path and bytes.
static HELD: Mutex<Vec<(PathBuf, Vec<u8>)>> = Mutex::new(Vec::new());

/// Keeps what the file says for when this process is not root any more; [`read_pem`] falls back on
/// it where the file is closed to it.
pub fn cache_pem(path: &Path) -> Result<(), FilesError> {
    let bytes = read_now(path)?;
    HELD.lock().unwrap_or_else(PoisonError::into_inner).push((path.into(), bytes));
    Ok(())
}

/// The bytes of a file in PEM, which is no longer than [`PEM_FILE_BYTES_MAX`].
pub fn read_pem(path: &Path) -> Result<Vec<u8>, FilesError> {
    let failed = match read_now(path) {
        Err(FilesError::Read(path, why)) if why.kind() == io::ErrorKind::PermissionDenied => {
            FilesError::Read(path, why)
        }
        outcome => return outcome,
    };
    let held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    held.iter().find(|(held, _)| held == path).map(|(_, bytes)| bytes.clone()).ok_or(failed)
}

/// The bytes of a file as it is now.
fn read_now(path: &Path) -> Result<Vec<u8>, FilesError> {
    let failed = |why| FilesError::Read(path.into(), why);
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(PEM_FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > PEM_FILE_BYTES_MAX {
        return Err(failed(io::Error::other("it is over 1 MiB, too long for a certificate")));
    }
    Ok(bytes)
}

impl IdentityFiles {
    /// Reads both files.
    pub fn load(&self) -> Result<ServerIdentity, FilesError> {
        self.load_by(read_pem)
    }

    fn load_by(
        &self,
        read: impl Fn(&Path) -> Result<Vec<u8>, FilesError>,
    ) -> Result<ServerIdentity, FilesError> {
        let pem = ServerIdentity::from_pem(&read(&self.chain)?, &read(&self.key)?);
        pem.map_err(|why| FilesError::Pem(self.clone(), why))
    }

    fn stamps(&self) -> Stamps {
        // Through links: renewal often exchanges the file that a link leads to.
        [&self.chain, &self.key].map(|path| {
            let it = std::fs::metadata(path).ok()?;
            Some((it.dev(), it.ino(), it.size(), it.mtime(), it.mtime_nsec()))
        })
    }
}

impl WatchedIdentity {
    /// Reads both files and remembers what they were like.
    pub fn open(files: IdentityFiles) -> Result<Self, FilesError> {
        // Looked at before they are read: a change in between is seen at the next look.
        let stamps = files.stamps();
        let identity = files.load()?;
        Ok(Self { files, identity, served: stamps, seen: stamps })
    }

    /// The identity, which follows the files while they are watched.
    pub fn identity(&self) -> &ServerIdentity {
        &self.identity
    }

    fn look(&mut self) -> Option<FilesNews> {
        let now = self.files.stamps();
        if now != self.seen || now == self.served {
            self.seen = now;
            return None;
        }
        self.served = now;
        // What was held since the start is not what has changed.
        Some(match self.files.load_by(read_now) {
            Ok(fresh) => {
                self.identity.replace_with(&fresh);
                FilesNews::Renewed(self.files.clone())
            }
            Err(why) => FilesNews::KeptOld(why),
        })
    }
}

impl FilesWatch {
    /// Looks at `watched` every [`FILES_LOOK_EVERY`] and tells what came of changes. The thread
    /// ends soon after this is dropped.
    pub fn start(
        mut watched: Vec<WatchedIdentity>,
        tell: impl Fn(&FilesNews) + Send + 'static,
    ) -> io::Result<Self> {
        let (until_dropped, dropped) = channel::<()>();
        std::thread::Builder::new().name("certificates".into()).spawn(move || {
            while dropped.recv_timeout(FILES_LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                watched.iter_mut().filter_map(WatchedIdentity::look).for_each(|news| tell(&news));
            }
        })?;
        Ok(Self { _until_dropped: until_dropped })
    }
}

impl fmt::Display for FilesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(path, why) => write!(
                f,
                "cannot read {}: {why}; correct the path, or give this user the right to read it",
                path.display()
            ),
            Self::Pem(files, why) => write!(
                f,
                "{} and {} are no certificate with its key: {why}; give the chain in PEM, leaf \
                 first, and the leaf's private key",
                files.chain.display(),
                files.key.display()
            ),
        }
    }
}

impl std::error::Error for FilesError {}

impl fmt::Display for FilesNews {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Renewed(files) => {
                write!(f, "{} has changed and is served now", files.chain.display())
            }
            Self::KeptOld(why) => write!(f, "the certificate from before is kept: {why}"),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    struct Folder(PathBuf);
    impl Folder {
        fn new(test: &str) -> Self {
            let name = format!("tidegate-files-{}-{test}", std::process::id());
            let path = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&path).unwrap();
            Self(path)
        }
        fn files(&self) -> IdentityFiles {
            IdentityFiles { chain: self.0.join("a.pem"), key: self.0.join("a.key") }
        }
        /// Writes a new pair over the files; a new inode each time, as `mv` makes.
        fn write(&self, what: &[&str]) {
            let pair = rcgen::generate_simple_self_signed(["a.test".to_owned()]).unwrap();
            for (name, text) in
                [("a.pem", pair.cert.pem()), ("a.key", pair.signing_key.serialize_pem())]
            {
                if what.contains(&name) {
                    std::fs::write(self.0.join("new"), text).unwrap();
                    std::fs::rename(self.0.join("new"), self.0.join(name)).unwrap();
                }
            }
        }
    }
    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    const BOTH: &[&str] = &["a.pem", "a.key"];

    #[test]
    fn a_change_is_taken_over_when_it_has_settled() {
        let folder = Folder::new("settled");
        folder.write(BOTH);
        let mut watched = WatchedIdentity::open(folder.files()).unwrap();
        assert!(watched.look().is_none());
        folder.write(BOTH);
        let before = watched.identity().leaf();
        assert!(watched.look().is_none(), "it may still be half written");
        assert!(matches!(watched.look(), Some(FilesNews::Renewed(_))));
        assert_ne!(before, watched.identity().leaf());
        assert!(watched.look().is_none());
    }

    #[test]
    fn a_key_that_comes_later_is_no_mistake() {
        let folder = Folder::new("later");
        folder.write(BOTH);
        let mut watched = WatchedIdentity::open(folder.files()).unwrap();
        folder.write(&["a.pem"]);
        assert!(watched.look().is_none());
        folder.write(BOTH);
        assert!(watched.look().is_none());
        assert!(matches!(watched.look(), Some(FilesNews::Renewed(_))));
    }

    #[test]
    fn what_cannot_be_used_is_said_once_and_changes_nothing() {
        let folder = Folder::new("kept");
        folder.write(BOTH);
        let mut watched = WatchedIdentity::open(folder.files()).unwrap();
        let before = watched.identity().leaf();
        folder.write(&["a.pem"]);
        assert!(watched.look().is_none());
        let news = watched.look().unwrap();
        assert!(matches!(news, FilesNews::KeptOld(FilesError::Pem(..))), "{news}");
        assert!(news.to_string().contains("a.pem and "), "{news}");
        assert!(watched.look().is_none());
        std::fs::remove_file(folder.files().chain).unwrap();
        assert!(watched.look().is_none());
        assert!(matches!(watched.look(), Some(FilesNews::KeptOld(FilesError::Read(..)))));
        assert_eq!(before, watched.identity().leaf());
        folder.write(BOTH);
        assert!(watched.look().is_none());
        assert!(matches!(watched.look(), Some(FilesNews::Renewed(_))));
    }

    #[test]
    fn a_file_of_no_end_is_not_read() {
        let endless = read_pem(Path::new("/dev/zero")).unwrap_err();
        assert!(endless.to_string().contains("over 1 MiB"), "{endless}");
    }
}
