//! A user as the file has it.

use crate::role::UserRole;
use crate::two_step::StoredTotp;
use serde::{Deserialize, Serialize};

/// A user.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredUser {
    /// Letters in lower case, digits and `. _ - @`.
    pub(crate) name: String,
    pub(crate) role: UserRole,
    /// Hash of the password; none for who comes by single sign-on alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) password: Option<String>,
    /// Two-step sign-in; none while it is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) totp: Option<StoredTotp>,
    /// Subject at the provider of single sign-on; none for who has never come by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) subject: Option<String>,
    /// The moment of its making, in milliseconds since 1970.
    pub(crate) created_ms: u64,
    /// The moment of the last sign-in, likewise; none before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) signed_in_ms: Option<u64>,
}

/// All users, in the order in which they were made.
pub(crate) type StoredUsers = Vec<StoredUser>;
