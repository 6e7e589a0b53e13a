//! The DNS door as its clients meet it.
#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a test fails by panicking, and its name is a sentence"
)]

#[path = "../support/mod.rs"]
mod support;

mod answers;
mod doh;
mod doq;
mod guard;
mod life;
mod luau;
mod rewrites;
mod rfc8906;
mod shaping;
mod standards;
mod tcp;
mod tls;
