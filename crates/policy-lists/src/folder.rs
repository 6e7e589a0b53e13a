//! A folder of filter files, read as one list.
//!
//! It looks at names, one level deep, and opens nothing but files that it takes. What is in them is
//! for the policy to read, each file by itself. Called for each list whose path is a folder.

use crate::texts::fit;
use crate::unreadable::ListReadError;
use policy::ListFile;
use std::path::{Path, PathBuf};

/// Most files of a folder: one with more was meant to be another.
const FILES_MAX: usize = 1000;
/// Endings of the names of files that are taken.
const ENDINGS: [&str; 3] = ["txt", "list", "hosts"];

/// The files of a folder that are taken, in the order of their names. Hidden files, those with
/// another ending and what is no file are left out; a link counts as what it leads to.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>, ListReadError> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if !is_named_like_a_list(&path) {
            continue;
        }
        let about =
            std::fs::metadata(&path).map_err(|why| ListReadError::in_file(&shown(&path), why))?;
        if about.is_file() {
            files.push(path);
        }
        if files.len() > FILES_MAX {
            return Err(ListReadError::TooManyFiles { files_max: FILES_MAX });
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// The texts of these files one behind the other, of no more than so many bytes, and where each
/// ends.
pub(crate) fn read(
    files: &[PathBuf],
    bytes_max: u64,
) -> Result<(Vec<u8>, Vec<ListFile>), ListReadError> {
    let (mut text, mut ends) = (Vec::new(), Vec::with_capacity(files.len()));
    for path in files {
        let name = shown(path);
        let in_file = |why| ListReadError::in_file(&name, why);
        let size = std::fs::metadata(path).map_err(in_file)?.len();
        if size.saturating_add(text.len() as u64) > bytes_max {
            return Err(ListReadError::FolderTooLarge { file: name, bytes_max });
        }
        let part = std::fs::read(path).map_err(in_file)?;
        text.extend(fit(part).map_err(|why| ListReadError::in_file(&name, why))?);
        ends.push(ListFile { name, end: text.len() });
    }
    Ok((text, ends))
}

fn is_named_like_a_list(path: &Path) -> bool {
    // A name that is all dot and ending, such as `.txt`, has no extension.
    let ending = path.extension().and_then(|ending| ending.to_str());
    let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    !is_hidden && ending.is_some_and(|ending| ENDINGS.contains(&ending))
}

/// A file's name, fit for a terminal.
fn shown(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_lists_are_taken() {
        for name in ["a.txt", "a.b.list", "x.hosts", "two words.txt"] {
            assert!(is_named_like_a_list(&Path::new("lists.d").join(name)), "{name}");
        }
        for name in [".txt", ".a.txt", "a.txt~", "a.TXT.bak", "a.conf", "txt", "a."] {
            assert!(!is_named_like_a_list(&Path::new("lists.d").join(name)), "{name}");
        }
        assert_eq!(shown(Path::new("lists.d/a\u{1b}[1m.txt")), "a\u{fffd}[1m.txt");
    }
}
