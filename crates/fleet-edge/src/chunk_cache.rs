//! Chunks that this machine has had, so that a revision brings only what is new.
//!
//! They are kept as they were sent, and verified again whenever they are read: a file that a power
//! cut has spoilt is fetched again.

use durable_file::{DraftName, FileAccess, FileReplacement, NameDurability};
use fleet_bundle::{ContentDigest, read_chunk};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Chunks in a folder.
pub(crate) struct ChunkCache {
    folder: PathBuf,
}

impl ChunkCache {
    /// The one in the fleet's folder.
    pub(crate) fn open(fleet: &Path) -> io::Result<Self> {
        let folder = fleet.join("chunks");
        fs::create_dir_all(&folder)?;
        Ok(Self { folder })
    }

    /// Content of a chunk; none that is not here, or not as it should be.
    pub(crate) fn read(&self, digest: &ContentDigest, size: u32) -> Option<Vec<u8>> {
        let bytes = fs::read(self.folder.join(digest.to_string())).ok()?;
        read_chunk(&bytes, digest, size).ok()
    }

    /// Keeps a chunk as it was sent.
    pub(crate) fn write(&self, digest: &ContentDigest, bytes: &[u8]) -> io::Result<()> {
        let path = self.folder.join(digest.to_string());
        let file = FileReplacement {
            path: &path,
            access: FileAccess::Private,
            draft: DraftName::New,
            durability: NameDurability::Left,
        };
        file.write(bytes).map(drop)
    }

    /// Removes all chunks but these.
    pub(crate) fn keep_only(&self, wanted: &BTreeSet<ContentDigest>) -> io::Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let digest = entry.file_name().to_str().and_then(|it| it.parse().ok());
            if digest.is_none_or(|it: ContentDigest| !wanted.contains(&it)) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }
}
