//! Files that their owner alone may read, replaced as a whole.
//!
//! A crash leaves the old one or the new one. Used for the token and the sessions.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Replaces a file: written beside it with mode 0600, synced, renamed.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let aside = Path::new(&name);
    match fs::remove_file(aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(aside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(aside, path)
}

/// Reads a file, of a longer one as many bytes as it may have.
pub(crate) fn read(path: &Path, bytes_max: u64) -> io::Result<String> {
    let mut text = String::new();
    fs::File::open(path)?.take(bytes_max).read_to_string(&mut text)?;
    Ok(text)
}
