//! The files that a file includes, and those that they include.
//!
//! Files are read by whoever calls; here is said which, and how deep it may go. mosdns looks for
//! them from the working directory, OxiDNS from the file that names them; both put what is included
//! first. Called by [`super`].

use super::environment;
use super::position::{ReadNotes, SourcePosition};
use super::tree::texts_of;
use super::{Dialect, ForeignFiles, PathBase};
use serde_json::Value;
use std::borrow::Cow;
use vocab::Complaint;

/// How deep files may include one another, as in both peers.
pub const INCLUDE_DEPTH_MAX: usize = 8;

/// Files that may be included in all.
pub const INCLUDES_MAX: usize = 256;

/// A file, read.
#[derive(Debug)]
pub(super) struct SourceDocument<'v> {
    pub(super) value: Cow<'v, Value>,
    /// The value as it is written, where variables were put in.
    written: Option<Value>,
    pub(super) position: SourcePosition,
}

impl SourceDocument<'_> {
    /// Returns its value under `key`, if that says anything. mosdns does not look at upper and
    /// lower case.
    pub(super) fn get(&self, key: &str, dialect: Dialect) -> Option<&Value> {
        entry(&self.value, key, dialect)
    }

    /// The plugins as they are written, without the values of variables.
    pub(super) fn written_plugins(&self, dialect: Dialect) -> Option<&Value> {
        entry(self.written.as_ref().unwrap_or(&self.value), "plugins", dialect)
    }

    pub(super) fn plugins(&self, notes: &ReadNotes) -> Option<&Value> {
        self.get("plugins", notes.dialect)
    }
}

fn entry<'v>(value: &'v Value, key: &str, dialect: Dialect) -> Option<&'v Value> {
    let map = value.as_object()?;
    let (_, value) = map.iter().find(|(written, _)| match dialect {
        Dialect::Mosdns => written.eq_ignore_ascii_case(key),
        Dialect::Oxidns => *written == key,
    })?;
    (!value.is_null()).then_some(value)
}

/// `main` and all that it includes, what is included first.
pub(super) fn gather<'v>(
    main: &'v Value,
    dialect: Dialect,
    files: &dyn ForeignFiles,
) -> Result<Vec<SourceDocument<'v>>, Vec<Complaint>> {
    let mut gathering =
        IncludeGathering { dialect, files, documents: Vec::new(), complaints: Vec::new() };
    let position = SourcePosition::default();
    let main = SourceDocument { value: Cow::Borrowed(main), written: None, position };
    gathering.add(main, "", 0);
    if gathering.complaints.is_empty() {
        Ok(gathering.documents)
    } else {
        Err(gathering.complaints)
    }
}

struct IncludeGathering<'f, 'v> {
    dialect: Dialect,
    files: &'f dyn ForeignFiles,
    documents: Vec<SourceDocument<'v>>,
    complaints: Vec<Complaint>,
}

impl<'v> IncludeGathering<'_, 'v> {
    /// The document with the variables that it names; nothing where one is missing.
    fn with_variables(&mut self, document: SourceDocument<'v>) -> Option<SourceDocument<'v>> {
        let SourceDocument { value, position, .. } = document;
        if self.dialect == Dialect::Mosdns {
            return Some(SourceDocument { value, written: None, position });
        }
        let before = value.clone();
        match environment::expand(value, &position, self.files) {
            Ok(value) => {
                let written = (*value != *before).then(|| before.into_owned());
                Some(SourceDocument { value, written, position })
            }
            Err(complaints) => {
                self.complaints.extend(complaints);
                None
            }
        }
    }

    /// Adds what `document` includes, then itself. `folder` is that of its file, from the main
    /// file's on.
    fn add(&mut self, document: SourceDocument<'v>, folder: &str, depth: usize) {
        let Some(document) = self.with_variables(document) else { return };
        let notes = ReadNotes::new(self.dialect);
        let key = document.position.below("include");
        let includes = match document.get("include", self.dialect) {
            Some(value) => texts_of(value, &key, &notes),
            None => Vec::new(),
        };
        if let Err(complaints) = notes.finish() {
            self.complaints.extend(complaints);
        }
        for item in includes {
            if depth == INCLUDE_DEPTH_MAX || self.documents.len() >= INCLUDES_MAX {
                let message = "files include one another too deep, or too many are included";
                let complaint = item.position.complaint(message);
                self.complaints
                    .push(complaint.remedy(format!("{INCLUDE_DEPTH_MAX} deep is the most")));
                return;
            }
            let (path, base) = match self.dialect {
                Dialect::Mosdns => (item.text.clone(), PathBase::WorkingDirectory),
                Dialect::Oxidns => (joined(folder, &item.text), PathBase::MainFile),
            };
            match self.files.read_document(&path, base) {
                Ok(value) => {
                    let place = item.position.included(&path);
                    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
                    let document =
                        SourceDocument { value: Cow::Owned(value), written: None, position: place };
                    self.add(document, folder, depth + 1);
                }
                Err(why) => {
                    let complaint = item.position.complaint(format!("{path}: {}", why.message));
                    self.complaints.push(super::position::with_remedy(complaint, why.remedy));
                }
            }
        }
        self.documents.push(document);
    }
}

fn joined(folder: &str, path: &str) -> String {
    if folder.is_empty() || path.starts_with('/') {
        path.to_owned()
    } else {
        format!("{folder}/{path}")
    }
}
