//! A word for a text, by which whoever sends a change says what it was made from.

use std::hash::{DefaultHasher, Hash, Hasher};

/// A word for this text; another text has another.
pub fn revision(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
