//! Texts that files of a configuration are to have, before any of them has it.
//!
//! It knows paths as `include` makes them. Filled by whoever judges a change of several files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Texts in the place of those that included files have.
#[derive(Clone, Debug, Default)]
pub struct DraftTexts(BTreeMap<PathBuf, String>);

impl DraftTexts {
    /// The text of a file, if there is a draft of it.
    pub fn get(&self, path: &Path) -> Option<&str> {
        self.0.get(path).map(String::as_str)
    }
}

impl FromIterator<(PathBuf, String)> for DraftTexts {
    fn from_iter<T: IntoIterator<Item = (PathBuf, String)>>(texts: T) -> Self {
        Self(texts.into_iter().collect())
    }
}
