//! The client side of TLS: whom it trusts, and why a server was not.

use super::pins::Checks;
use super::{
    Alpn, BadPem, HandshakeError, PROVIDER, Verify, certificates, delegate, library_error,
};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};
use std::fmt;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;

/// Sessions that one QUIC client remembers, at most; the oldest is forgotten.
const QUIC_SESSIONS_MAX: usize = 16;

/// The client side of TLS: 1.2 and 1.3, with session resumption.
#[derive(Clone)]
pub struct ClientTls {
    config: Arc<ClientConfig>,
    roots: Arc<RootCertStore>,
}

/// An opened TLS connection.
#[derive(Debug)]
pub struct ClientTlsStream<I>(tokio_rustls::client::TlsStream<I>);

/// Why TLS with a server could not be agreed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectError {
    /// The server's name is no host name and no IP address.
    BadName(String),
    /// The server's certificate is not trusted, or not for that name.
    Untrusted(String),
    /// The server went away.
    Closed,
    /// Anything else, in the library's words.
    Other(String),
}

impl ClientTls {
    /// Trusts the public roots.
    pub fn new() -> Self {
        Self::with_roots(RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() })
    }

    /// Trusts these authorities too, given as PEM: a private one, or a test's.
    pub fn trusting(&self, pem: &[u8]) -> Result<Self, BadPem> {
        let mut roots = RootCertStore::clone(&self.roots);
        for certificate in certificates(pem)? {
            roots.add(certificate).map_err(|why| BadPem(why.to_string()))?;
        }
        Ok(Self::with_roots(roots))
    }

    /// The same roots, but the server's certificate is checked so, and one of `pins` (see
    /// [`super::key_pin`]) must be met, if there are any. Sessions are not shared with `self`:
    /// resuming one skips the check.
    #[must_use]
    pub fn checking(&self, verify: Verify, pins: &[[u8; 32]]) -> Self {
        let roots = &self.roots;
        let usual = match verify {
            Verify::Full => Some(
                WebPkiServerVerifier::builder_with_provider(
                    Arc::clone(roots),
                    Arc::clone(&PROVIDER),
                )
                .build()
                .expect("roots are never empty, and no revocation list can be wrong"),
            ),
            Verify::Nothing => None,
        };
        let checks = Checks::new(usual, pins, roots);
        let config = builder()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(checks))
            .with_no_client_auth();
        Self { config: Arc::new(config), roots: Arc::clone(roots) }
    }

    fn with_roots(roots: RootCertStore) -> Self {
        let roots = Arc::new(roots);
        let config = builder().with_root_certificates(Arc::clone(&roots)).with_no_client_auth();
        Self { config: Arc::new(config), roots }
    }

    /// The same for QUIC, with a memory of sessions of its own: a ticket from TCP is no good there.
    pub(crate) fn for_quic(&self, alpn: &[u8]) -> ClientConfig {
        let mut config = ClientConfig::clone(&self.config);
        config.alpn_protocols = vec![alpn.to_vec()];
        config.resumption = Resumption::in_memory_sessions(QUIC_SESSIONS_MAX);
        config.enable_early_data = true;
        config
    }

    /// Speaks TLS over `io` with `server` (a name or an IP address), offering `alpn` in that
    /// order. Sets no deadline: the caller's covers dialling too.
    pub async fn connect<I>(
        &self,
        io: I,
        server: &str,
        alpn: &[Alpn],
    ) -> Result<ClientTlsStream<I>, ConnectError>
    where
        I: AsyncRead + AsyncWrite + Unpin,
    {
        let name = ServerName::try_from(server.to_owned())
            .map_err(|_| ConnectError::BadName(server.to_owned()))?;
        let offered = alpn.iter().map(|it| it.as_bytes().to_vec()).collect();
        let connector = TlsConnector::from(Arc::clone(&self.config));
        let outcome = connector.with_alpn(offered).connect(name, io).await;
        outcome.map(ClientTlsStream).map_err(|why| match library_error(&why) {
            Some(rustls::Error::InvalidCertificate(why)) => {
                ConnectError::Untrusted(why.to_string())
            }
            Some(other) => ConnectError::Other(other.to_string()),
            None => match HandshakeError::from_io(&why) {
                HandshakeError::Closed => ConnectError::Closed,
                _ => ConnectError::Other(why.to_string()),
            },
        })
    }
}

fn builder() -> ConfigBuilder<ClientConfig, WantsVerifier> {
    ClientConfig::builder_with_provider(Arc::clone(&PROVIDER))
        .with_safe_default_protocol_versions()
        .expect("the provider's own suites serve the default versions")
}

impl Default for ClientTls {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClientTls({} roots)", self.roots.len())
    }
}

impl<I> ClientTlsStream<I> {
    /// The protocol agreed on, if the server knows ALPN.
    pub fn alpn(&self) -> Option<Alpn> {
        Alpn::from_wire(self.0.get_ref().1.alpn_protocol())
    }

    /// The leaf certificate that the server showed, as DER.
    pub fn server_certificate(&self) -> Option<&[u8]> {
        self.0.get_ref().1.peer_certificates().and_then(|it| it.first()).map(AsRef::as_ref)
    }
}

delegate!(ClientTlsStream<I>, I: AsyncRead, AsyncWrite, Unpin);

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadName(name) => write!(f, "{name:?} is no server name"),
            Self::Untrusted(why) => write!(f, "the server's certificate is not trusted: {why}"),
            Self::Closed => f.write_str("the server went away during the handshake"),
            Self::Other(why) => write!(f, "no TLS with the server: {why}"),
        }
    }
}

impl std::error::Error for ConnectError {}
