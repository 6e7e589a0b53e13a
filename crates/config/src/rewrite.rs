//! A configuration's file replaced by another text, as a whole.
//!
//! It is written beside the file, with the file's owner and mode, synced, and renamed: a reader or
//! a crash sees the old one or the new one. What cannot be kept so is refused, and nothing changed.

use durable_file::{DraftName, FileAccess, FileReplacement, NameDurability};
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Why a file is not replaced.
#[derive(Debug)]
pub enum RewriteError {
    /// Somebody has changed it since it was read.
    Changed(PathBuf),
    /// Reading fails.
    Unreadable(PathBuf, io::Error),
    /// Writing the folder fails, or giving the file to its owner.
    Unwritable(PathBuf, io::Error),
}

/// Replaces a file that has the old text by one that has the new.
pub fn rewrite(path: &Path, old: &str, new: &str) -> Result<(), RewriteError> {
    let unreadable = |why| RewriteError::Unreadable(path.into(), why);
    let unwritable = |why| RewriteError::Unwritable(path.into(), why);
    // A link stays one.
    let path = &path.canonicalize().map_err(unreadable)?;
    let file = File::open(path).map_err(unreadable)?;
    let facts = file.metadata().map_err(unreadable)?;
    let mut found = Vec::new();
    file.take(old.len() as u64 + 1).read_to_end(&mut found).map_err(unreadable)?;
    if found != old.as_bytes() {
        return Err(RewriteError::Changed(path.clone()));
    }
    let replacement = FileReplacement {
        path,
        access: FileAccess::Of(&facts),
        draft: DraftName::New,
        durability: NameDurability::Tried,
    };
    replacement.write(new.as_bytes()).map(drop).map_err(unwritable)
}

impl fmt::Display for RewriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed(path) => {
                write!(f, "{} was changed since it was loaded", path.display())
            }
            Self::Unreadable(path, why) => write!(f, "{} cannot be read: {why}", path.display()),
            Self::Unwritable(path, why) => {
                write!(f, "{} cannot be replaced: {why}", path.display())
            }
        }
    }
}

impl std::error::Error for RewriteError {}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("rewrite-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&folder));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_file_keeps_its_mode_and_a_link_to_it_stays_one() {
        let folder = folder("mode");
        let (file, link) = (folder.join("a.yaml"), folder.join("b.yaml"));
        fs::write(&file, "a: 1\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("a.yaml", &link).unwrap();
        rewrite(&link, "a: 1\n", "a: 2\n").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "a: 2\n");
        assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o640);
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_file_that_was_changed_meanwhile_is_left_alone() {
        let folder = folder("changed");
        let file = folder.join("a.yaml");
        for found in ["a: 3\n", "a: 1", "a: 1\n# more\n", ""] {
            fs::write(&file, found).unwrap();
            let refused = rewrite(&file, "a: 1\n", "a: 2\n").unwrap_err();
            assert!(matches!(refused, RewriteError::Changed(_)), "{found:?}: {refused}");
            assert_eq!(fs::read_to_string(&file).unwrap(), found);
        }
        let gone = rewrite(&folder.join("none"), "", "a").unwrap_err();
        assert!(matches!(gone, RewriteError::Unreadable(..)), "{gone}");
        fs::remove_dir_all(folder).unwrap();
    }
}
