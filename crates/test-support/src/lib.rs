//! Origins, clients, folders and parts of doors that tests of several crates need.
//!
//! Everything is on loopback or below the system's folder for temporary files. No product code
//! names this crate: it is under `dev-dependencies` alone.

// Tests stop at the first surprise.
#![allow(clippy::unwrap_used, reason = "a failed step should stop the test")]

mod clickhouse_server;
mod door_parts;
mod http_answer;
mod one_text;
mod postgres_server;
mod probe_filter;
mod redis_cluster;
mod redis_server;
mod scratch;
mod scripted_origin;
mod time_waited;

pub use clickhouse_server::ClickHouseServer;
pub use door_parts::{blocking, open_ledger};
pub use http_answer::HttpAnswer;
pub use one_text::{OneText, route_lines};
pub use postgres_server::PostgresServer;
pub use probe_filter::PROBE_FILTER;
pub use redis_cluster::RedisCluster;
pub use redis_server::RedisServer;
pub use scratch::{ScratchFolder, scratch};
pub use scripted_origin::{OriginReply, ScriptedOrigin, ask, ok, read_message, serve_one};
pub use time_waited::TimeWaited;

use std::time::Duration;

/// Time that no step of a test takes, unless it fails.
pub const DEADLINE: Duration = Duration::from_secs(20);
/// Pause between two looks at what cannot be waited for.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// Waits until `is_so`, for at most the deadline.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let mut waited = TimeWaited::new();
    while !is_so() {
        assert!(waited.until_now() < DEADLINE, "{what}: not within {DEADLINE:?}");
        std::thread::park_timeout(LOOK_AGAIN);
    }
}
