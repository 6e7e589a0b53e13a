//! Files around a configuration, and what is wrong in it.

use crate::note::NotePlace;
use std::io;
use std::path::Path;

/// Surroundings of a configuration that it speaks of: files, folders, the environment.
pub trait ImportSurroundings {
    /// The text of a file. Bounds what it reads.
    ///
    /// # Errors
    /// It is not there, is no text, or is too large.
    fn read(&self, path: &Path) -> io::Result<String>;

    /// The names in a folder, in their order; an error for what is no folder.
    ///
    /// # Errors
    /// It cannot be read.
    fn list(&self, path: &Path) -> io::Result<Vec<String>>;

    /// A variable of the environment.
    fn variable(&self, name: &str) -> Option<String>;
}

/// A line that the other program would not take either, or that must not be guessed at, because
/// more would be open than before. Nothing is written then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportFault {
    /// The place.
    pub place: NotePlace,
    /// The setting; empty where a line as a whole is meant.
    pub setting: String,
    /// The fault, in one sentence without a final stop.
    pub message: String,
    /// The remedy, if one is known.
    pub remedy: Option<String>,
}

impl ImportFault {
    /// A fault of a line.
    pub fn new(place: &NotePlace, message: impl Into<String>) -> Self {
        Self { place: place.clone(), setting: String::new(), message: message.into(), remedy: None }
    }

    /// The same, with what to do about it.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}
