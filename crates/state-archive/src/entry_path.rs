//! Paths in an archive: where a file belongs, and nothing that leads elsewhere.

use crate::error::HostileEntry;
use std::fmt;
use std::path::{Component, Path, PathBuf};

/// Folders in one another, at most.
const DEPTH_MAX: usize = 16;
/// Bytes of a path, as tar's oldest header holds them.
pub(crate) const PATH_BYTES_MAX: usize = 255;

/// Folder that a path of an archive starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum EntryRoot {
    /// The state folder.
    State,
    /// The folder of the configuration.
    Configuration,
}

/// The place of a file in an archive: `state/ca/ca.pem`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct EntryPath {
    pub(crate) root: EntryRoot,
    /// Below the root; names alone, none of them `.` or `..`.
    pub(crate) below: PathBuf,
}

impl EntryRoot {
    pub(crate) const ALL: [Self; 2] = [Self::State, Self::Configuration];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::Configuration => "configuration",
        }
    }
}

impl EntryPath {
    pub(crate) fn new(root: EntryRoot, below: &Path) -> Result<Self, HostileEntry> {
        let hostile = || HostileEntry::Path(below.display().to_string());
        let is_name = |part: Component<'_>| matches!(part, Component::Normal(_));
        let names = below.components().all(is_name);
        // `Path` hides a `.` in the middle and a slash at the end: the text must be the names.
        let whole: PathBuf = below.components().collect();
        let text = below.to_str().ok_or_else(hostile)?;
        let is_plain = whole.as_os_str() == text && !text.contains(['\0', '\n']);
        let depth = below.components().count();
        let is_short = root.as_str().len() + 1 + text.len() <= PATH_BYTES_MAX;
        if names && is_plain && is_short && (1..=DEPTH_MAX).contains(&depth) {
            Ok(Self { root, below: below.into() })
        } else {
            Err(hostile())
        }
    }

    /// Reads the name of an entry.
    pub(crate) fn parse(text: &str) -> Result<Self, HostileEntry> {
        let text = text.strip_suffix('/').unwrap_or(text);
        let found = EntryRoot::ALL
            .into_iter()
            .find_map(|root| Some((root, text.strip_prefix(root.as_str())?.strip_prefix('/')?)));
        let (root, below) = found.ok_or_else(|| HostileEntry::Path(text.into()))?;
        Self::new(root, Path::new(below))
    }

    /// Where it is unpacked below a folder.
    pub(crate) fn within(&self, folder: &Path) -> PathBuf {
        folder.join(self.root.as_str()).join(&self.below)
    }
}

impl fmt::Display for EntryPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.root.as_str(), self.below.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_lead_out_are_refused() {
        for bad in [
            "state/../x",
            "state//etc/passwd",
            "/etc/passwd",
            "state/a/./b",
            "state/",
            "state",
            "statex/a",
            "configuration/..",
            "other/a",
            "state/a\0b",
            "state/a\nb",
            "",
            &format!("state/{}", "a/".repeat(40)),
            &format!("state/{}", "a".repeat(300)),
        ] {
            assert!(EntryPath::parse(bad).is_err(), "{bad:?}");
        }
        let good = EntryPath::parse("state/ca/ca.pem");
        assert_eq!(good.map(|it| it.to_string()), Ok("state/ca/ca.pem".into()));
        assert!(EntryPath::parse("configuration/conf.d/").is_ok());
    }
}
