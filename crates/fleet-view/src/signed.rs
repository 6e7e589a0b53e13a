//! Signed objects of a place: revisions by publishers, statuses by the edge that they speak of.

use fleet_bundle::{
    BundleManifest, ContentDigest, ENVELOPE_BYTES_MAX, EdgeEntry, EdgeStatus, EnvelopeFault,
    ManifestFault, PayloadKind, STATUS_BYTES_MAX, SignedEnvelope, TrustedKeys,
};
use fleet_edge::{BundleClient, PlaceFault, PlacedObject, objects};
use std::fmt;

/// A revision as it lies at its place, signed by enough of the keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedRevision {
    /// Manifest.
    pub manifest: BundleManifest,
    /// Digest of the manifest as it was signed.
    pub digest: ContentDigest,
}

/// Reason why there is no revision to believe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadFault {
    /// The place.
    Place(PlaceFault),
    /// The signatures.
    Envelope(EnvelopeFault),
    /// The manifest.
    Manifest(ManifestFault),
}

impl SignedRevision {
    /// The revision in these bytes, if enough of the keys have signed it.
    ///
    /// # Errors
    /// [`ReadFault`].
    pub fn open(bytes: &[u8], trusted: &TrustedKeys) -> Result<Self, ReadFault> {
        let envelope = SignedEnvelope::read(bytes).map_err(ReadFault::Envelope)?;
        let payload = envelope.open(PayloadKind::Manifest, trusted).map_err(ReadFault::Envelope)?;
        let manifest = BundleManifest::read(&payload).map_err(ReadFault::Manifest)?;
        Ok(Self { manifest, digest: ContentDigest::of(&payload) })
    }
}

/// Reads a revision; none where there is no such object.
///
/// # Errors
/// [`ReadFault`].
pub fn read_revision(
    client: &BundleClient,
    object: &str,
    trusted: &TrustedKeys,
) -> Result<Option<SignedRevision>, ReadFault> {
    match client.get(object, None, ENVELOPE_BYTES_MAX).map_err(ReadFault::Place)? {
        PlacedObject::Found { bytes, .. } => SignedRevision::open(&bytes, trusted).map(Some),
        PlacedObject::Same | PlacedObject::Missing => Ok(None),
    }
}

/// Reads the status of an edge; none of one that has told nothing that it has signed.
///
/// # Errors
/// [`PlaceFault`].
pub fn read_status(
    client: &BundleClient,
    edge: &EdgeEntry,
) -> Result<Option<EdgeStatus>, PlaceFault> {
    match client.get(&objects::status(&edge.name), None, STATUS_BYTES_MAX)? {
        PlacedObject::Found { bytes, .. } => {
            Ok(EdgeStatus::read(&bytes, &edge.name, &edge.key).ok())
        }
        PlacedObject::Same | PlacedObject::Missing => Ok(None),
    }
}

impl fmt::Display for ReadFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Place(why) => why.fmt(f),
            Self::Envelope(why) => write!(f, "what is published is not believed: {why}"),
            Self::Manifest(why) => write!(f, "the manifest is wrong: {why}"),
        }
    }
}

impl std::error::Error for ReadFault {}

impl From<PlaceFault> for ReadFault {
    fn from(why: PlaceFault) -> Self {
        Self::Place(why)
    }
}
