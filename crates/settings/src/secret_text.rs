//! A text that no output shows: a secret of a program, or a field that may let somebody in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A text that may let somebody in; its debug form is a mark.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct SecretText(String);

impl SecretText {
    /// The text itself, for the request that carries it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<&str> for SecretText {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}
