//! Second-level cache: answers and small HTTP responses that machines of a fleet keep for
//! each other in Valkey or Redis.
//!
//! The server is not trusted: names are keyed hashes, values are sealed and bound to their name,
//! and nothing is believed that is past its time or older than a purge. It decides nothing about
//! clients, and holds nobody up for longer than its budget. Made by the binary, asked by the
//! resolver and by HTTP caches.

mod counted_looks;
mod fleet_cache;
mod fleet_responses;
mod forgotten_urls;
mod purge_floor;
mod sealed_answer;
mod shared_bytes;

pub use counted_looks::CacheCounts;
pub use fleet_cache::{CachePurge, FleetCache};
pub use fleet_responses::FleetResponses;
pub use sealed_answer::{AnswerSeal, SealedAnswer};
pub use shared_bytes::{read_response, write_response};
