//! The gateway over real sockets: routes, servers behind, pools and its edge.
#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a test fails by panicking, and its name is a sentence"
)]

mod edge;
mod gateway;
mod gateway_cache;
mod gateway_filters;
mod gateway_framing;
mod gateway_guards;
mod gateway_reproxy;
mod gateway_routing;
mod gateway_scripts;
mod gateway_slashes;
mod gateway_uploads;
mod gateway_ways;
mod pools;
mod support;
