//! The JSON of the gateway's pools: how they do, and what is to change in them.
//!
//! Plain data with its description for `OpenAPI`; nothing is read or changed here. Filled by the
//! program, told by the admin API.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The gateway's pools.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct PoolList {
    /// By name; none without a gateway.
    pub pools: Vec<PoolInfo>,
}

/// Servers that serve the same.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct PoolInfo {
    /// Name.
    pub name: String,
    /// Requests that were sent to it, retries not counted.
    pub requests: u64,
    /// Requests that were sent to a second server, or a third.
    pub retries: u64,
    /// Requests with high priority that wait for a server.
    pub waiting_high: u64,
    /// Requests with normal priority that wait.
    pub waiting_normal: u64,
    /// Requests with low priority that wait.
    pub waiting_low: u64,
    /// Requests that have waited.
    pub waited: u64,
    /// Requests that found the line full or waited in vain.
    pub unserved: u64,
    /// Servers, in the order of the configuration; behind them those that were found by name.
    pub servers: Vec<PoolServer>,
    /// The names that servers are found by.
    pub names: Vec<PoolName>,
}

/// A name that servers of a pool are found by.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct PoolName {
    /// URL, as it stands in the configuration.
    pub url: String,
    /// What is asked for: `addresses` or `srv`.
    pub resolve: String,
    /// Number of servers it stands for.
    pub servers: usize,
    /// Why the last look-up failed; null if it did not. The servers that it had stay.
    pub failure: Option<String>,
    /// When the last look-up ended, ISO 8601; null before the first.
    pub looked_up_at: Option<String>,
    /// When the next one is due, ISO 8601; null while one is under way.
    pub next_at: Option<String>,
}

/// A server of a pool.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct PoolServer {
    /// URL, with the address that was found for a name.
    pub url: String,
    /// The URL with that name; null if it was not found by one.
    pub found_by: Option<String>,
    /// Share that it gets beside the others.
    pub weight: u32,
    /// True if it serves only while no other is up.
    pub backup: bool,
    /// `up`, `trial` (its rest is over and one request tries it), `resting`, `down` (its checks
    /// fail) or `draining`.
    pub state: String,
    /// What its checks say: `up`, `down`, or `unknown` without checks.
    pub health: String,
    /// For how many more milliseconds it rests.
    pub rests_ms: u64,
    /// Requests that it works on.
    pub pending: u32,
    /// Answers that it gave.
    pub answers: u64,
    /// Requests that it failed.
    pub failures: u64,
    /// Time that its answers take to begin: the average by which it is chosen; 0 while nobody
    /// asked.
    pub latency_us: u64,
}

/// Holds what is to change in a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PoolChangeRequest {
    /// Which pool.
    pub pool: String,
    /// The URL of the server.
    pub server: String,
    /// Action: `add`, `remove`, `drain` (no new clients), `undrain` or `weigh`.
    pub action: String,
    /// With `add` and `weigh`: how much it gets beside the others, from 1 to 100. Default 1.
    #[serde(default)]
    pub weight: Option<u32>,
    /// With `add`: whether it serves only while no other is up. Default false.
    #[serde(default)]
    pub backup: bool,
    /// With `add`: requests that it works on at once. Default 0: no bound.
    #[serde(default)]
    pub max_requests: u32,
    /// With `add`: whether its host is a name that stands for several servers. Default: it is one.
    #[serde(default)]
    pub resolve: Option<PoolResolve>,
}

/// Tells what the name of servers is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PoolResolve {
    /// Addresses.
    Addresses,
    /// SRV records.
    Srv,
}

/// The servers that a pool is to have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolServersRequest {
    /// Which pool.
    pub pool: String,
    /// All its servers, as in the configuration.
    pub servers: Vec<ServerRequest>,
}

/// A server as it stands in the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum ServerRequest {
    /// URL.
    Url(String),
    /// URL and more.
    Detailed(NewServer),
}

/// A server that comes into a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NewServer {
    /// URL. Needed.
    pub url: String,
    /// Share that it gets beside the others, from 1 to 100. Default 1.
    pub weight: u32,
    /// True if it serves only while no other is up. Default false.
    pub backup: bool,
    /// Requests that it works on at once. Default 0: no bound.
    pub max_requests: u32,
    /// True if it takes no new clients. Default false.
    pub drain: bool,
    /// Whether its host is a name that stands for several servers. Default: it is one.
    pub resolve: Option<PoolResolve>,
}

impl Default for NewServer {
    fn default() -> Self {
        Self {
            url: String::new(),
            weight: 1,
            backup: false,
            max_requests: 0,
            drain: false,
            resolve: None,
        }
    }
}

impl From<ServerRequest> for NewServer {
    fn from(server: ServerRequest) -> Self {
        match server {
            ServerRequest::Url(url) => Self { url, ..Self::default() },
            ServerRequest::Detailed(server) => server,
        }
    }
}
