//! The pixel door: answers in place of blocked hosts, so that the page which asked goes on.
//!
//! A script gets an empty script, an image a transparent one, a preflight its headers, a person a
//! page that says why. It never fetches anything and sets nothing that outlives a block. The binary
//! makes a [`Door`] and hands it connections.

mod counters;
mod decision;
mod door;
mod figures;
mod handshake;
mod page;
mod quick;
mod request;
mod settings;
mod setup;
mod socket;
mod ticket;
mod wish;

pub use crate::door::{Door, Parts};
pub use crate::settings::Settings;
