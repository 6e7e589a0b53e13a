//! The JSON of notes: what programs behind the doors complain about, and why lists were not
//! fetched.
//!
//! Filled by the handler of `/api/notes`, described by utoipa. See the crate for what all of it
//! shares.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Holds what programs behind the doors complain about.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct NoteTable {
    /// The last lines, newest first; at most 256.
    pub notes: Vec<NoteLine>,
    /// All of them since the start.
    pub seen: u64,
}

/// One line that a script has written to its standard error, or why a list was not fetched.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct NoteLine {
    /// When it came.
    pub at: String,
    /// Behind which door; empty where it is about the program itself.
    pub door: String,
    /// The script, with its host; `list` and its name.
    pub from: String,
    /// What it says.
    pub text: String,
}
