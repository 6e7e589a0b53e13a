//! The report of an import, line by line: what was carried over, changed, or left out and why.
//!
//! Words that all imports of other programs' configurations share: a note and its place, the
//! configuration that came of it, and the files around the one that is read, which are handed in.
//! Pure: from text to text. Called by the crates that read such configurations, and by
//! `config-imports`, which shows the report.

mod imported;
mod note;
mod report;
mod sections;
mod surroundings;

pub use imported::ImportedConfig;
pub use note::{ImportFate, ImportNote, NotePlace};
pub use report::ImportReport;
pub use sections::EmittedSections;
pub use surroundings::{ImportFault, ImportSurroundings};
