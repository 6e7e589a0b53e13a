//! Second-level cache: answers that machines of a fleet keep for each other in Valkey or Redis.
//!
//! The server is not trusted: names are keyed hashes, values are sealed and bound to their name,
//! and nothing is believed that is past its time or older than a purge. It decides nothing about
//! clients, and holds nobody up for longer than its budget. Made by the binary, asked by the
//! resolver.

mod fleet_cache;
mod purge_floor;
mod sealed_answer;

pub use fleet_cache::{CacheCounts, CachePurge, FleetCache};
pub use sealed_answer::{AnswerSeal, SealedAnswer};
