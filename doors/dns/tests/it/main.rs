//! The DNS door as its clients meet it, and the effects of pipelines.
#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a test fails by panicking, and its name is a sentence"
)]

#[path = "../effects_support/mod.rs"]
mod effects_support;
#[path = "../support/mod.rs"]
mod support;

mod answers;
mod doh;
mod doq;
mod effects_detour;
mod effects_jobs;
mod effects_sets;
mod effects_web;
mod guard;
mod life;
mod rewrites;
mod rfc8906;
mod shaping;
mod standards;
mod tcp;
mod tls;
