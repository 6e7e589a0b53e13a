//! The pixel door: answers in place of blocked hosts, so that the page which asked goes on.
//!
//! A script gets an empty script, an image a transparent one, a preflight its headers, a person a
//! page that says why. It never fetches anything and sets nothing that outlives a block. The binary
//! makes a [`Door`] and hands it connections.

mod answer;
mod covers;
mod door;
mod handshake;
mod null;
mod objects;
mod page;
mod request;
mod settings;
mod ticket;

pub use crate::door::{Door, Parts};
pub use crate::settings::Settings;
