//! Files that their owner alone may read, replaced as a whole.
//!
//! A crash leaves the old one or the new one. Used for the token and the sessions.

use durable_file::{FileReplacement, NameDurability};
use std::fs;
use std::io::{self, Read};
use std::path::Path;

/// Replaces a file, which its owner alone may read.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A folder that cannot be synced is no reason to be without a token.
    let durability = NameDurability::Tried;
    FileReplacement { durability, ..FileReplacement::private(path) }.write(bytes).map(drop)
}

/// Reads a file, of a longer one as many bytes as it may have.
pub(crate) fn read(path: &Path, bytes_max: u64) -> io::Result<String> {
    let mut text = String::new();
    fs::File::open(path)?.take(bytes_max).read_to_string(&mut text)?;
    Ok(text)
}
