//! Roles: how much a user may do.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Role of a user. Each may do all that the ones before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UserRole {
    /// Looks at everything but secrets and other people's doings.
    Viewer,
    /// Does what a day brings: pauses, allows, blocks, lists, rules, profiles, pools.
    Operator,
    /// Changes the configuration, and users.
    Administrator,
}

/// A word that names no role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownRole;

impl UserRole {
    /// The word of the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Administrator => "administrator",
        }
    }
}

impl fmt::Display for UserRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for UserRole {
    type Err = UnknownRole;
    fn from_str(text: &str) -> Result<Self, UnknownRole> {
        let all = [Self::Viewer, Self::Operator, Self::Administrator];
        all.into_iter().find(|role| role.as_str() == text).ok_or(UnknownRole)
    }
}

impl fmt::Display for UnknownRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a role is viewer, operator or administrator")
    }
}

impl std::error::Error for UnknownRole {}
