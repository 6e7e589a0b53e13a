//! The disk tier from outside: what was stored comes back exactly, or not at all.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod damage;
mod model;
mod opening;
mod processes;
mod purging;
mod reading;
mod reclaiming;
mod support;
mod walking;
