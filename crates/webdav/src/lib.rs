//! Files written over HTTP: `PUT`, `PATCH` of ranges, `DELETE`, and `WebDAV` (RFC 4918) for file
//! managers.
//!
//! The protocol is dav-server's (docs/adr/0039); what it touches on disk is ours: everything stays
//! beneath one folder ([`file_access::writable`]), a file is there whole or not at all, and what a
//! client may not see it can neither read, change nor lead elsewhere. Who may write at all is for
//! the door to say. Called by the web door.

mod asked;
mod depth;
mod digests;
mod entries;
mod fault;
mod filesystem;
mod folder;
mod limits;
mod locks;
mod quota;
mod rules;
mod strict_fields;
mod trees;
mod upload;

pub use self::folder::{DavFolder, DavRequest};
pub use self::limits::{DavLimits, DavMethods};
pub use self::rules::{PathRules, PathStanding};
