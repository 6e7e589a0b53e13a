//! The web door: files of a folder, with the conditions and ranges of RFC 9110, and nothing outside
//! the folder.
//!
//! It lists no directories, runs no programs and compresses nothing yet. A request reads from top to
//! bottom in `request`. The binary makes a [`Door`] from the list of sites and hands it connections.

mod content;
mod door;
mod pages;
mod path;
mod request;
mod root;
mod secure;
mod settings;
mod ticket;
mod tls;

pub use crate::door::{Door, Parts, check_folders};
pub use crate::secure::{ClientCertificate, TlsSettings};
pub use crate::settings::{SiteSettings, check};
