//! Address lists and routes of a MikroTik router, fed with the addresses of answers over its API.
//!
//! One task has one connection and does one thing after the other; whoever answers a query puts an
//! order into its queue and goes on. Entries carry a comment that says whose they are, and nobody
//! else's are changed. Run by the effects' thread.

mod access;
mod entries;
mod leases;
mod link;
mod routes;
mod session;
mod spec;
mod task;

pub(super) use routes::{RouteEffect, serve as serve_routes};
pub(super) use session::serve;
pub(super) use spec::RouterEffect;
