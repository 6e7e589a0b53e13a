//! The lines on which the keys of a TOML file stand, as Pi-hole writes it: one key a line.

use import_report::NotePlace;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Lines of a file's keys, by their dotted paths.
pub(super) struct TomlLines {
    file: Arc<str>,
    lines: BTreeMap<String, usize>,
}

impl TomlLines {
    pub(super) fn of(file: &Arc<str>, text: &str) -> Self {
        let mut lines = BTreeMap::new();
        let mut section = String::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if let Some(header) = line.strip_prefix('[')
                && let Some((name, _)) = header.split_once(']')
                && !name.contains(['"', '=', ','])
            {
                name.trim_matches('[').trim().clone_into(&mut section);
            } else if let Some((key, _)) = line.split_once('=') {
                let key = key.trim().trim_matches('"');
                let path = if section.is_empty() { key.into() } else { format!("{section}.{key}") };
                lines.entry(path).or_insert(index + 1);
            }
        }
        Self { file: Arc::clone(file), lines }
    }

    /// The place of a key; the file as a whole where it is not found.
    pub(super) fn place(&self, path: &str) -> NotePlace {
        NotePlace::new(&self.file, self.lines.get(path).copied().unwrap_or(0))
    }
}
