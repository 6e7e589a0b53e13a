//! Lengths of time as our own settings have them: `5s`.
//!
//! Called by what is handed on as such settings.

use serde::Serializer;
use std::time::Duration;
use vocab::TimeSpan;

/// Writes a length of time as text.
pub(super) fn written<S: Serializer>(span: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&TimeSpan(*span))
}
