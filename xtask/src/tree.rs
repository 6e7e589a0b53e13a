//! The repository's own files: everything but what is built, fetched or left behind by a run.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Folders that hold nothing of ours.
const NOT_OURS: [&str; 8] = [
    "target",
    "node_modules",
    "dist",
    ".git",
    "tidegate-state",
    ".tidegate-state",
    "artifacts",
    "corpus",
];

/// Every file below `root`, as paths from it, in order.
pub(crate) fn files(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let (name, kind) = (entry.file_name(), entry.file_type()?);
            if kind.is_dir() {
                if !NOT_OURS.iter().any(|not_ours| name == *not_ours) {
                    folders.push(entry.path());
                }
            } else if kind.is_file()
                && let Ok(path) = entry.path().strip_prefix(root)
            {
                found.push(path.to_owned());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The extension of a path, or nothing.
pub(crate) fn extension(path: &Path) -> &str {
    path.extension().and_then(|extension| extension.to_str()).unwrap_or("")
}
