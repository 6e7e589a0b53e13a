//! Programs, and the sets, limits and records that they ask.
#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a test fails by panicking, and its name is a sentence"
)]

mod limiter;
mod machine;
mod sets;
mod sets_agree;
mod sets_dat;
mod sets_records;
mod support;
