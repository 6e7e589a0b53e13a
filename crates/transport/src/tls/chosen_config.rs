//! Certificate chosen for a handshake, once its first message was read.
//!
//! The signer is asked for what it makes in the handshake: for the name that a client wants, or for
//! the address of ours that it came to. It speaks to no client. Called by [`super::server`].

use super::handshake_error::HandshakeError;
use super::server_config::server_config;
use rustls::server::ClientHello;
use rustls::{ServerConfig, SignatureScheme};
use signer::{ClientSignatures, LeafNames, Signer};
use std::net::IpAddr;
use std::sync::Arc;

/// A handshake that can go on, and what was chosen for it.
pub(super) struct ChosenConfig {
    pub(super) config: Arc<ServerConfig>,
    pub(super) site: usize,
    pub(super) names: Option<Arc<LeafNames>>,
    pub(super) own_address: Option<IpAddr>,
}

impl ChosenConfig {
    pub(super) const fn given(site: usize, config: Arc<ServerConfig>) -> Self {
        Self { config, site, names: None, own_address: None }
    }
}

/// A certificate made for what a client wants.
pub(super) async fn minted(
    signer: &Signer,
    asked: &ClientHello<'_>,
    client: IpAddr,
    own_address: impl FnOnce() -> Option<IpAddr>,
) -> Result<ChosenConfig, HandshakeError> {
    let now = crate::clock::now();
    let (verifies, name) = (verifies(asked), asked.server_name());
    let (leaf, own_address) = match (name, verifies) {
        (Some(name), _) => {
            let leaf = signer.leaf(name, client, verifies, now).await;
            (leaf.map_err(|why| HandshakeError::from_mint(why, name))?, None)
        }
        (None, ClientSignatures::Ecdsa) => {
            let address = own_address().ok_or(HandshakeError::NoName)?;
            let leaf = signer.address_leaf(address, client, now).await;
            let named = |why| HandshakeError::from_mint(why, &address.to_string());
            (leaf.map_err(named)?, Some(address))
        }
        // There are no leaves with such a key for addresses.
        (None, ClientSignatures::RsaOnly) => return Err(HandshakeError::NoName),
    };
    let config = leaf.server_config(server_config);
    Ok(ChosenConfig { config, site: 0, names: Some(leaf.names), own_address })
}

/// Which leaves a client can verify. The list is mandatory in TLS 1.3 (RFC 8446 §4.2.3); the
/// library puts the one that RFC 5246 §7.4.1.4.1 presumes where TLS 1.2 leaves it out.
fn verifies(hello: &ClientHello<'_>) -> ClientSignatures {
    use SignatureScheme as Scheme;
    let is_ecdsa = |scheme: &Scheme| {
        matches!(
            *scheme,
            Scheme::ECDSA_NISTP256_SHA256
                | Scheme::ECDSA_NISTP384_SHA384
                | Scheme::ECDSA_NISTP521_SHA512
                | Scheme::ECDSA_SHA1_Legacy
        )
    };
    if hello.signature_schemes().iter().any(is_ecdsa) {
        ClientSignatures::Ecdsa
    } else {
        ClientSignatures::RsaOnly
    }
}
