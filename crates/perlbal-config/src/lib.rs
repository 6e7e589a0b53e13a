//! A configuration of Perlbal, said in our words.
//!
//! From text to text: what comes out is a configuration of Tidegate's, under comments that say line
//! by line what was not carried over, and what to do instead. It opens nothing and knows no door:
//! files that a configuration includes are handed in. Called by `config`, for `tidegate import
//! perlbal` and its fuzz target.

mod absent;
mod clients;
mod command;
mod emitted;
mod facts;
mod include;
mod model;
mod pools;
mod routes;
mod sites;
mod values;
mod written;

use self::emitted::EmittedConfig;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use vocab::Complaint;

/// Surroundings of a configuration that it speaks of.
pub trait PerlbalSurroundings {
    /// The text of a file.
    fn read(&self, path: &Path) -> io::Result<String>;
    /// The names in a folder.
    fn list(&self, folder: &Path) -> io::Result<Vec<String>>;
    /// A variable of the environment.
    fn variable(&self, name: &str) -> Option<String>;
}

/// Place of a command.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CommandPlace {
    /// The included file; none for the first one.
    pub file: Option<Arc<str>>,
    /// From 1.
    pub line: usize,
}

impl fmt::Display for CommandPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(f, "{file} line {}", self.line),
            None => write!(f, "line {}", self.line),
        }
    }
}

/// A line that is no command, or that Perlbal would not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadCommand {
    /// The place.
    pub place: CommandPlace,
    /// The complaint about it.
    pub complaint: Complaint,
}

/// Something that is not carried over, or is to be looked at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ImportNote {
    place: CommandPlace,
    /// The setting that it is about, and what to do.
    text: String,
}

/// Perlbal's configuration `text`, of the file `source`, as a configuration of ours.
///
/// # Errors
/// Lines that Perlbal would not take either, and values that say nothing to us.
pub fn from_perlbal(
    text: &str,
    source: &Path,
    around: &dyn PerlbalSurroundings,
) -> Result<String, Vec<BadCommand>> {
    let mut model = model::PerlbalModel::default();
    model.read_file(text, None, around);
    let mut emitted = EmittedConfig::of(&mut model, around);
    if !model.wrong.is_empty() {
        return Err(model.wrong);
    }
    emitted.notes.sort();
    // A service that is reached in many ways is told of once.
    emitted.notes.dedup();
    Ok(written::written(&emitted, source))
}

#[cfg(test)]
mod tests;
