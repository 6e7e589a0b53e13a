//! Settings: the section `fleet.live` of the configuration.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vocab::Complaint;

/// State that a fleet shares while it runs, in Valkey or Redis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LiveSettings {
    /// Server: `redis://HOST[:PORT][/NUMBER]`, or `rediss://` over TLS.
    /// Passwords are best kept in a file: `${file:…}`.
    pub url: String,
}

impl LiveSettings {
    /// Everything that is wrong with them.
    pub fn check(&self) -> Vec<Complaint> {
        let complaint = Complaint::new("", "this is not built yet");
        vec![complaint.remedy("leave the section out")]
    }
}
