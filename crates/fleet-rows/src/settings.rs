//! Settings: the section `fleet.rows` of the configuration.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vocab::Complaint;

/// Rows of a fleet's requests in `PostgreSQL`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RowSettings {
    /// Database: `postgresql://USER:PASSWORD@HOST[:PORT]/NAME`.
    /// Passwords are best kept in a file: `${file:…}`.
    pub url: String,
}

impl RowSettings {
    /// Everything that is wrong with them.
    pub fn check(&self) -> Vec<Complaint> {
        let complaint = Complaint::new("", "this is not built yet");
        vec![complaint.remedy("leave the section out")]
    }
}
