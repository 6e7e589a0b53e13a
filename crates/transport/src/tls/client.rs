//! The client side of TLS: whom it trusts, and why a server was not.

use super::pins::CertificateChecks;
use super::wall_clock::WallClock;
use super::{
    Alpn, BadPem, HandshakeError, PROVIDER, VerifyMode, certificates, delegate, library_error,
};
use rustls::client::{Resumption, WantsClientCert, WebPkiServerVerifier};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;

/// Sessions that one QUIC client remembers, at most; the oldest is forgotten.
const QUIC_SESSIONS_MAX: usize = 16;

/// Bytes of the largest file of authorities.
const AUTHORITIES_BYTES_MAX: u64 = 1 << 20;

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

/// Holds what is known of the servers that a client speaks TLS with.
#[derive(Clone, Copy, Default)]
pub struct ClientTlsOptions<'p> {
    /// The authorities that alone are trusted, as PEM; those trusted until now where there are
    /// none.
    pub authorities: Option<&'p [u8]>,
    /// Certificate that the client shows when a server asks who it is: a chain, leaf first, and its
    /// key, as PEM.
    pub certificate: Option<(&'p [u8], &'p [u8])>,
    /// Check of servers' certificates.
    pub verify: VerifyMode,
}

/// Tells what of [`ClientTlsOptions`] cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadClientTls {
    /// The authorities.
    Authorities(BadPem),
    /// The certificate, or its key.
    Certificate(BadPem),
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

    /// The same with the authorities in a file, of at most 1 MiB.
    ///
    /// # Errors
    /// It cannot be read, is larger, or holds no certificate in PEM.
    pub fn trusting_file(&self, file: &Path) -> io::Result<Self> {
        let mut pem = Vec::new();
        File::open(file)?.take(AUTHORITIES_BYTES_MAX + 1).read_to_end(&mut pem)?;
        if pem.len() as u64 > AUTHORITIES_BYTES_MAX {
            return Err(io::Error::other("it is larger than 1 MiB"));
        }
        self.trusting(&pem).map_err(io::Error::other)
    }

    /// The same roots, but the server's certificate is checked so, and one of `pins` (see
    /// [`super::key_pin`]) must be met, if there are any. Sessions are not shared with `self`:
    /// resuming one skips the check.
    #[must_use]
    pub fn checking(&self, verify: VerifyMode, pins: &[[u8; 32]]) -> Self {
        let config = checked(&self.roots, verify, pins).with_no_client_auth();
        Self { config: Arc::new(config), roots: Arc::clone(&self.roots) }
    }

    /// For servers about which more is known than about any. Sessions are not shared with `self`.
    pub fn with_options(&self, options: &ClientTlsOptions<'_>) -> Result<Self, BadClientTls> {
        let roots = match options.authorities {
            None => Arc::clone(&self.roots),
            Some(pem) => Arc::new(roots_of(pem).map_err(BadClientTls::Authorities)?),
        };
        let builder = checked(&roots, options.verify, &[]);
        let config = match options.certificate {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => {
                let chain = certificates(chain).map_err(BadClientTls::Certificate)?;
                let key = PrivateKeyDer::from_pem_slice(key)
                    .map_err(|why| BadClientTls::Certificate(BadPem(why.to_string())))?;
                builder
                    .with_client_auth_cert(chain, key)
                    .map_err(|why| BadClientTls::Certificate(BadPem(why.to_string())))?
            }
        };
        Ok(Self { config: Arc::new(config), roots })
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
    ClientConfig::builder_with_details(Arc::clone(&PROVIDER), Arc::new(WallClock))
        .with_safe_default_protocol_versions()
        .expect("the provider's own suites serve the default versions")
}

/// The beginning of a configuration that checks certificates so.
fn checked(
    roots: &Arc<RootCertStore>,
    verify: VerifyMode,
    pins: &[[u8; 32]],
) -> ConfigBuilder<ClientConfig, WantsClientCert> {
    let usual = match verify {
        VerifyMode::Full => Some(
            WebPkiServerVerifier::builder_with_provider(Arc::clone(roots), Arc::clone(&PROVIDER))
                .build()
                .expect("roots are never empty, and no revocation list can be wrong"),
        ),
        VerifyMode::Nothing => None,
    };
    let checks = CertificateChecks::new(usual, pins, roots);
    builder().dangerous().with_custom_certificate_verifier(Arc::new(checks))
}

fn roots_of(pem: &[u8]) -> Result<RootCertStore, BadPem> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(pem)? {
        roots.add(certificate).map_err(|why| BadPem(why.to_string()))?;
    }
    Ok(roots)
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

impl fmt::Display for BadClientTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Authorities(why) | Self::Certificate(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for BadClientTls {}

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
