//! The pixel door: answers in place of blocked hosts, so that the page which asked goes on.
//!
//! A script gets an empty script, an image a transparent one, a preflight its headers, a person a
//! page that says why. It never fetches anything and sets nothing that outlives a block;
//! connections to names that were let through are carried on, unread. The binary makes a
//! [`PixelDoor`] and hands it connections.

mod answered_names;
mod connection;
mod counters;
mod decision;
mod door;
mod fast_path;
mod handshake;
mod inspection;
mod page;
mod platform;
mod preview;
mod redaction;
mod request;
mod serve;
mod servstats;
mod settings;
mod setup;
mod socket;
mod splice;
mod splice_bounds;
mod stats;
mod ticket;
mod tunnels;

pub use crate::answered_names::AnsweredNames;
pub use crate::door::{PixelDoor, PixelParts};
pub use crate::inspection::InspectedBody;
pub use crate::preview::{JudgedPart, PixelForecast, lookup, preview};
pub use crate::redaction::{REDACTED, RedactedKeys};
pub use crate::settings::{GATED_REMEDY, InspectSettings, Settings, is_gated};
pub use crate::setup::CHECK_PATH;
pub use crate::splice_bounds::SpliceBounds;
pub use null_answers::own_page::check as check_block_page;
