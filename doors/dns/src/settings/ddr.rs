//! What can be set about the discovery of encrypted listeners (RFC 9462).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tells whether clients of plain DNS are told where this server speaks encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DdrMode {
    /// They are, where there are encrypted listeners and `names`.
    #[default]
    Auto,
    /// They are told that there are none.
    Off,
}
