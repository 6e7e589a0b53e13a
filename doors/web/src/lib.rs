//! The web door: files of a folder, with the conditions and ranges of RFC 9110, and nothing outside
//! the folder.
//!
//! It runs no programs and compresses nothing yet. A request reads from top to bottom in `request`.
//! The binary makes a [`Door`] from the list of sites and hands it connections.

mod answer;
mod content;
mod door;
mod errors;
mod host;
mod listing;
mod look;
mod multipart;
mod pages;
mod path;
mod pattern;
mod quick;
mod request;
mod root;
mod rules;
mod secure;
mod settings;
mod site;
mod store;
mod table;
mod ticket;
mod tls;

pub use crate::door::{Door, Parts, check_folders};
pub use crate::secure::{ClientCertificate, TlsSettings};
pub use crate::settings::written::{CacheRule, HeaderRule, Hidden, Listing, Redirect, Symlinks};
pub use crate::settings::{SiteSettings, check};
