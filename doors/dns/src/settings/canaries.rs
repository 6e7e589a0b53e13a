//! What can be set about canary names.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Treatment of canary names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CanaryAction {
    /// They are answered so that programs keep using this door.
    Answer,
    /// They are names like any other.
    Pass,
}
