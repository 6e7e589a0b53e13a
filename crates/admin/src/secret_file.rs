//! Files that their owner alone may read, replaced as a whole.
//!
//! A crash leaves the old one or the new one. Used for the tokens.

use durable_file::{FileReplacement, NameDurability};
use std::io;
use std::path::Path;

/// Replaces a file, which its owner alone may read.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A folder that cannot be synced is no reason to be without a token.
    let durability = NameDurability::Tried;
    FileReplacement { durability, ..FileReplacement::private(path) }.write(bytes).map(drop)
}
