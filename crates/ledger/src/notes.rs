//! Notes: lines that programs behind a door, and lists that cannot be fetched, complain with: the
//! last ones and how many there were.
//!
//! They belong to no row: a script may complain long after its request was answered, or say ten
//! lines about one. Kept in memory only, so that a program that complains without end fills no
//! disk. Lines are cleaned, for they may hold what a stranger sent. Filled through
//! [`crate::Ledger::note`], read by the admin API and the metrics page.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use vocab::{Door, Now};

/// Notes that are kept; the oldest goes for the next one, and is counted still.
pub const NOTES_MAX: usize = 256;
/// A longer line is cut, in bytes: with 256 of them, 256 KiB.
pub const NOTE_BYTES_MAX: usize = 1024;

/// One line that somebody has complained with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorNote {
    /// When it came, in milliseconds since 1970.
    pub at_ms: u64,
    /// Behind which door; none if it is about the program itself.
    pub door: Option<Door>,
    /// Who complains: a script, with its host; a list.
    pub from: String,
    /// What it says, without control characters; at most [`NOTE_BYTES_MAX`] bytes.
    pub text: String,
}

/// The last notes, and how many there were.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecentNotes {
    /// The last ones, oldest first; at most [`NOTES_MAX`].
    pub notes: Vec<OperatorNote>,
    /// All of them since the start.
    pub seen: u64,
}

/// Where notes are kept.
#[derive(Default)]
pub(crate) struct NoteBook(Mutex<NotePages>);

#[derive(Default)]
struct NotePages {
    notes: VecDeque<OperatorNote>,
    seen: u64,
}

impl NoteBook {
    pub(crate) fn add(&self, now: Now, door: Option<Door>, from: &str, text: &str) {
        let note = OperatorNote { at_ms: now.unix_ms, door, from: clean(from), text: clean(text) };
        let mut pages = self.pages();
        if pages.notes.len() == NOTES_MAX {
            pages.notes.pop_front();
        }
        pages.notes.push_back(note);
        pages.seen += 1;
    }

    pub(crate) fn read(&self) -> RecentNotes {
        let pages = self.pages();
        RecentNotes { notes: pages.notes.iter().cloned().collect(), seen: pages.seen }
    }

    pub(crate) fn seen(&self) -> u64 {
        self.pages().seen
    }

    fn pages(&self) -> MutexGuard<'_, NotePages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn clean(text: &str) -> String {
    let cut = &text[..text.floor_char_boundary(NOTE_BYTES_MAX)];
    cut.chars().filter(|it| !it.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_cleaned_cut_and_counted() {
        let (book, now) = (NoteBook::default(), Now { mono_ms: 1, unix_ms: 5 });
        book.add(now, Some(Door::Web), "a.example/x.php", "PHP Fatal \x1b[31merror\r");
        book.add(now, Some(Door::Web), "a", &"ü".repeat(2000));
        let RecentNotes { notes, seen } = book.read();
        assert_eq!((notes.len(), seen, notes[0].at_ms), (2, 2, 5));
        assert_eq!(notes[0].text, "PHP Fatal [31merror");
        assert_eq!(notes[1].text.len(), NOTE_BYTES_MAX);
        for number in 0..1000 {
            book.add(now, Some(Door::Web), "b", &number.to_string());
        }
        let RecentNotes { notes, seen } = book.read();
        assert_eq!((notes.len(), seen), (NOTES_MAX, 1002));
        assert_eq!(notes.last().map(|it| it.text.as_str()), Some("999"));
    }
}
