//! A variable of another program that we have no word for.

use std::fmt;

/// The variable, as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWord(pub String);

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} has no counterpart", self.0)
    }
}
