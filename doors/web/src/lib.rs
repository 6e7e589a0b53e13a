//! The web door: files of a folder, with the conditions and ranges of RFC 9110, and nothing outside
//! the folder.
//!
//! Scripts are answered by a `FastCGI` server or, where the settings say so, by a CGI program. A
//! request reads from top to bottom in `request`.
//! The binary makes a [`WebDoor`] from the list of sites and hands it connections.

mod answer;
mod auth;
mod compress;
mod concat;
mod connection;
mod door;
mod errors;
mod fast_path;
mod fastcgi;
mod film;
mod folder;
mod forbidden_files;
mod forwarded;
mod handshake;
mod host;
mod hsts;
mod listing;
mod look;
mod negotiate;
mod outcome;
mod pages;
mod palimg;
mod parts;
mod path;
mod pattern;
mod programs;
mod record;
mod request;
mod root;
mod rules;
mod script;
mod seen_scripts;
mod serve;
mod settings;
mod shape;
mod site;
mod site_set;
mod store;
mod table;
mod tls;
mod visit;
mod write_visit;
mod writing;

pub use crate::auth::AuthSettings;
pub use crate::compress::{CodingName, CompressChoice, CompressSettings};
pub use crate::door::{WebDoor, check_folders};
pub use crate::fastcgi::{FastcgiChoice, FastcgiSettings};
pub use crate::folder::{FolderService, RequestCarrier, SiteFolder, WebVisitor, check_folder};
pub use crate::hsts::HstsSettings;
pub use crate::parts::WebParts;
pub use crate::programs::{CgiChoice, CgiSettings};
pub use crate::settings::written::{
    CacheRule, HeaderRule, HiddenFiles, ListingMode, SiteRedirectSettings, SiteSwitch, SymlinkMode,
};
pub use crate::settings::{SiteSettings, TlsSettings, check};
pub use crate::writing::{PutChoice, PutSettings};
pub use access_log::{AccessLogChoice, AccessLogSettings, LogFormat};
pub use http_front::ClientCertificate;
