//! What is known of single clients, as JSON.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Which clients trust the certificate authority.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ClientsTrust {
    /// The one heard of last first; 4096 at most.
    pub clients: Vec<ClientTrust>,
}

/// Holds what handshakes have taught about a client.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ClientTrust {
    /// Address.
    pub client: String,
    /// `trusts`, `distrusts` or `unknown`.
    pub trust: String,
    /// Connections over TLS that requests came over.
    pub requests: u64,
    /// Alerts against our certificate.
    pub alerts: u64,
    /// Connections that ended at our certificate without a word.
    pub silences: u64,
    /// When it was heard of last.
    pub heard_at: String,
    /// Until when the DNS door gives it no address of the pixel door; null where it does.
    pub avoided_until: Option<String>,
}
