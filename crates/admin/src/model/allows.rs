//! What is let through, as JSON.

use crate::iso::iso;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Which name to let through.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AllowRequest {
    /// The name; all below it passes too.
    pub host: String,
    /// For how long.
    pub minutes: AllowMinutes,
    /// The address of the one client it is for; for all clients if left out.
    pub client: Option<String>,
}

/// For how long a name is let through.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum AllowMinutes {
    /// Minutes from now, 1 to 1440.
    Count(u32),
    /// `always`: until it is revoked.
    Word(String),
}

/// Which leave to end.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RevokeRequest {
    /// The name that is let through.
    pub host: String,
    /// The address of the client it is let through for; left out if it is for all.
    pub client: Option<String>,
}

/// Holds what is let through.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct AllowList {
    /// By name; 1024 at most.
    pub allows: Vec<AllowInfo>,
}

/// A name that passes though rules block it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AllowInfo {
    /// The name, with all below it.
    pub host: String,
    /// The address of the one client it passes for; null if it is for all, or for a profile.
    pub client: Option<String>,
    /// The profile it passes for; null if it is for all, or for one client.
    pub profile: Option<String>,
    /// Until when; null if until it is revoked.
    pub until: Option<String>,
    /// Seconds until then; null if it does not end by itself.
    pub left_s: Option<u64>,
}

impl AllowInfo {
    /// A name that passes for all, until a moment in milliseconds since 1970 or, without one, until
    /// it is revoked.
    pub fn of(host: String, until_unix_ms: Option<u64>, now_unix_ms: u64) -> Self {
        Self {
            host,
            client: None,
            profile: None,
            until: until_unix_ms.map(iso),
            left_s: until_unix_ms.map(|until| until.saturating_sub(now_unix_ms) / 1000),
        }
    }
}
