//! The crate's promises, over loopback.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a test fails by panicking")]

mod connections;
mod handshakes;
mod hellos;
mod outbox;
mod records;
mod support;
