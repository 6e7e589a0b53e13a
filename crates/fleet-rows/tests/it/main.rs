//! Rows of an edge in real databases.
#![allow(clippy::unwrap_used, reason = "a failed step should stop the test")]

mod clickhouse;
mod edge;
mod postgres;
