//! The state in one file: written while it is in use, checked whole, put back at one stroke.
//!
//! An archive is a tar file under zstd: a head, then the files, then a manifest with their digests,
//! owners and modes (docs/adr/0053). Nothing of an archive is believed: paths, kinds, sizes and
//! digests are checked before a file of the state is touched. It also keeps the number of the
//! state's format ([`admit_format`]). It knows no configuration: whoever calls names the files.
//! Called by `tidegate backup` and `restore`, and by the start.

mod backup;
mod entry_path;
mod error;
mod format;
mod gather;
mod ledger_copy;
mod manifest;
mod owners;
mod restore;
mod swap;
mod unpack;

pub use backup::{BackupReport, BackupSource, CacheChoice, ConfigurationFiles, write_backup};
pub use error::{ArchiveError, HostileEntry};
pub use format::{FormatError, STATE_FORMAT, admit_format};
pub use manifest::ArchiveHead;
pub use restore::{
    ConfigurationChoice, RestoreReport, RestoreTarget, UNFINISHED_MARK, restore_archive,
};
pub use swap::{is_unfinished, leftovers};
pub use unpack::check_archive;

#[cfg(test)]
mod tests;
