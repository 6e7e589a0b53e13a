//! Address lists of a MikroTik router, fed with the addresses of answers over its API.
//!
//! One task has one connection and does one thing after the other; whoever answers a query puts an
//! order into its queue and goes on. Entries carry a comment that says whose they are, and nobody
//! else's are changed. Run by the effects' thread.

mod entries;
mod session;
mod spec;

pub(super) use session::serve;
pub(super) use spec::RouterEffect;
