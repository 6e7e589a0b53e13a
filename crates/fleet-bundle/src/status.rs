//! Status of an edge, as it tells the fleet: signed, so that no other edge can speak for it.

use crate::digest::ContentDigest;
use crate::edge_name::EdgeName;
use crate::envelope::{EnvelopeFault, PayloadKind, SignedEnvelope, TrustedKeys};
use crate::keys::{PublisherKey, VerifyingKey};
use serde::{Deserialize, Serialize};

/// Bytes of the largest envelope with a status.
pub const STATUS_BYTES_MAX: usize = 64 << 10;

/// State of an edge with the revision that it was offered last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyncState {
    /// Runs it.
    InForce,
    /// Lets the canaries go first.
    WaitsForCanary,
    /// Refused it: it goes on with the one before.
    Refused,
    /// Cannot reach the bundles, or does not believe what is there.
    Unreached,
}

/// Program of an edge that takes programs from its fleet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramStatus {
    /// Digest of the file that runs.
    pub runs: ContentDigest,
    /// Program of the revision in force, which the next start runs; none where it brings none.
    pub in_force: Option<ContentDigest>,
    /// Program that it gave up last; none where another revision was taken over since.
    pub failed: Option<FailedProgram>,
}

/// Program that did not come up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedProgram {
    /// Digest of its file.
    pub digest: ContentDigest,
    /// Reason, at most 500 characters.
    pub fault: String,
}

/// Word of an edge about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EdgeStatus {
    /// Name of the edge.
    pub edge: EdgeName,
    /// When it said so, by its own clock, in seconds of Unix time.
    pub at: u64,
    /// Seconds that its clock is ahead of the one where bundles lie; none where that tells none.
    pub clock_ahead_s: Option<i64>,
    /// Version of Tidegate.
    pub version: String,
    /// Revision in force; none before the first.
    pub applied: Option<u64>,
    /// Revision that it was offered last.
    pub offered: Option<u64>,
    /// Outcome of that offer.
    pub state: SyncState,
    /// Complaints of a refusal, at most 20.
    pub complaints: Vec<String>,
    /// Requests since its start, and those that failed by a fault of ours or a server's.
    pub requests: u64,
    /// Failures among them.
    pub failures: u64,
    /// Program; none where the edge takes none from its fleet, or is older than this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramStatus>,
}

impl EdgeStatus {
    /// The status, signed.
    pub fn sign(&self, key: &PublisherKey) -> Vec<u8> {
        let payload = serde_json::to_vec(self).unwrap_or_default();
        SignedEnvelope::sign(PayloadKind::Status, &payload, key).to_json()
    }

    /// Reads a status that this edge has signed.
    ///
    /// # Errors
    /// [`EnvelopeFault`], also for one that speaks of another edge.
    pub fn read(bytes: &[u8], edge: &EdgeName, key: &VerifyingKey) -> Result<Self, EnvelopeFault> {
        if bytes.len() > STATUS_BYTES_MAX {
            return Err(EnvelopeFault::Unreadable);
        }
        let trusted = TrustedKeys { keys: vec![*key], signatures: 1 };
        let payload = SignedEnvelope::read(bytes)?.open(PayloadKind::Status, &trusted)?;
        let read: Self = serde_json::from_slice(&payload).map_err(|_| EnvelopeFault::Unreadable)?;
        if read.edge == *edge { Ok(read) } else { Err(EnvelopeFault::Kind) }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn status(program: Option<ProgramStatus>) -> EdgeStatus {
        EdgeStatus {
            edge: EdgeName::parse("a").unwrap(),
            at: 1_800_000_000,
            clock_ahead_s: None,
            version: "1".into(),
            applied: Some(3),
            offered: Some(3),
            state: SyncState::InForce,
            complaints: Vec::new(),
            requests: 7,
            failures: 0,
            program,
        }
    }

    fn read(payload: &Value) -> EdgeStatus {
        let key = PublisherKey::generate().unwrap();
        let payload = serde_json::to_vec(payload).unwrap();
        let signed = SignedEnvelope::sign(PayloadKind::Status, &payload, &key).to_json();
        EdgeStatus::read(&signed, &EdgeName::parse("a").unwrap(), &key.public()).unwrap()
    }

    #[test]
    fn releases_read_each_others_words() {
        let digest = ContentDigest::of(b"program");
        let failed = Some(FailedProgram { digest, fault: "exit status: 1".into() });
        let program = ProgramStatus { runs: digest, in_force: Some(digest), failed };
        let full = status(Some(program));
        assert_eq!(read(&json!(full)), full);
        // An edge that takes no programs says what it always said, and one that is older reads so.
        let former = json!(status(None));
        assert_eq!(former.get("program"), None);
        assert_eq!(read(&former), status(None));
        // A word that a newer edge says is passed over.
        let mut newer = former;
        newer["weather"] = json!({ "wind": 7 });
        assert_eq!(read(&newer), status(None));
    }
}
