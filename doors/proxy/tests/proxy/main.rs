//! The proxy door on real sockets.

#![allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
#![allow(missing_docs, reason = "tests are sentences")]

mod access;
mod bad_origins;
mod bandwidth;
mod blocked;
mod cache;
mod fields;
mod filters;
mod huge;
mod interim;
mod mirror;
mod own;
mod parents;
mod passing;
mod quick;
mod redirected;
mod scripted;
mod secure;
mod socks;
mod support;
mod tunnels;
