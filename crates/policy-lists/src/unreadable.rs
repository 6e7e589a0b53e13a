//! Reasons why a list could not be read.
//!
//! They are shown as they are, behind the list's name and path. Returned by the readers of files
//! and folders.

use policy::UnfitList;
use std::fmt;
use std::io;

/// A list that could not be read.
#[derive(Debug)]
pub enum ListReadError {
    /// The system's reason.
    Io(io::Error),
    /// The file is larger than its list may be.
    TooLarge {
        /// Size of the file.
        bytes: u64,
        /// Most that it may have.
        bytes_max: u64,
    },
    /// The text is no list.
    Unfit(UnfitList),
    /// The folder has more lists than are read.
    TooManyFiles {
        /// Most that are read.
        files_max: usize,
    },
    /// With this file the folder is larger than its list may be.
    FolderTooLarge {
        /// The first file that is too much.
        file: String,
        /// Most that the folder may have.
        bytes_max: u64,
    },
    /// A file of the folder could not be read.
    InFile {
        /// Name of the file.
        file: String,
        /// The reason.
        why: Box<Self>,
    },
}

impl ListReadError {
    /// The same of a file in a folder.
    pub(crate) fn in_file(file: &str, why: impl Into<Self>) -> Self {
        Self::InFile { file: file.to_owned(), why: Box::new(why.into()) }
    }
}

impl fmt::Display for ListReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(why) => why.fmt(f),
            Self::TooLarge { bytes, bytes_max } => {
                write!(f, "{bytes} bytes are more than the {bytes_max} allowed")
            }
            Self::Unfit(why) => why.fmt(f),
            Self::TooManyFiles { files_max } => {
                write!(f, "it holds more than the {files_max} lists allowed")
            }
            Self::FolderTooLarge { file, bytes_max } => {
                write!(f, "with {file} there are more than the {bytes_max} bytes allowed")
            }
            Self::InFile { file, why } => write!(f, "{file}: {why}"),
        }
    }
}

impl std::error::Error for ListReadError {}

impl From<io::Error> for ListReadError {
    fn from(why: io::Error) -> Self {
        Self::Io(why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_reads_as_it_is_shown() {
        let large = ListReadError::TooLarge { bytes: 9, bytes_max: 8 };
        let told = ListReadError::in_file("a.txt", large).to_string();
        assert_eq!(told, "a.txt: 9 bytes are more than the 8 allowed");
        let gone = ListReadError::in_file("b.txt", io::Error::other("it is gone"));
        assert_eq!(gone.to_string(), "b.txt: it is gone");
    }
}
