//! The HTTP cache of every door that fetches: a private or shared cache after RFC 9111.
//!
//! It sends nothing and knows no server. A door asks it what is at hand for a request, is told to
//! serve, to ask the origin (and with which conditions), or to wait for a fetch that is under way,
//! and hands in what the origin answers. Time is handed in.

pub mod disk;
mod head;
mod key;

pub use head::Head;
pub use key::{Key, KeyHash, Seed};
