//! The web door from outside.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod files;
mod https;
mod proxied;
mod safety;
mod sites;
mod support;
