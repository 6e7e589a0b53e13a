//! Digests as names of files.

use std::fmt::Write as _;

/// Bytes as text, for the name of a file.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a String takes everything");
        text
    })
}
