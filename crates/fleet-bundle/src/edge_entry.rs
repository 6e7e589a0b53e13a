//! One edge as a manifest knows it.

use crate::digest::ContentDigest;
use crate::edge_name::EdgeName;
use crate::keys::VerifyingKey;
use crate::sealing::EdgeSeal;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Wish of whoever publishes for an edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EdgeState {
    /// Serving.
    #[default]
    Active,
    /// Serving, and saying that it is not ready, so that balancers leave it.
    Drained,
    /// Without secrets and revisions from then on; nothing that it says is believed.
    Revoked,
}

/// One edge that has joined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EdgeEntry {
    /// Name.
    pub name: EdgeName,
    /// State.
    #[serde(default)]
    pub state: EdgeState,
    /// Labels, which outrank those of its own configuration.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Key by which it signs.
    pub key: VerifyingKey,
    /// Key to which secrets are sealed.
    pub seal: EdgeSeal,
    /// Digest of its sealed secrets; none where there are none.
    #[serde(default)]
    pub sealed: Option<ContentDigest>,
}
