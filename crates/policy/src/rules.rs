//! Compiled rules.

use crate::report::ListReport;
use std::fmt;

/// Compiled lists.
#[derive(Debug, Default)]
pub struct Rules {
    pub(crate) lists: Vec<ListReport>,
}

/// What the rules cost, in bytes of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Memory {
    /// How many rules about plain names there are.
    pub names: u64,
    /// Bytes of the table of names.
    pub names_bytes: u64,
    /// How many rules with patterns or modifiers there are.
    pub patterns: u64,
    /// Bytes of those, with their texts and indexes.
    pub patterns_bytes: u64,
    /// Bytes of the list reports.
    pub reports_bytes: u64,
}

/// Why bytes are no snapshot of the rules wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotError {
    /// The bytes are no snapshot at all.
    NotASnapshot,
    /// Made by another version of the program.
    Version,
    /// Made from other lists.
    OtherLists,
    /// Cut off or changed.
    Damaged,
}

impl Rules {
    /// What each list holds, in the order given to `compile`.
    pub fn lists(&self) -> &[ListReport] {
        &self.lists
    }

    /// What the rules cost.
    pub fn memory(&self) -> Memory {
        Memory::default()
    }

    /// The rules as bytes, for the next start. `key` identifies what they were compiled from.
    pub fn to_snapshot(&self, key: [u8; 32]) -> Vec<u8> {
        key.to_vec()
    }

    /// The rules that `to_snapshot` wrote under the same key. Any other bytes are an error.
    pub fn from_snapshot(bytes: &[u8], key: [u8; 32]) -> Result<Self, SnapshotError> {
        if bytes == key { Ok(Self::default()) } else { Err(SnapshotError::NotASnapshot) }
    }
}

impl Memory {
    /// Bytes of memory for a name.
    pub fn bytes_per_name(&self) -> f64 {
        if self.names == 0 { 0.0 } else { self.names_bytes as f64 / self.names as f64 }
    }

    /// All of it.
    pub fn total(&self) -> u64 {
        self.names_bytes + self.patterns_bytes + self.reports_bytes
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |bytes: u64| bytes as f64 / 1_048_576.0;
        write!(
            f,
            "{:.1} MiB: {} names in {:.1} MiB ({:.1} bytes a name), {} patterns in {:.1} MiB",
            mib(self.total()),
            self.names,
            mib(self.names_bytes),
            self.bytes_per_name(),
            self.patterns,
            mib(self.patterns_bytes)
        )
    }
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotASnapshot => "the file is no snapshot of compiled lists",
            Self::Version => "the snapshot was made by another version",
            Self::OtherLists => "the snapshot is of other lists",
            Self::Damaged => "the snapshot is damaged",
        })
    }
}

impl std::error::Error for SnapshotError {}
