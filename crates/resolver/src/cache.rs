//! Answers that are kept: one cache, all of them by their number, and their files on disk.
//!
//! It asks no upstream; [`crate::engine`] does. Called by [`crate::Resolver`], and by the engine
//! for what upstreams have answered.

pub(crate) mod answer_cache;
pub(crate) mod caches;
pub(crate) mod key;
pub(crate) mod persist;
pub(crate) mod snapshot;
