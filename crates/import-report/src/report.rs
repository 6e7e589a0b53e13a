//! The notes of an import.

use crate::note::{ImportFate, ImportNote, NotePlace};

/// Notes that are kept, at most; those beyond are counted.
const NOTES_MAX: usize = 20_000;

/// Notes about what became of each line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportReport {
    notes: Vec<ImportNote>,
    /// Notes that are counted and not kept.
    beyond: usize,
}

impl ImportReport {
    /// Notes a line that means the same as `setting`.
    pub fn carried(&mut self, place: &NotePlace, source: &str, setting: &str) {
        self.add(place, source, ImportFate::Carried, setting, "");
    }

    /// Notes a line that became `setting`, with a difference.
    pub fn changed(&mut self, place: &NotePlace, source: &str, setting: &str, why: &str) {
        self.add(place, source, ImportFate::Changed, setting, why);
    }

    /// Notes a line that was left out.
    pub fn left_out(&mut self, place: &NotePlace, source: &str, why: &str) {
        self.add(place, source, ImportFate::LeftOut, "", why);
    }

    fn add(&mut self, place: &NotePlace, source: &str, fate: ImportFate, setting: &str, why: &str) {
        if self.notes.len() >= NOTES_MAX {
            self.beyond += 1;
            return;
        }
        self.notes.push(ImportNote::new(place.clone(), source, fate, setting, why));
    }

    /// The notes in the order of `files`, each line once for each thing that is said of it.
    pub fn sort(&mut self, files: &[String]) {
        let order = |note: &ImportNote| {
            let known = files.iter().position(|file| **file == *note.place.file);
            (known.unwrap_or(files.len()), note.clone())
        };
        self.notes.sort_by_cached_key(order);
        self.notes.dedup();
    }

    /// The notes.
    pub fn notes(&self) -> &[ImportNote] {
        &self.notes
    }

    /// Notes that were counted and not kept.
    pub fn beyond(&self) -> usize {
        self.beyond
    }

    /// Number of notes of one fate among those that are kept.
    pub fn count(&self, fate: ImportFate) -> usize {
        self.notes.iter().filter(|note| note.fate == fate).count()
    }
}
