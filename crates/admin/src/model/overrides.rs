//! Names that people allow or block by hand, as JSON.

use crate::iso::iso;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Name that is to be allowed or blocked, for whom and for how long.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OverrideRequest {
    /// The name; the same holds for all below it.
    pub host: String,
    /// For how long.
    pub minutes: OverrideMinutes,
    /// The address of the one client it is for; for all clients if left out.
    pub client: Option<String>,
    /// The profile whose clients it is for, in place of one client.
    pub profile: Option<String>,
}

/// For how long a name is allowed or blocked.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum OverrideMinutes {
    /// Minutes from now, 1 to 1440.
    Count(u32),
    /// `always`: until it is taken back.
    Word(String),
}

/// Name for which the lists are to decide again.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EndOverrideRequest {
    /// The name that is allowed or blocked.
    pub host: String,
    /// The address of the client it is so for; left out if it is for all, or for a profile.
    pub client: Option<String>,
    /// The profile it is so for; left out if it is for all, or for one client.
    pub profile: Option<String>,
}

/// Names that are allowed by hand.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct AllowList {
    /// By name; 1024 at most, with those that are blocked.
    pub allows: Vec<OverrideInfo>,
}

/// Names that are blocked by hand.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct BlockList {
    /// By name; 1024 at most, with those that are allowed.
    pub blocks: Vec<OverrideInfo>,
}

/// A name that is allowed though rules block it, or blocked though they do not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OverrideInfo {
    /// The name, with all below it.
    pub host: String,
    /// The address of the one client it holds for; null if it is for all, or for a profile.
    pub client: Option<String>,
    /// The profile it holds for; null if it is for all, or for one client.
    pub profile: Option<String>,
    /// Until when; null if until it is taken back.
    pub until: Option<String>,
    /// Seconds until then; null if it does not end by itself.
    pub left_s: Option<u64>,
}

impl OverrideInfo {
    /// A name for all clients, until a moment in milliseconds since 1970 or, without one, until it
    /// is taken back.
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
