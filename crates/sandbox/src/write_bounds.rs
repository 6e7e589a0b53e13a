//! Bounds of what may be written, kept by the kernel (landlock(7)): the folders of the start and no
//! others.
//!
//! Reading and starting programs are left to the file system and to the filter of system calls.
//! What was opened before stays open. The bounds cannot be widened, so a configuration that names
//! another folder needs a start. Called once, by a process of one thread.

use landlock::{
    ABI, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus,
};
use std::fmt;
use std::path::{Path, PathBuf};

/// Places that every program writes: devices, and the temporary files of libraries.
const ALWAYS: [&str; 3] = ["/dev", "/tmp", "/var/tmp"];

/// Why the kernel keeps no bounds.
#[derive(Debug)]
pub(crate) enum NotBounded {
    /// The kernel refuses the rules.
    Rules(RulesetError),
    /// The kernel knows no bounds.
    Unknown,
}

/// Everything that changes a file system. Devices are told things by `ioctl` as ever.
fn writing() -> BitFlags<AccessFs> {
    AccessFs::from_write(ABI::V3)
}

/// Has the kernel refuse to write anywhere but in these folders and files, as far as it knows how.
pub(crate) fn restrict_writes(folders: &[PathBuf]) -> Result<(), NotBounded> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(writing())
        .map_err(NotBounded::Rules)?
        .create()
        .map_err(NotBounded::Rules)?;
    for folder in folders.iter().cloned().chain(always()) {
        // One that is not there cannot be written either.
        let Ok(open) = PathFd::new(&folder) else { continue };
        let may =
            if folder.is_dir() { writing() } else { writing() & AccessFs::from_file(ABI::V3) };
        rules = rules.add_rule(PathBeneath::new(open, may)).map_err(NotBounded::Rules)?;
    }
    match rules.restrict_self().map_err(NotBounded::Rules)?.ruleset {
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
        RulesetStatus::NotEnforced => Err(NotBounded::Unknown),
    }
}

impl fmt::Display for NotBounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rules(why) => why.fmt(f),
            Self::Unknown => f.write_str("the kernel has none"),
        }
    }
}

impl std::error::Error for NotBounded {}

fn always() -> impl Iterator<Item = PathBuf> {
    ALWAYS.iter().map(PathBuf::from).chain([std::env::temp_dir()])
}

/// True if `path` may be written where the bounds are these folders: paths are taken as far as they
/// exist.
pub fn is_within(path: &Path, folders: &[PathBuf]) -> bool {
    let path = canonical(path);
    folders.iter().cloned().chain(always()).any(|folder| path.starts_with(canonical(&folder)))
}

/// A path without links, as far as it exists.
fn canonical(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.into());
    let mut end = Vec::new();
    let mut begin = absolute.as_path();
    loop {
        if let Ok(found) = begin.canonicalize() {
            return end.iter().rev().fold(found, |path, name| path.join(name));
        }
        match (begin.parent(), begin.file_name()) {
            (Some(parent), Some(name)) => {
                end.push(name.to_owned());
                begin = parent;
            }
            _ => return absolute,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_in_a_folder_whether_it_exists_or_not() {
        let here = [PathBuf::from("/usr/share")];
        for (path, within) in [
            ("/usr/share", true),
            ("/usr/share/no-such/file", true),
            ("/usr/shared", false),
            ("/usr/share/../lib", false),
            ("/no-such/file", false),
            ("/dev/null", true),
        ] {
            assert_eq!(is_within(Path::new(path), &here), within, "{path}");
        }
        assert!(is_within(&std::env::temp_dir().join("file"), &[]));
    }
}
