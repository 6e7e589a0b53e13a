//! File with what waits to be told while the server is away, so that a restart forgets none of it.
//!
//! Written whole by whoever adds something, removed when all is told. A file that cannot be read
//! is passed over. Called by the live state and its session.

use crate::entry::{EntryBody, SharedEntry};
use crate::outbox::WordOutbox;
use durable_file::FileReplacement;
use serde::{Deserialize, Serialize};
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use vocab::Now;

/// Largest file that is read, in bytes: more than all that may wait.
const FILE_BYTES_MAX: u64 = 32 << 20;

/// Everything that waits, in its order.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct KeptOutbox {
    entries: Vec<KeptEntry>,
    purges: Vec<KeptPurge>,
}

#[derive(Debug, Serialize, Deserialize)]
struct KeptEntry {
    made_unix_ms: u64,
    key: String,
    text: Option<String>,
    until_unix_ms: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
struct KeptPurge {
    made_unix_ms: u64,
    text: String,
}

impl KeptOutbox {
    /// The things that wait in an outbox.
    pub(crate) fn of(outbox: &WordOutbox) -> Self {
        let entry = |waiting: &crate::outbox::WaitingItem<SharedEntry>| {
            let said = waiting.what.said.clone();
            let (text, until_unix_ms) =
                said.map_or((None, None), |said| (Some(said.text), said.until_unix_ms));
            let (made_unix_ms, key) = (waiting.made.unix_ms, waiting.what.key.clone());
            KeptEntry { made_unix_ms, key, text, until_unix_ms }
        };
        let purge = |waiting: &crate::outbox::WaitingItem<String>| KeptPurge {
            made_unix_ms: waiting.made.unix_ms,
            text: waiting.what.clone(),
        };
        Self {
            entries: outbox.entries_in_order().into_iter().map(entry).collect(),
            purges: outbox.purges_in_order().map(purge).collect(),
        }
    }

    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        FileReplacement::private(path).write(&serde_json::to_vec(self)?).map(drop)
    }

    /// An outbox with what the file holds; `everything` is told for too many purges.
    pub(crate) fn read(path: &Path, everything: &str, now: Now) -> WordOutbox {
        let mut text = String::new();
        let opened = std::fs::File::open(path);
        let read = opened.and_then(|file| file.take(FILE_BYTES_MAX).read_to_string(&mut text));
        let kept: Self = match read {
            Ok(_) => serde_json::from_str(&text).unwrap_or_default(),
            Err(_) => Self::default(),
        };
        let made = |unix_ms: u64| {
            let age = now.unix_ms.saturating_sub(unix_ms);
            Now { unix_ms, mono_ms: now.mono_ms.saturating_sub(age) }
        };
        let mut outbox = WordOutbox::default();
        for KeptEntry { made_unix_ms, key, text, until_unix_ms } in kept.entries {
            let said = text.map(|text| EntryBody { text, until_unix_ms });
            outbox.add_entry(SharedEntry { key, said }, made(made_unix_ms));
        }
        for KeptPurge { made_unix_ms, text } in kept.purges {
            outbox.add_purge(text, everything, made(made_unix_ms));
        }
        outbox
    }

    /// Removes the file, if there is one.
    pub(crate) fn remove(path: &Path) -> io::Result<()> {
        match std::fs::remove_file(path) {
            Err(why) if why.kind() != ErrorKind::NotFound => Err(why),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_support::ScratchFolder;

    #[test]
    fn what_waited_waits_again_with_its_age_and_nonsense_is_nothing() {
        let folder = ScratchFolder::new();
        let path = folder.path().join("fleet-live.outbox");
        let mut outbox = WordOutbox::default();
        let at = |unix_ms, mono_ms| Now { unix_ms, mono_ms };
        let said = Some(EntryBody { text: "pass".into(), until_unix_ms: Some(9_000) });
        outbox.add_entry(SharedEntry { key: "b".into(), said }, at(5_000, 50));
        outbox.add_entry(SharedEntry { key: "a".into(), said: None }, at(6_000, 1_050));
        outbox.add_purge("p".into(), "all", at(6_000, 1_050));
        KeptOutbox::of(&outbox).write(&path).unwrap();
        let again = KeptOutbox::read(&path, "all", at(8_000, 100_000));
        assert_eq!((again.len(), again.next_purge().unwrap().what), (3, "p".to_owned()));
        let first = again.next_entry().unwrap();
        assert_eq!((first.what.key.as_str(), first.made.mono_ms), ("b", 97_000));
        KeptOutbox::remove(&path).unwrap();
        KeptOutbox::remove(&path).unwrap();
        folder.write("fleet-live.outbox", "{");
        assert_eq!(KeptOutbox::read(&path, "all", at(0, 0)).len(), 0);
    }
}
