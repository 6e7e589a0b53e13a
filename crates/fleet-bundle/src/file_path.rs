//! Paths of files in a bundle: relative, below its folder, and the same on every system.

use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::path::Path;

/// Bytes of the longest path.
const PATH_BYTES_MAX: usize = 512;
/// Folders above a file.
const DEPTH_MAX: usize = 16;

/// Path of a file in a bundle, with `/` between its parts; never one that leads elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct BundlePath(String);

/// Reason why a text is no such path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadBundlePath {
    /// Empty, or more than 512 bytes.
    Length,
    /// More than 16 folders.
    Depth,
    /// An empty part, `.`, `..`, or one that begins at the root.
    Part,
    /// A control character or a backslash.
    Character,
}

impl BundlePath {
    /// Reads a path.
    ///
    /// # Errors
    /// [`BadBundlePath`] for a text that is not relative and plain.
    pub fn parse(text: &str) -> Result<Self, BadBundlePath> {
        if text.is_empty() || text.len() > PATH_BYTES_MAX {
            return Err(BadBundlePath::Length);
        }
        if text.chars().any(|c| c.is_control() || c == '\\') {
            return Err(BadBundlePath::Character);
        }
        if text.split('/').count() > DEPTH_MAX + 1 {
            return Err(BadBundlePath::Depth);
        }
        if text.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(BadBundlePath::Part);
        }
        Ok(Self(text.to_owned()))
    }

    /// The path as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path as one of the file system.
    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }
}

impl fmt::Display for BundlePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for BadBundlePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Length => "a path has from 1 to 512 bytes",
            Self::Depth => "a path has at most 16 folders",
            Self::Part => "a path leads down from the bundle's folder, without `.` and `..`",
            Self::Character => "a path has no control characters and no backslash",
        })
    }
}

impl std::error::Error for BadBundlePath {}

impl<'de> Deserialize<'de> for BundlePath {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(from)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_leads_out_of_the_bundle_is_refused() {
        for bad in ["/etc/passwd", "../x", "a/../b", "a//b", "./a", "a/.", "a/", ".."] {
            assert_eq!(BundlePath::parse(bad), Err(BadBundlePath::Part), "{bad}");
        }
        assert_eq!(BundlePath::parse(""), Err(BadBundlePath::Length));
        assert_eq!(BundlePath::parse("a\0b"), Err(BadBundlePath::Character));
        assert_eq!(BundlePath::parse("a\\..\\b"), Err(BadBundlePath::Character));
        assert_eq!(BundlePath::parse(&"a/".repeat(20)), Err(BadBundlePath::Depth));
        assert!(BundlePath::parse("lists/ads.hosts").is_ok());
    }
}
