//! The stores of what doors fetch over HTTP, as the API tells them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The stores of what doors fetch over HTTP.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct StoreList {
    /// One a door that has a cache.
    pub stores: Vec<StoreInfo>,
}

/// One store. Counters are since the start.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct StoreInfo {
    /// Whose it is: `proxy` or `gateway`.
    pub door: String,
    /// Responses held in memory.
    pub entries: u64,
    /// Memory they take, in bytes.
    pub bytes: u64,
    /// Memory that they, what is on its way and its tables may take together, in bytes.
    pub bytes_max: u64,
    /// The most that was taken at once, in bytes.
    pub bytes_peak: u64,
    /// Requests answered from what was fresh.
    pub hits: u64,
    /// Requests answered from what was stale, as somebody allowed.
    pub stale: u64,
    /// Requests that got what another client's fetch brought.
    pub collapsed: u64,
    /// Requests for which the origin was asked.
    pub fetched: u64,
    /// Requests that are none of a cache's business, or for URLs that are never kept.
    pub passed: u64,
    /// Answers of which the origin said that what is stored is right.
    pub confirmed: u64,
    /// Answers that were stored.
    pub stored: u64,
    /// Answers that were not.
    pub not_stored: u64,
    /// Fetches that broke off.
    pub broken: u64,
    /// Stored responses that were taken back.
    pub purged: u64,
    /// What is on disk, where it has a disk tier.
    pub disk: Option<StoreDisk>,
}

/// The disk tier of a store.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct StoreDisk {
    /// Responses held.
    pub entries: u64,
    /// Disk that its segments take, in bytes.
    pub bytes: u64,
    /// Records that were dropped because they were damaged.
    pub damaged: u64,
    /// Why nothing is written for now.
    pub trouble: Option<String>,
}

/// Which stored responses to take back.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TakeBackRequest {
    /// `url`, `prefix` (of URLs), `host`, `tag` (of `Surrogate-Key` or `Cache-Tag`) or `all`.
    pub what: String,
    /// The URL, prefix, host or tag; left out for `all`.
    pub value: Option<String>,
    /// True if they are kept as stale, for the origin to confirm, instead of being dropped.
    #[serde(default)]
    pub soft: bool,
    /// In the store of this door, `proxy` or `gateway`; in all if left out.
    pub door: Option<String>,
}

/// Holds what was taken back.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct TakenBack {
    /// Responses held in memory; what is on disk beside them is not counted.
    pub entries: u64,
    /// Fetches under way whose answers will not be stored as fresh.
    pub fetches: u64,
}
