//! Where something stands in a foreign file, and what is found there.
//!
//! A place in the file itself is named by its keys; one in an included file is told at the line
//! that includes it, with the file's name in the words. Nothing is read here. Called by the rest of
//! [`super`] and by [`crate::compile`].

use super::Dialect;
use super::outbound::OutboundBook;
use std::cell::{OnceCell, RefCell};
use std::fmt;
use std::sync::Arc;
use vocab::Complaint;

/// Complaints of one file, at most: a hostile file could have millions.
pub const COMPLAINTS_MAX: usize = 256;

/// Where something stands: keys and indices joined by dots, and the file if that is included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourcePosition {
    keys: String,
    file: Option<Arc<IncludedFile>>,
}

/// A file that another includes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct IncludedFile {
    /// Where the main file includes it, or what includes it.
    pub(super) at: String,
    /// Name, as written there.
    pub(super) name: String,
}

impl SourcePosition {
    /// The place of the included file `name`, whose `include` stands at `self`.
    pub(super) fn included(&self, name: &str) -> Self {
        let at = self.file.as_ref().map_or(&self.keys, |it| &it.at).clone();
        Self { keys: String::new(), file: Some(Arc::new(IncludedFile { at, name: name.into() })) }
    }

    /// The place `key` below this one.
    #[must_use]
    pub fn below(&self, key: impl fmt::Display) -> Self {
        let keys =
            if self.keys.is_empty() { key.to_string() } else { format!("{}.{key}", self.keys) };
        Self { keys, file: self.file.clone() }
    }

    /// Where it stands in the main file: the line of the `include` for what is included.
    pub fn keys(&self) -> &str {
        self.file.as_ref().map_or(&self.keys, |it| &it.at)
    }

    /// Where it stands in its own file, whichever that is.
    pub fn keys_of_file(&self) -> &str {
        &self.keys
    }

    /// The included file it stands in, as written; none for the main file.
    pub fn file(&self) -> Option<&str> {
        self.file.as_ref().map(|it| it.name.as_str())
    }

    /// A complaint about what stands here.
    pub fn complaint(&self, message: impl fmt::Display) -> Complaint {
        match &self.file {
            None => Complaint::new(self.keys.clone(), message.to_string()),
            Some(file) => {
                Complaint::new(file.at.clone(), format!("{}, {}: {message}", file.name, self.keys))
            }
        }
    }
}

impl fmt::Display for SourcePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            None => f.write_str(&self.keys),
            Some(file) => write!(f, "{}: {}", file.name, self.keys),
        }
    }
}

/// A word and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedWord {
    /// The word.
    pub text: String,
    /// Where it stands.
    pub position: SourcePosition,
}

impl PlacedWord {
    /// The word `text` at `place`.
    pub fn new(text: impl Into<String>, place: &SourcePosition) -> Self {
        Self { text: text.into(), position: place.clone() }
    }
}

/// Holds what is found while a file is read.
#[derive(Debug)]
pub(crate) struct ReadNotes {
    pub(crate) dialect: Dialect,
    outbound: OnceCell<OutboundBook>,
    complaints: RefCell<Vec<Complaint>>,
    warnings: RefCell<Vec<Complaint>>,
}

impl ReadNotes {
    pub(crate) fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            outbound: OnceCell::new(),
            complaints: RefCell::default(),
            warnings: RefCell::default(),
        }
    }

    /// The profiles by which servers are reached; none were read before the main file's.
    pub(super) fn outbound(&self) -> &OutboundBook {
        self.outbound.get_or_init(OutboundBook::default)
    }

    /// Takes the profiles of the main file.
    pub(super) fn set_outbound(&self, book: OutboundBook) {
        // It is read once.
        let _ = self.outbound.set(book);
    }

    pub(crate) fn is_mosdns(&self) -> bool {
        self.dialect == Dialect::Mosdns
    }

    /// Something for which the file is refused.
    pub(crate) fn complain(&self, complaint: Complaint) {
        push(&mut self.complaints.borrow_mut(), complaint);
    }

    /// The same; nothing is what stands there then.
    pub(crate) fn refuse<T>(&self, complaint: Complaint) -> Option<T> {
        self.complain(complaint);
        None
    }

    /// Something that the user should know.
    pub(crate) fn warn(&self, complaint: Complaint) {
        push(&mut self.warnings.borrow_mut(), complaint);
    }

    /// True if nothing was complained about.
    pub(crate) fn is_content(&self) -> bool {
        self.complaints.borrow().is_empty()
    }

    /// True if further complaints would be left out, so that nobody need look for remedies.
    pub(crate) fn is_full(&self) -> bool {
        self.complaints.borrow().len() >= COMPLAINTS_MAX
    }

    /// The warnings, or what the file is refused for.
    pub(crate) fn finish(self) -> Result<Vec<Complaint>, Vec<Complaint>> {
        let complaints = self.complaints.into_inner();
        if complaints.is_empty() { Ok(self.warnings.into_inner()) } else { Err(complaints) }
    }
}

fn push(all: &mut Vec<Complaint>, complaint: Complaint) {
    if all.len() < COMPLAINTS_MAX {
        all.push(complaint);
    }
}

/// `complaint` with a remedy, if there is one.
pub(crate) fn with_remedy(complaint: Complaint, remedy: Option<String>) -> Complaint {
    match remedy {
        Some(remedy) => complaint.remedy(remedy),
        None => complaint,
    }
}

/// Refuses what is known and not built.
pub(super) fn not_yet(what: &str, place: &SourcePosition, notes: &ReadNotes) {
    notes.complain(place.complaint(format!("{what} is not yet supported")).remedy("remove it"));
}
