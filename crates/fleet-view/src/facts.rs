//! Facts of which an answer is made: the edge, its last look, its record, and what its place says.

use crate::place_reading::PlaceReading;
use fleet_bundle::{EdgeName, EdgeState, EdgeStatus, TrustedKeys};
use fleet_edge::{BundlePlace, RevisionRecord, RevisionStore, S3Credentials};
use origins::Dialer;
use std::collections::BTreeMap;

/// An edge and its place, as its own configuration has them.
pub struct ViewSetup {
    /// Name.
    pub name: EdgeName,
    /// Labels of its own configuration.
    pub labels: BTreeMap<String, String>,
    /// Keys that are trusted by its configuration.
    pub trusted: TrustedKeys,
    /// Version of the program.
    pub version: String,
    /// Where bundles lie.
    pub place: BundlePlace,
    /// Credentials for it, as the settings have them.
    pub credentials: Option<S3Credentials>,
    /// Connections to it.
    pub dialer: Dialer,
    /// Revisions of the edge.
    pub store: RevisionStore,
}

/// Findings of this edge at its last look.
#[derive(Clone, Default)]
pub(crate) struct OwnWord {
    pub(crate) status: Option<EdgeStatus>,
    pub(crate) wanted: EdgeState,
}

/// Everything of which an answer is made.
pub(crate) struct ViewFacts<'v> {
    pub(crate) setup: &'v ViewSetup,
    pub(crate) record: &'v RevisionRecord,
    pub(crate) own: &'v OwnWord,
    pub(crate) place: &'v PlaceReading,
    /// Seconds of Unix time.
    pub(crate) now: u64,
}
