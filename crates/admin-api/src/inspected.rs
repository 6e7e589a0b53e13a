//! Bodies that pages posted to blocked hosts, as the API tells them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Bodies that are kept.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct InspectedList {
    /// The newest first; empty where `pixel.inspect` names no client.
    pub bodies: Vec<InspectedInfo>,
}

/// A posted body.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct InspectedInfo {
    /// When it came.
    pub at: String,
    /// The client that sent it.
    pub client: String,
    /// Method of its request.
    pub method: String,
    /// URL of its request, without what looks like a secret.
    pub url: String,
    /// Type that the request gave it; empty if none.
    pub content_type: String,
    /// Bytes that came of it.
    pub bytes: u64,
    /// Beginning of it, without what looks like a secret; null where it is no text.
    pub text: Option<String>,
    /// Bytes of it that `text` was made from.
    pub shown_bytes: u64,
}
