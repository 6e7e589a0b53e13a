//! DNS messages in place, held beside the `domain` crate as the oracle.
#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a test fails by panicking, and its name is a sentence"
)]

mod answers;
mod forged;
mod json;
mod local_records;
mod oracle;
mod queries;
mod reply;
mod svcb;
mod upstream_answers;
