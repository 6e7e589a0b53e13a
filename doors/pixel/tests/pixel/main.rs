//! The pixel door from outside.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod answers;
mod pages;
mod support;
mod tls;
