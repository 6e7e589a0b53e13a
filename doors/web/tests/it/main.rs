//! The web door from outside.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod changes;
mod features;
mod files;
mod https;
mod lanes;
mod listing;
mod proxied;
mod safety;
mod sites;
mod support;
