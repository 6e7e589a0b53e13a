//! The JSON of the gateway's pools: how they do, and what is to change in them.
//!
//! Filled by [`crate::Control`], described by utoipa. See [`super`] for what all of it shares.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The gateway's pools.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Pools {
    /// By name; none without a gateway.
    pub pools: Vec<Pool>,
}

/// Servers that serve the same.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Pool {
    /// Its name.
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
    /// Its servers, in the order of the configuration.
    pub servers: Vec<PoolServer>,
}

/// A server of a pool.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct PoolServer {
    /// Its URL.
    pub url: String,
    /// How much it gets beside the others.
    pub weight: u32,
    /// Whether it serves only while no other is up.
    pub backup: bool,
    /// `up`, `trial` (its rest is over and one request tries it), `resting`, `down` (its checks fail)
    /// or `draining`.
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
    /// How long its answers take to begin: the average by which it is chosen; 0 while nobody asked.
    pub latency_us: u64,
}

/// What is to change in a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PoolChangeRequest {
    /// Which pool.
    pub pool: String,
    /// The URL of the server.
    pub server: String,
    /// What becomes of it: `add`, `remove`, `drain` (no new clients), `undrain` or `weigh`.
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
}
