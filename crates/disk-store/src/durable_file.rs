//! Files of a store: who may open them, and how one is replaced so that no crash leaves half of it.
//!
//! It knows nothing of their contents. Used by the folder and by the log of purges.

use durable_file::FileReplacement;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a file of ours for reading and writing: nobody else's business.
pub(crate) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    options
}

/// Writes `name` so that after a crash there is either the old file or the new one, whole.
pub(crate) fn replace(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<File> {
    FileReplacement::private(&folder.join(name)).write(bytes)
}
