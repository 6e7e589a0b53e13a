//! The proxy door: fetches what clients ask for, unless the policy says no.
//!
//! It passes on `http` requests and carries `CONNECT` tunnels, asks the policy by URL or host
//! before anything leaves, and takes no client where that client may not go. It reads no tunnel
//! and stores nothing yet. The binary makes a [`Door`] and hands it connections.

mod door;
mod pages;
mod request;
mod settings;
mod target;
mod ticket;

pub use crate::door::{Door, Parts};
pub use crate::settings::{CacheSettings, DiskSettings, Settings};
