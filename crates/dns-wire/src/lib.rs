//! DNS messages where they lie: read, kept, patched and made without taking them apart.
//!
//! A query is its header, its one question and its OPT; an answer is the whole response in wire
//! form with the places of its TTLs. It knows no socket, no clock and no randomness, and refuses
//! what is malformed instead of guessing. Called by the DNS door for each message and by
//! `resolver`; local records are read by the `domain` crate (docs/adr/0006).

mod answer;
mod ask;
pub mod ask_options;
mod codes;
pub mod json;
mod leave_out;
pub mod options;
mod query;
mod record_data;
pub mod records;
pub mod rendered;
pub mod reply;
pub mod svcb;
pub mod synthesize;
mod wire;

pub use answer::{
    ALIASES_MAX, BadAnswer, FAILURE_TTL_S, NEGATIVE_TTL_MAX_S, NEGATIVE_TTL_WITHOUT_SOA_S,
    OPTIONS_BYTES_MAX, STALE_TTL_S, TTL_MAX_S, WireAnswer,
};
pub use ask::{NotOurs, ResponseHeader, check_response, key_of, write_query};
pub use codes::{CLASS_IN, EDE_TEXT_BYTES_MAX, Ede, EdeCode, Rcode, record_type};
pub use query::{
    BadQuery, BadReply, DnsQuery, DropReason, Edns, KeyBuffer, QueryFlags, UDP_BYTES_MAX,
    UDP_BYTES_WITHOUT_EDNS,
};
