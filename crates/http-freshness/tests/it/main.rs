//! The rules of RFC 9111 as tables: one row a case, named after the section or after the test of
//! the public suite (http-tests/cache-tests) that asks the same.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod head;
mod hostile;
mod keeping;
mod lifetime;
mod reusing;
mod scene;
mod telling;
mod updating;
mod variants;
