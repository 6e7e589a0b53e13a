//! Pipelines: how files of mosdns and OxiDNS are read, compiled and run.
#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a test fails by panicking, and its name is a sentence"
)]

mod compile;
mod compile_pack;
mod compile_runs;
mod foreign;
mod language;
mod language_hostile;
mod language_matchers;
mod language_plugins;
mod limiter;
mod machine;
mod sets;
mod sets_agree;
mod sets_dat;
mod sets_records;
mod support;
