//! The configuration of the TLS library that every server of ours has.
//!
//! It chooses no certificate: the resolver that is handed in does. Called wherever a server's
//! configuration is made.

use super::PROVIDER;
use super::wall_clock::{SessionTickets, WallClock};
use rustls::ServerConfig;
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{
    NoServerSessionStorage, ProducesTickets, ResolvesServerCert, WebPkiClientVerifier,
};
use std::sync::{Arc, LazyLock};

/// One ticketer for the process: a client resumes at any core and with any leaf of its name.
static TICKETER: LazyLock<Arc<dyn ProducesTickets>> =
    LazyLock::new(|| Arc::new(SessionTickets::new()));

/// Our server configuration for a source of certificates.
pub(crate) fn server_config(certificates: Arc<dyn ResolvesServerCert>) -> ServerConfig {
    server_config_for(certificates, WebPkiClientVerifier::no_client_auth())
}

/// The same, with a judge of clients' certificates.
pub(super) fn server_config_for(
    certificates: Arc<dyn ResolvesServerCert>,
    clients: Arc<dyn ClientCertVerifier>,
) -> ServerConfig {
    let mut config = ServerConfig::builder_with_details(Arc::clone(&PROVIDER), Arc::new(WallClock))
        .with_safe_default_protocol_versions()
        .expect("the provider's own suites serve the default versions")
        .with_client_cert_verifier(clients)
        .with_cert_resolver(certificates);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    // Tickets carry the state: a cache of sessions would be a lock on every handshake.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.ticketer = TICKETER.clone();
    config
}
