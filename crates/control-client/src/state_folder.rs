//! Traces in a state folder of the process that uses it.
//!
//! The program makes these files; commands read them. It makes nothing.

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::path::Path;

/// The file in the state folder that says where the admin API listens.
pub const ADDRESS_FILE: &str = "admin.address";
/// Held by the process that uses the folder.
pub const LOCK_FILE: &str = "lock";

/// Returns whether a process uses the folder: its lock ends with it, however it ends.
pub(crate) fn is_in_use(state: &Path) -> io::Result<bool> {
    let lock = match File::open(state.join(LOCK_FILE)) {
        // It was made on a full disk.
        Err(why) if why.kind() == io::ErrorKind::NotFound => File::open(state),
        lock => lock,
    };
    match flock(lock?, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(false),
        Err(Errno::WOULDBLOCK) => Ok(true),
        Err(error) => Err(error.into()),
    }
}
