//! RFC 9110 as pure functions: the rules of fields that need no message, no socket and no clock.
//!
//! Preconditions and ranges, fields that belong to one connection, what a request claims of its
//! client, the kind of thing it is for, and the type of a file. It frames nothing, refuses nothing
//! and keeps nothing. Called by `http-engine`, which hands all of it on, and through it by every
//! HTTP door.

pub mod authority;
pub mod claims;
pub mod conditional;
pub mod hop_by_hop;
pub mod kind;
pub mod mime;
pub mod range;
