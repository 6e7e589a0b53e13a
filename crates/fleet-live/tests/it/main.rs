//! Edges with a real server: what one says, the others do.
#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a test fails by panicking, and its name is a sentence"
)]

mod cluster;
mod edge;
mod entries;
mod hostile;
mod leases;
mod outages;
mod purges;
mod questions;
mod sentinel;
mod server_access;
mod tickets;
