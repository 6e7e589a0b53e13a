//! Effects as pipelines set them off.
#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a test fails by panicking, and its name is a sentence"
)]

#[path = "../support/mod.rs"]
mod support;

mod detour;
mod jobs;
mod router;
mod routes;
mod sets;
mod web;
