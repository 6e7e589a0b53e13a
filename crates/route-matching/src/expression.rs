//! A regular expression that settings write where a plain text could stand.
//!
//! What it may cost is bounded when it is compiled. Used by the patterns and by `rewrite`.

use regex::{Regex, RegexBuilder};
use std::fmt;

/// Sign that begins a regular expression where a plain text could stand.
pub(crate) const REGEX_SIGN: char = '~';
/// Largest compiled expression, in bytes.
const REGEX_BYTES_MAX: usize = 256 << 10;

/// A regular expression; equal to another of the same text.
#[derive(Clone, Debug)]
pub struct MatchExpression(Regex);

/// An expression that cannot be used, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct BadExpression {
    text: String,
    why: regex::Error,
}

impl MatchExpression {
    /// Compiles a text.
    pub(crate) fn new(text: &str) -> Result<Self, BadExpression> {
        let regex = RegexBuilder::new(text).size_limit(REGEX_BYTES_MAX).build();
        regex.map(Self).map_err(|why| BadExpression { text: text.into(), why })
    }

    /// True if a part of `text` matches.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    /// The expression itself.
    pub(crate) const fn regex(&self) -> &Regex {
        &self.0
    }
}

impl fmt::Display for BadExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} cannot be used: {}", self.text, self.why)
    }
}

impl std::error::Error for BadExpression {}

impl PartialEq for MatchExpression {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl Eq for MatchExpression {}
