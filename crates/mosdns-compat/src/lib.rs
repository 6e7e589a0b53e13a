//! The pipelines of mosdns v5 and OxiDNS 1.x, as programs of ours.
//!
//! [`language`] reads their files whole, with every complaint and its place; [`compile`] makes of
//! them one flat program for the crate `pipeline`, and says what it needs of the world: listeners,
//! caches, upstreams, effects. It is pure: files are handed in. Called by `config` and the DNS
//! door.

pub mod compile;
pub mod language;
