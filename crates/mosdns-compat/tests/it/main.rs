//! Files of mosdns and OxiDNS: how they are read, compiled and run.
#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a test fails by panicking, and its name is a sentence"
)]

#[allow(dead_code, reason = "the tests of the machine use the rest")]
#[path = "../../../pipeline/tests/it/support/mod.rs"]
mod support;

mod compile;
mod compile_pack;
mod compile_runs;
mod foreign;
mod language;
mod language_environment;
mod language_hostile;
mod language_leniency;
mod language_matchers;
mod language_network;
mod language_plugins;
