//! One note: a line of the other program's configuration, and what became of it.

use std::fmt;
use std::sync::Arc;

/// Characters of a line that are shown, at most.
const SOURCE_MAX: usize = 120;

/// Place of a line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NotePlace {
    /// The file.
    pub file: Arc<str>,
    /// From 1; 0 for the file as a whole.
    pub line: usize,
}

impl NotePlace {
    /// A line of a file.
    pub fn new(file: &Arc<str>, line: usize) -> Self {
        Self { file: Arc::clone(file), line }
    }
}

impl fmt::Display for NotePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.file.is_empty(), self.line) {
            (_, 0) => f.write_str(&self.file),
            (true, line) => write!(f, "line {line}"),
            (false, line) => write!(f, "{}:{line}", self.file),
        }
    }
}

/// Fate of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ImportFate {
    /// The same meaning here.
    Carried,
    /// A setting that does not mean quite the same.
    Changed,
    /// Nothing in the configuration.
    LeftOut,
}

impl ImportFate {
    /// Every fate, the best first.
    pub const ALL: [Self; 3] = [Self::Carried, Self::Changed, Self::LeftOut];

    /// The word for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Carried => "carried",
            Self::Changed => "changed",
            Self::LeftOut => "left out",
        }
    }
}

/// A line, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImportNote {
    /// The line's place.
    pub place: NotePlace,
    /// The line, or the setting in it, in short.
    pub source: String,
    /// The fate.
    pub fate: ImportFate,
    /// Our setting, keys joined by dots; empty where there is none.
    pub setting: String,
    /// The difference, or why it was left out and what to do; empty where all is said.
    pub why: String,
}

impl ImportNote {
    /// A note about `source`; nothing in its texts ends a line.
    pub fn new(place: NotePlace, source: &str, fate: ImportFate, setting: &str, why: &str) -> Self {
        let mut shown = one_line(source.trim());
        if let Some((cut, _)) = shown.char_indices().nth(SOURCE_MAX) {
            shown.truncate(cut);
            shown.push('…');
        }
        Self { place, source: shown, fate, setting: one_line(setting), why: one_line(why) }
    }
}

impl fmt::Display for ImportNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.place)?;
        for text in [&self.source, &self.setting, &self.why] {
            if !text.is_empty() {
                write!(f, ": {text}")?;
            }
        }
        Ok(())
    }
}

/// A text of one line, which changes no terminal and reads in one direction.
fn one_line(text: &str) -> String {
    let is_shown = |c: char| {
        let turns = matches!(c, '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        !c.is_control() && !turns && !matches!(c, '\u{feff}' | '\u{fffe}' | '\u{ffff}')
    };
    text.chars().map(|c| if is_shown(c) { c } else { ' ' }).collect()
}
