//! Compiled lists in a bundle of a fleet: made once where it is published, so that its machines
//! need not compile them.
//!
//! They are named by the digest of the texts that they were made of: a machine whose own file adds
//! a list, or whose release has another format, finds nothing under its digest and compiles as
//! ever. Made by `fleet-commands`, read by [`crate::ListTexts`].

use crate::hex_text::hex;
use crate::texts::{COMPILED_FOLDER, ListTexts, read};
use config::{FileComplaint, Plan};
use std::path::Path;

/// Lists of one configuration that are to be compiled for others.
pub struct SharedLists {
    texts: ListTexts,
    key: [u8; 32],
}

/// Reason why the lists of a configuration are not compiled for others.
#[derive(Debug)]
pub enum NotCompiled {
    /// A list of this name has a URL: each machine fetches it by itself.
    Fetched(String),
    /// Lists that cannot be read.
    Unreadable(Vec<FileComplaint>),
}

impl SharedLists {
    /// The lists of a plan whose paths start at `folder`, read and not compiled yet.
    ///
    /// # Errors
    /// [`NotCompiled`].
    pub fn read(plan: &Plan, folder: &Path) -> Result<Self, NotCompiled> {
        if let Some(list) = plan.file.policy.lists.iter().find(|list| list.url.is_some()) {
            return Err(NotCompiled::Fetched(list.name.clone()));
        }
        let texts = read(plan, folder);
        if !texts.problems.is_empty() {
            return Err(NotCompiled::Unreadable(texts.problems));
        }
        let key = texts.digest();
        Ok(Self { texts, key })
    }

    /// Path of what is compiled of them in a bundle; the same of the same lists.
    pub fn path(&self) -> String {
        format!("{COMPILED_FOLDER}/{}", hex(&self.key))
    }

    /// Content of that file.
    pub fn compile(&self) -> Vec<u8> {
        self.texts.compile().to_snapshot(self.key)
    }
}
