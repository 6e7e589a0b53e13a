//! Index of what the HTTP caches have stored, as the API tells it.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Holds what to list.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct CacheQuery {
    /// The URLs of this host, whatever their port; every site with its counts if this and `prefix`
    /// are left out.
    pub site: Option<String>,
    /// The URLs that begin so.
    pub prefix: Option<String>,
    /// Of the cache of this door, `proxy` or `gateway`; of each if left out.
    pub door: Option<String>,
    /// The site or URL behind which the page begins: `next_after` of the page before.
    pub after: Option<String>,
    /// Sites or URLs wanted, 1 to 1000; 100 if left out. There are fewer where they are very long.
    pub limit: Option<u32>,
}

/// Holds what is stored, a page for each cache.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct CacheIndex {
    /// One a door that has a cache.
    pub caches: Vec<CachePage>,
}

/// A page of what one cache has stored.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct CachePage {
    /// Door that it is of: `proxy` or `gateway`.
    pub door: String,
    /// Sites in the order of their names; empty where `site` or `prefix` was asked for.
    pub sites: Vec<CachedSite>,
    /// URLs in their order; empty where sites were asked for.
    pub urls: Vec<CachedUrl>,
    /// Value to send as `after` for the next page; left out on the last.
    pub next_after: Option<String>,
    /// False if the walk through the store took too long and was ended: sites, URLs and counts may
    /// be missing.
    pub complete: bool,
}

/// Holds what is stored of a site.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct CachedSite {
    /// The host, without its port.
    pub site: String,
    /// Responses in memory.
    pub memory_objects: u64,
    /// Bytes of their bodies.
    pub memory_bytes: u64,
    /// Responses on disk. Most of what is in memory is there too.
    pub disk_objects: u64,
    /// Bytes of their bodies.
    pub disk_bytes: u64,
}

/// A URL, and what is stored of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct CachedUrl {
    /// The URL.
    pub url: String,
    /// One a variant.
    pub responses: Vec<CachedResponse>,
}

/// A stored response.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct CachedResponse {
    /// Status of it.
    pub status: u16,
    /// Bytes of its body in memory; null if it is not there.
    pub memory_bytes: Option<u64>,
    /// Bytes of the front of its body in memory, where the rest is missing.
    pub front_bytes: Option<u64>,
    /// Bytes of its body on disk; null if it is not there.
    pub disk_bytes: Option<u64>,
    /// Age of it, in seconds.
    pub age_s: u64,
    /// Seconds for which it is fresh; below zero for how long it has been stale.
    pub fresh_s: i64,
}
