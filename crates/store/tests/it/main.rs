//! The store as a door uses it: with an origin that counts, clients at their own pace, and a clock
//! that is handed in.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod coalescing;
mod disk;
mod door;
mod memory;
mod purge;
mod threads;
mod validation;
