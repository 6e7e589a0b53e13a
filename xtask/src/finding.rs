//! Something that is not as it should be: where, what, why.

use std::fmt;
use std::path::{Path, PathBuf};

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// The file, from the repository's root.
    pub(crate) file: PathBuf,
    /// The line, from 1; 0 where the file as a whole is meant.
    pub(crate) line: usize,
    /// What is wrong and why that matters.
    pub(crate) message: String,
}

impl Finding {
    /// A finding in `file` at `line`.
    pub(crate) fn new(file: &Path, line: usize, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, ": {}", self.message)
    }
}
