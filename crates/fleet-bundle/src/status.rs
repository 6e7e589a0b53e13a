//! Status of an edge, as it tells the fleet: signed, so that no other edge can speak for it.

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
