//! What can be set about who may ask: networks that may, and networks that may not.

use super::networks::too_many;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use vocab::{Complaint, Network};

/// Clients that may ask.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AccessSettings {
    /// Addresses and networks that may ask; others may not. At most 100,000. Default: all may.
    pub allow: Vec<Text<Network>>,
    /// Addresses and networks that may not ask, whatever `allow` says. At most 100,000. Default:
    /// none.
    pub deny: Vec<Text<Network>>,
    /// The answer for clients that may not ask: `refuse` (the response code REFUSED with the
    /// extended error "prohibited") or `drop` (nothing, over UDP; over connections REFUSED all the
    /// same, so that clients do not wait). Default `refuse`.
    pub action: AccessAction,
}

/// Tells what clients get that may not ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AccessAction {
    /// REFUSED.
    #[default]
    Refuse,
    /// Nothing.
    Drop,
}

impl AccessSettings {
    /// Returns what is wrong, with paths relative to the section.
    pub(crate) fn check(&self) -> Vec<Complaint> {
        [("allow", &self.allow), ("deny", &self.deny)]
            .into_iter()
            .filter_map(|(path, list)| too_many(path, list))
            .collect()
    }
}
