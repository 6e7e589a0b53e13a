//! One edge of a fleet: its settings, where bundles lie, and the revision that it runs
//! (docs/adr/0069).
//!
//! Revisions are fetched, verified, laid aside and kept here; taking one over is the binary's,
//! which is handed in. Edges need no server that they trust, and one that is cut off goes on
//! serving.

mod chunk_cache;
mod client;
mod identity;
mod layers;
pub mod objects;
mod place;
mod placed;
mod programs;
mod s3_credentials;
mod s3_location;
mod settings;
mod store;
mod sync;
mod watch;

pub use client::BundleClient;
pub use identity::{EdgeIdentity, IdentityFault};
pub use layers::{MAIN_FILE, OVERLAY_FOLDER, RevisionLayers, SECRET_FOLDER};
pub use place::{BadPlace, BundlePlace};
pub use placed::{PlaceFault, PlacedObject};
pub use programs::RunningProgram;
pub use s3_credentials::{CredentialsFault, S3Credentials, S3Settings};
pub use s3_location::{BadLocation, S3Location};
pub use settings::FleetSettings;
pub use store::{
    FLEET_FOLDER, KeptRevision, RefusedRevision, RevisionRecord, RevisionStore, TriedRevision,
};
pub use sync::{
    EdgeSetup, EdgeSync, LaidRevision, RevisionTaker, ServedCounts, SyncFault, TakenBy,
};
pub use watch::{EdgeHost, watch_bundles};
