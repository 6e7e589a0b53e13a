//! The JSON of the configuration: its text, one setting of it, and changes to it.
//!
//! Filled by `admin::ProgramControl`, described by utoipa. See the crate for what all of it
//! shares.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// The configuration that runs.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ConfigText {
    /// The file; none for the built-in one.
    pub file: Option<String>,
    /// The text as it was read, comments included, with `…` in place of passwords and tokens.
    pub text: String,
}

/// A place in the configuration.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SettingQuery {
    /// Keys joined by dots, items of lists by number: `gateway.routes[0].pool`.
    pub path: String,
}

/// One setting.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SettingValue {
    /// The place.
    pub path: String,
    /// The value in force, defaults included, with `…` in place of passwords and tokens.
    pub value: serde_json::Value,
}

/// Changes to the configuration's file, all of them or none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SettingsRequest {
    /// At least one, at most 64; made one after the other.
    pub changes: Vec<SettingEdit>,
}

/// Change of one setting in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SettingEdit {
    /// Keys joined by dots, items of lists by number: `gateway.routes[0].pool`. What is not there
    /// yet is added; the item after a list's last is a new one.
    pub path: String,
    /// The value as it is written in the file, on one line: `10`, `[a, b]`, `{ a: b }`. Without it
    /// the setting is taken out of the file.
    pub value: Option<String>,
}
