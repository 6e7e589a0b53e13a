//! Changes as they are stored: a file each, and one with the texts that are known to be in force.
//!
//! All are for their owner alone, and replaced as a whole. It knows no rule about what is kept.

use durable_file::FileReplacement;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// File with the texts in force.
const KNOWN_FILE: &str = "known.json";
/// Largest file of this folder that is read, in bytes: some more than is written.
const FILE_BYTES_MAX: u64 = 40 << 20;

/// A change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredChange {
    pub number: u64,
    /// Moment, in milliseconds since 1970.
    pub at_ms: u64,
    pub who: String,
    pub from: Option<String>,
    pub why: String,
    pub files: Vec<StoredText>,
}

/// A file of a change, with the text that it had before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredText {
    pub path: String,
    /// None where it was no part of the configuration.
    pub before: Option<String>,
    /// True where the text was too large to be kept.
    #[serde(default)]
    pub left_out: bool,
}

/// Texts that are known to be in force, and the change that made them so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KnownTexts {
    /// Number of the last change.
    pub last: u64,
    pub files: Vec<KnownText>,
}

/// A file and its text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KnownText {
    pub path: String,
    pub text: String,
}

/// The folder.
#[derive(Clone, Debug)]
pub(crate) struct ChangeFolder(PathBuf);

impl ChangeFolder {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    fn file_of(&self, number: u64) -> PathBuf {
        self.0.join(format!("{number:010}.json"))
    }

    /// Numbers and sizes of the changes that are there, the oldest first.
    pub(crate) fn numbers(&self) -> io::Result<Vec<(u64, u64)>> {
        let entries = match fs::read_dir(&self.0) {
            Ok(entries) => entries,
            Err(why) if why.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(why) => return Err(why),
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let number = name.strip_suffix(".json").and_then(|number| number.parse().ok());
            if let Some(number) = number {
                found.push((number, entry.metadata()?.len()));
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    pub(crate) fn read(&self, number: u64) -> io::Result<StoredChange> {
        read_json(&self.file_of(number))
    }

    /// Texts in force; none where nothing was written down.
    pub(crate) fn known(&self) -> io::Result<Option<KnownTexts>> {
        match read_json(&self.0.join(KNOWN_FILE)) {
            Ok(known) => Ok(Some(known)),
            Err(why) if why.kind() == ErrorKind::NotFound => Ok(None),
            Err(why) => Err(why),
        }
    }

    /// Writes a change; says how large it is.
    pub(crate) fn write(&self, change: &StoredChange) -> io::Result<u64> {
        self.write_json(&self.file_of(change.number), change)
    }

    pub(crate) fn write_known(&self, known: &KnownTexts) -> io::Result<u64> {
        self.write_json(&self.0.join(KNOWN_FILE), known)
    }

    pub(crate) fn remove(&self, number: u64) -> io::Result<()> {
        fs::remove_file(self.file_of(number))
    }

    fn write_json(&self, path: &Path, value: &impl Serialize) -> io::Result<u64> {
        use std::os::unix::fs::DirBuilderExt;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
        let bytes = serde_json::to_vec(value).map_err(io::Error::other)?;
        FileReplacement::private(path).write(&bytes)?;
        Ok(bytes.len() as u64)
    }
}

fn read_json<T: DeserializeOwned>(path: &Path) -> io::Result<T> {
    let mut bytes = Vec::new();
    File::open(path)?.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    serde_json::from_slice(&bytes)
        .map_err(|why| io::Error::other(format!("{}: {why}", path.display())))
}
