//! Names of the objects of a fleet at the place of its bundles.
//!
//! What publishers write lies side by side, because `PUT` makes no folders; what machines write has
//! folders of its own, so that they need not be able to write the rest.

use fleet_bundle::{ContentDigest, EdgeName};

/// The newest revision, for all.
pub const LATEST: &str = "latest.json";
/// A revision that waits for more signatures.
pub const PENDING: &str = "pending.json";

/// The folder in which machines say how they do.
pub const STATUS_FOLDER: &str = "status";
/// The folder in which machines ask to join.
pub const ENROLMENT_FOLDER: &str = "enrolments";

/// Folders in which machines write.
pub(crate) const WRITTEN_FOLDERS: [&str; 2] = [STATUS_FOLDER, ENROLMENT_FOLDER];

/// The envelope of one revision.
pub fn revision(number: u64) -> String {
    format!("revision-{number}.json")
}

/// A chunk.
pub fn chunk(digest: &ContentDigest) -> String {
    format!("chunk-{digest}")
}

/// Sealed secrets of one edge.
pub fn sealed(digest: &ContentDigest) -> String {
    format!("sealed-{digest}")
}

/// Status of an edge.
pub fn status(edge: &EdgeName) -> String {
    format!("{STATUS_FOLDER}/{edge}.json")
}

/// A machine's wish to join.
pub fn enrolment(edge: &EdgeName) -> String {
    format!("{ENROLMENT_FOLDER}/{edge}.json")
}
