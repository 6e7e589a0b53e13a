//! Account of an archive of itself: a head before the files, a manifest behind them.

use crate::owners::FileOwner;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Number of the archive's own form.
pub(crate) const ARCHIVE_FORMAT: u32 = 1;
/// Names of the entries; neither is a path of a file.
pub(crate) const HEAD_NAME: &str = "tidegate-backup.json";
pub(crate) const MANIFEST_NAME: &str = "manifest.json";
/// Bytes of either, at most.
pub(crate) const HEAD_BYTES_MAX: u64 = 64 << 10;
pub(crate) const MANIFEST_BYTES_MAX: u64 = 64 << 20;

/// The first entry: whose backup this is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveHead {
    /// Number of the archive's form.
    pub archive_format: u32,
    /// Number of the state's format.
    pub state_format: u32,
    /// The version of Tidegate that made it.
    pub version: String,
    /// The time, as RFC 3339 has it.
    pub made: String,
    /// The state folder that it was made of.
    pub state: PathBuf,
    /// The configuration file; none where the built-in one ran.
    pub configuration: Option<PathBuf>,
}

/// The last entry: every file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ArchiveManifest {
    pub(crate) files: Vec<ArchivedFile>,
}

/// A file or folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ArchivedFile {
    /// Name in the archive.
    pub(crate) path: String,
    /// Permission bits.
    pub(crate) mode: u32,
    pub(crate) owner: FileOwner,
    /// Length and digest; none for a folder.
    pub(crate) content: Option<FileContent>,
}

/// The bytes of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileContent {
    pub(crate) bytes: u64,
    /// In hexadecimal digits.
    pub(crate) sha256: String,
}

/// Digest in hexadecimal digits.
pub(crate) fn hex(digest: &[u8]) -> String {
    use std::fmt::Write;
    digest.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a String takes everything");
        text
    })
}
