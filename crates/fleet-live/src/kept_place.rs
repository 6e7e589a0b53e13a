//! Place in the stream of purges up to which this edge has done them, in a file of the state
//! folder, with the number of edges known last.
//!
//! An edge that was away goes on from there; one that finds the line broken drops its caches.

use durable_file::FileReplacement;
use serde::{Deserialize, Serialize};
use std::io::{self, Read};
use std::path::Path;

/// Largest file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 4096;

/// Knowledge that is kept over a restart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct KeptPlace {
    /// Place in the stream of purges; none before the first connection.
    pub(crate) purges: Option<PurgePlace>,
    /// Edges that the server saw when it was asked last.
    pub(crate) edges: u32,
}

/// Place in the stream of purges.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PurgePlace {
    /// Line: another one says that the server has lost what it had. Empty before the first purge.
    pub(crate) line: String,
    /// Number of the last purge that was done.
    pub(crate) number: u64,
    /// Name in the stream.
    pub(crate) id: String,
}

/// Order of the next purge after the place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PurgeOrder {
    /// As the next one.
    Next,
    /// Done already.
    Done,
    /// Some before it were missed.
    Missed,
}

impl PurgePlace {
    /// The order of a purge of this line and number.
    pub(crate) fn order(&self, line: &str, number: u64) -> PurgeOrder {
        if self.line.is_empty() && number == 1 {
            return PurgeOrder::Next;
        }
        match number.checked_sub(self.number) {
            _ if line != self.line => PurgeOrder::Missed,
            Some(1) => PurgeOrder::Next,
            Some(0) | None => PurgeOrder::Done,
            Some(_) => PurgeOrder::Missed,
        }
    }
}

impl KeptPlace {
    /// Reads the file; the default if there is none, or none that can be read.
    pub(crate) fn read(path: &Path) -> Self {
        let mut text = String::new();
        let opened = std::fs::File::open(path);
        let read = opened.and_then(|file| file.take(FILE_BYTES_MAX).read_to_string(&mut text));
        match read {
            Ok(_) => serde_json::from_str(&text).unwrap_or_default(),
            Err(_) => Self::default(),
        }
    }

    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        let text = serde_json::to_vec(self)?;
        FileReplacement::private(path).write(&text).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_support::ScratchFolder;

    #[test]
    fn what_was_missed_is_seen() {
        let place = PurgePlace { line: "a".into(), number: 7, id: "1-0".into() };
        assert_eq!(place.order("a", 8), PurgeOrder::Next);
        assert_eq!(place.order("a", 7), PurgeOrder::Done);
        assert_eq!(place.order("a", 3), PurgeOrder::Done);
        assert_eq!(place.order("a", 9), PurgeOrder::Missed);
        assert_eq!(place.order("b", 8), PurgeOrder::Missed, "the server has lost its memory");
        let fresh = PurgePlace { line: String::new(), number: 0, id: "0-0".into() };
        assert_eq!(fresh.order("b", 1), PurgeOrder::Next);
        assert_eq!(fresh.order("b", 2), PurgeOrder::Missed);
    }

    #[test]
    fn it_is_read_as_it_was_written_and_nonsense_is_nothing() {
        let folder = ScratchFolder::new();
        let path = folder.path().join("fleet-live.json");
        assert_eq!(KeptPlace::read(&path), KeptPlace::default());
        let purges = Some(PurgePlace { line: "a".into(), number: 7, id: "1-0".into() });
        let place = KeptPlace { purges, edges: 5 };
        place.write(&path).unwrap();
        assert_eq!(KeptPlace::read(&path), place);
        folder.write("fleet-live.json", "{");
        assert_eq!(KeptPlace::read(&path), KeptPlace::default());
    }
}
