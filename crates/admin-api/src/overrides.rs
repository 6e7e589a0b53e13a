//! Names that people allow or block by hand, as JSON.

use policy::{NameOverride, OverrideClients, OverrideEnd};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vocab::Now;
use vocab::iso;

/// Name that is to be allowed or blocked, for whom and for how long.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OverrideRequest {
    /// The name; the same holds for all below it. `*` is everything, for one client or a profile:
    /// allowed, protection is paused for it; blocked, nothing passes that Tidegate sees.
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
    /// The name that is allowed or blocked; `*` for everything.
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
    /// The name, with all below it; `*` for everything.
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

/// The word that stands for every name.
pub const EVERY_NAME: &str = "*";

/// Words for what an override is about, for whom, and until when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverrideWords {
    /// The name; [`EVERY_NAME`] for everything.
    pub host: String,
    /// The address of the one client.
    pub client: Option<String>,
    /// The profile.
    pub profile: Option<String>,
    /// The end, in milliseconds since 1970; none where it ends by no clock.
    pub until_unix_ms: Option<u64>,
}

impl OverrideWords {
    /// Words of an override.
    pub fn of(held: &NameOverride) -> Self {
        let (client, profile) = match &held.clients {
            OverrideClients::Address(address) => (Some(address.to_string()), None),
            OverrideClients::Profile(name) => (None, Some(name.clone())),
            OverrideClients::Everyone => (None, None),
        };
        let until_unix_ms = match held.until {
            OverrideEnd::Time(unix_ms) => Some(unix_ms),
            OverrideEnd::Revoked => None,
        };
        let host = held.host.as_ref().map_or_else(|| EVERY_NAME.to_owned(), ToString::to_string);
        Self { host, client, profile, until_unix_ms }
    }
}

impl OverrideInfo {
    /// An override as it is shown.
    pub fn of(held: &NameOverride, now: Now) -> Self {
        let OverrideWords { host, client, profile, until_unix_ms } = OverrideWords::of(held);
        Self {
            host,
            client,
            profile,
            until: until_unix_ms.map(iso),
            left_s: until_unix_ms.map(|until| until.saturating_sub(now.unix_ms) / 1000),
        }
    }
}
