//! AdGuard Home: `AdGuardHome.yaml`, of schema versions old and new.

mod absent;
mod clients;
mod encrypted;
mod filters;
mod resolving;
mod safe_search;
mod services;

use crate::draft::ImportDraft;
use crate::placed_yaml::{self, PlacedNode};
use import_report::{ImportFault, ImportSurroundings, ImportedConfig, NotePlace};
use std::path::PathBuf;
use std::sync::Arc;

/// AdGuard Home's configuration, as one of ours: the file, or the folder that it is in.
///
/// # Errors
/// A file that cannot be read or is no YAML.
pub fn from_adguard_home(
    paths: &[PathBuf],
    around: &dyn ImportSurroundings,
) -> Result<ImportedConfig, Vec<ImportFault>> {
    let mut draft = ImportDraft::new(around);
    for path in paths {
        let inside = path.join("AdGuardHome.yaml");
        let path = if around.list(path).is_ok() { &inside } else { path };
        let Some((file, text)) = draft.open(path) else { continue };
        let root = placed_yaml::read(&text, &file)?;
        if root.get("dns").is_none() {
            let why = "there is no section dns: this is no AdGuardHome.yaml";
            draft.faults.push(ImportFault::new(&NotePlace::new(&file, 1), why));
            continue;
        }
        AdGuardFile { root: &root, file: &file, folder: path.parent().map(PathBuf::from) }
            .read(&mut draft);
    }
    draft.finish("AdGuard Home")
}

/// One file.
pub(crate) struct AdGuardFile<'f> {
    root: &'f PlacedNode,
    file: &'f Arc<str>,
    folder: Option<PathBuf>,
}

impl<'f> AdGuardFile<'f> {
    fn read(&self, draft: &mut ImportDraft<'_>) {
        self.listeners(draft);
        self.upstreams(draft);
        self.cache(draft);
        self.access(draft);
        self.blocking(draft);
        self.rewrites(draft);
        self.filters(draft);
        self.clients(draft);
        self.log(draft);
        self.root.note_unseen("", self.file, &mut draft.report, &absent::reason);
    }

    /// The value at a dotted path.
    fn at(&self, path: &str) -> Option<&'f PlacedNode> {
        path.split('.').try_fold(self.root, |node, key| node.get(key))
    }

    /// A setting of filtering, which was below `dns` before schema version 27.
    fn filtering(&self, key: &str) -> Option<(&'f PlacedNode, String)> {
        ["filtering", "dns"].iter().find_map(|section| {
            let path = format!("{section}.{key}");
            self.at(&path).map(|node| (node, path))
        })
    }

    fn place(&self, node: &PlacedNode) -> NotePlace {
        NotePlace::new(self.file, node.line)
    }

    /// The truth of a setting with its place, if it is said.
    fn truth(&self, path: &str) -> Option<(bool, NotePlace)> {
        let node = self.at(path)?;
        node.truth().map(|yes| (yes, self.place(node)))
    }

    /// A text that is not empty, with its place.
    fn text(&self, path: &str) -> Option<(&'f str, NotePlace)> {
        let node = self.at(path)?;
        node.text().filter(|text| !text.is_empty()).map(|text| (text, self.place(node)))
    }

    fn number(&self, path: &str) -> Option<(u64, NotePlace)> {
        let node = self.at(path)?;
        node.number().map(|number| (number, self.place(node)))
    }
}

#[cfg(test)]
mod tests;
