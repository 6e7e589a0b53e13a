//! What can be set about header fields.
//!
//! Plain data. Read as part of the `gateway` section.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How servers are told who the client is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ForwardedStyle {
    /// In `X-Forwarded-For`, `-Proto`, `-Host` and `-Port`.
    #[default]
    XForwarded,
    /// In `Forwarded` (RFC 7239).
    Standard,
    /// In all of them.
    Both,
    /// Not at all.
    Off,
}
