//! Names of edges, and words of labels: they become parts of paths and keys, so they are plain.

use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// Bytes of the longest name or label.
const NAME_BYTES_MAX: usize = 63;

/// Name of one machine in a fleet: letters, digits, `.`, `-` and `_`, at most 63; it begins with a
/// letter or a digit.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct EdgeName(String);

/// A text that is neither a name of an edge nor a word of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadEdgeName;

impl EdgeName {
    /// Reads a name.
    ///
    /// # Errors
    /// [`BadEdgeName`] for other characters, or too many.
    pub fn parse(text: &str) -> Result<Self, BadEdgeName> {
        check_label(text)?;
        Ok(Self(text.to_owned()))
    }

    /// The name as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Checks a key or a value of a label, which is made of the same characters as a name.
///
/// # Errors
/// [`BadEdgeName`] for other characters, or too many.
pub fn check_label(text: &str) -> Result<(), BadEdgeName> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b".-_".contains(byte);
    let begins = text.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric);
    if begins && text.len() <= NAME_BYTES_MAX && text.as_bytes().iter().all(is_plain) {
        Ok(())
    } else {
        Err(BadEdgeName)
    }
}

impl fmt::Display for EdgeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for BadEdgeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("names and labels have letters, digits, `.`, `-` and `_`, at most 63")
    }
}

impl std::error::Error for BadEdgeName {}

impl<'de> Deserialize<'de> for EdgeName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(from)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}
