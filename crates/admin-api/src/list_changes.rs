//! The JSON of changes of lists and of own rules.
//!
//! Read by `admin`, carried out by `admin::ProgramControl`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// List that is to be added, with `url`, `rules` or `builtin`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewList {
    /// Name in profiles, logs and explanations; no other list has it.
    pub name: String,
    /// Where it is fetched from: `https://` or `http://`.
    pub url: Option<String>,
    /// Rules, one a line, in any syntax that lists have.
    pub rules: Option<String>,
    /// A list that comes with the program: `starter`.
    pub builtin: Option<String>,
    /// `block` or `allow`; `block` if left out.
    pub kind: Option<String>,
    /// Interval at which a `url` is asked for a newer version: `24h`.
    pub refresh: Option<String>,
}

/// List that is meant.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ListName {
    /// Name of the list.
    pub name: String,
}

/// List that is to hold, or to hold for nobody.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ListSwitch {
    /// Name of the list.
    pub name: String,
    /// True if it is to hold.
    pub on: bool,
}

/// Own rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OwnRules {
    /// The text, one rule a line, comments included.
    pub text: String,
    /// A word for this text; another text has another.
    pub revision: String,
}

/// Own rules as they are to be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnRulesUpdate {
    /// The text; at most 1 MiB.
    pub text: String,
    /// The revision that the change was made in: another one is refused.
    pub revision: String,
}

/// Rules that are to be looked at, and not put in force.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RulesText {
    /// The text; at most 1 MiB.
    pub text: String,
}
