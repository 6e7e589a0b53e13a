//! Files for tests.

use import_report::ImportSurroundings;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// Files by their paths.
pub(crate) struct OneFolder(BTreeMap<PathBuf, String>);

impl OneFolder {
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        Self(files.iter().map(|(path, text)| ((*path).into(), (*text).into())).collect())
    }
}

impl ImportSurroundings for OneFolder {
    fn read(&self, path: &Path) -> io::Result<String> {
        self.0.get(path).cloned().ok_or_else(|| io::Error::other("not there"))
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let inside = self.0.keys().filter(|it| it.parent() == Some(path));
        let names: Vec<String> = inside
            .map(|it| it.file_name().unwrap_or_default().to_string_lossy().into_owned())
            .collect();
        if names.is_empty() { Err(io::Error::other("no folder")) } else { Ok(names) }
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }
}
