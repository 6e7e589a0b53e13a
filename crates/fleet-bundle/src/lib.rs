//! Bundles of a fleet: manifests, signatures, chunks and sealed secrets (docs/adr/0069).
//!
//! Rules for what is signed, how it is checked and what an edge may take over; no run time, and not
//! where bundles lie: that is `fleet-edge`'s. Everything that is read here may come from somebody
//! who wishes the fleet ill.

mod chunks;
mod digest;
mod edge_entry;
mod edge_name;
mod enrolment;
mod envelope;
mod file_path;
mod keys;
mod manifest;
mod program;
mod rollout;
mod sealing;
mod status;

pub use chunks::{CHUNK_BYTES_MAX, ChunkFault, ChunkRef, StoredChunk, read_chunk, split};
pub use digest::{BadDigest, ContentDigest, ContentHasher};
pub use edge_entry::{EdgeEntry, EdgeState};
pub use edge_name::{BadEdgeName, EdgeName, check_label};
pub use enrolment::{EnrolmentFault, EnrolmentRequest, EnrolmentToken};
pub use envelope::{ENVELOPE_BYTES_MAX, EnvelopeFault, PayloadKind, SignedEnvelope, TrustedKeys};
pub use file_path::{BadBundlePath, BundlePath};
pub use keys::{KeyFault, KeyId, PublisherKey, VerifyingKey};
pub use manifest::{
    BundleFile, BundleManifest, CanaryShare, EDGES_MAX, FILES_MAX, FORMAT, ManifestFault,
};
pub use program::{
    PROGRAM_BYTES_MAX, ProgramBuild, ProgramFault, ProgramMachine, ProgramMark, ProgramRelease,
};
pub use rollout::{EdgeFacts, RevisionRefusal, RolloutStep};
pub use sealing::{EdgeSeal, SealFault, SealedSecrets, SealingKey};
pub use status::{EdgeStatus, FailedProgram, ProgramStatus, STATUS_BYTES_MAX, SyncState};
