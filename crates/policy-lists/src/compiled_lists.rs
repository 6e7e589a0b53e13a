//! Compiled lists in a bundle of a fleet: made once where it is published, so that its machines
//! need not compile them.
//!
//! They are named by the digest of the texts that they were made of: a machine whose own file adds
//! a list, or whose release has another format, finds nothing under its digest and compiles as
//! ever. Made by `fleet-commands`, read by [`crate::ListTexts`].

use crate::hex_text::hex;
use crate::texts::{COMPILED_FOLDER, read};
use config::{FileComplaint, Plan};
use std::path::Path;

/// Compiled lists of one configuration, as a file of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompiledLists {
    /// Path in the bundle.
    pub path: String,
    /// Content.
    pub bytes: Vec<u8>,
}

/// Reason why the lists of a configuration are not compiled for others.
#[derive(Debug)]
pub enum NotCompiled {
    /// A list of this name has a URL: each machine fetches it by itself.
    Fetched(String),
    /// Lists that cannot be read.
    Unreadable(Vec<FileComplaint>),
}

impl CompiledLists {
    /// The lists of a plan whose paths start at `folder`, unless `known` says that those of this
    /// path are compiled already.
    ///
    /// # Errors
    /// [`NotCompiled`].
    pub fn of(
        plan: &Plan,
        folder: &Path,
        known: impl Fn(&str) -> bool,
    ) -> Result<Option<Self>, NotCompiled> {
        if let Some(list) = plan.file.policy.lists.iter().find(|list| list.url.is_some()) {
            return Err(NotCompiled::Fetched(list.name.clone()));
        }
        let texts = read(plan, folder);
        if !texts.problems.is_empty() {
            return Err(NotCompiled::Unreadable(texts.problems));
        }
        let key = texts.digest();
        let path = format!("{COMPILED_FOLDER}/{}", hex(&key));
        if known(&path) {
            return Ok(None);
        }
        let bytes = texts.compile().to_snapshot(key);
        Ok(Some(Self { path, bytes }))
    }
}
