//! Files that `INCLUDE` names: paths, with `*` and `?` in their last part.

use crate::PerlbalSurroundings;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files of one line, at most.
const FILES_MAX: usize = 1_000;
/// Bytes of them, at most.
const BYTES_MAX: usize = 64 << 20;

/// Reason for which files are not included.
#[derive(Debug)]
pub(crate) enum IncludeError {
    Unreadable(PathBuf, io::Error),
    TooMany,
    TooLong,
    /// A pattern with a star in front of its last part.
    StarInFolder(PathBuf),
}

impl fmt::Display for IncludeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(path, why) => write!(f, "{}: {why}", path.display()),
            Self::TooLong => write!(f, "more than {} MiB", BYTES_MAX >> 20),
            Self::TooMany => write!(f, "more than {FILES_MAX} files"),
            Self::StarInFolder(path) => {
                write!(f, "{}: stars are for the last part of a path", path.display())
            }
        }
    }
}

/// Names and texts of the files that the patterns name.
pub(crate) fn files(
    patterns: &str,
    around: &dyn PerlbalSurroundings,
) -> Result<Vec<(Arc<str>, String)>, IncludeError> {
    let (mut found, mut bytes) = (Vec::new(), 0);
    for pattern in patterns.split_whitespace() {
        for path in paths(Path::new(pattern), around)? {
            if found.len() == FILES_MAX {
                return Err(IncludeError::TooMany);
            }
            let text = around.read(&path);
            let text = text.map_err(|why| IncludeError::Unreadable(path.clone(), why))?;
            bytes += text.len();
            if bytes > BYTES_MAX {
                return Err(IncludeError::TooLong);
            }
            found.push((Arc::from(path.to_string_lossy()), text));
        }
    }
    Ok(found)
}

/// Paths that a pattern stands for; one without a star stands for itself.
fn paths(pattern: &Path, around: &dyn PerlbalSurroundings) -> Result<Vec<PathBuf>, IncludeError> {
    let is_pattern = |text: &str| text.contains(['*', '?']);
    let name = pattern.file_name().and_then(|it| it.to_str()).unwrap_or_default();
    let folder = pattern.parent().filter(|it| !it.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    if is_pattern(&folder.to_string_lossy()) {
        return Err(IncludeError::StarInFolder(pattern.to_owned()));
    }
    if !is_pattern(name) {
        return Ok(vec![pattern.to_owned()]);
    }
    let names = around.list(folder);
    let mut names = names.map_err(|why| IncludeError::Unreadable(folder.to_owned(), why))?;
    // A star does not stand for a leading dot, as in a shell.
    names.retain(|it| fits(name.as_bytes(), it.as_bytes()) && !it.starts_with('.'));
    names.sort();
    Ok(names.into_iter().map(|it| folder.join(it)).collect())
}

/// True if a name fits a pattern.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    // One step back is enough: the last star may always take more.
    let (mut at, mut position, mut star) = (0, 0, None);
    while position < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, position));
                at += 1;
            }
            Some(b'?') => (at, position) = (at + 1, position + 1),
            Some(byte) if *byte == name[position] => (at, position) = (at + 1, position + 1),
            _ => {
                let Some((from, taken)) = star else { return false };
                star = Some((from, taken + 1));
                (at, position) = (from + 1, taken + 1);
            }
        }
    }
    pattern[at..].iter().all(|it| *it == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_text_and_question_marks_for_one_character() {
        let fits = |pattern: &str, name: &str| fits(pattern.as_bytes(), name.as_bytes());
        assert!(fits("*.conf", "a.conf") && fits("a*b*", "axxbyy") && fits("?.c", "a.c"));
        assert!(!fits("*.conf", "a.con") && !fits("?", "") && !fits("a*b", "ab.c"));
        assert!(fits("*", "") && fits("**a", "a"));
    }
}
