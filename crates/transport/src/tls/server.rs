//! The server side of TLS: handshakes with certificates by name, and connections.

use super::chosen_config::{ChosenConfig, minted};
use super::handshake_error::HandshakeError;
use super::handshake_permit::HandshakePermit;
use super::identity::CertificateFacts;
use super::records::RecordProgress;
use super::server_config::server_config;
use super::sites::{SiteIdentity, TlsSites};
use super::{Alpn, BadPem, PROVIDER, ServerIdentity, certificates};
use crate::stream::Stream;
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use rustls::server::{Acceptor, ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use signer::{LeafNames, Signer};
use std::fmt;
use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::LazyConfigAcceptor;

/// A handshake may take so long; doors pass it unless they know better.
pub const HANDSHAKE_DEADLINE: Duration = Duration::from_secs(5);

/// A version of TLS that servers here speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsVersion {
    /// 1.2 (RFC 5246).
    Tls12,
    /// 1.3 (RFC 8446).
    Tls13,
}

/// Where the secrets of a connection come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionSecrets {
    /// A whole handshake, with our certificate.
    New,
    /// A session of before.
    Resumed,
}

/// The server side of TLS.
#[derive(Clone)]
pub struct ServerTls(CertificateChoice);

#[derive(Clone)]
enum CertificateChoice {
    Minted(Arc<Signer>),
    Given(Arc<ServerConfig>, Option<ServerIdentity>),
    Sites(Arc<TlsSites>),
}

/// An accepted TLS connection, over TCP or over another stream of bytes.
#[derive(Debug)]
pub struct TlsStream<S = Stream> {
    stream: tokio_rustls::server::TlsStream<S>,
    site: usize,
    names: Option<Arc<LeafNames>>,
    /// The address of ours that its certificate is for, where that is for no name.
    own_address: Option<IpAddr>,
    records: RecordProgress,
}

/// Has no certificate for anyone: completes a refused handshake with an alert.
#[derive(Debug)]
struct NoCertificate;

impl ResolvesServerCert for NoCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        None
    }
}

static REFUSE: LazyLock<Arc<ServerConfig>> =
    LazyLock::new(|| Arc::new(server_config(Arc::new(NoCertificate))));

impl ServerTls {
    /// Certificates made in the handshake, for the names that the signer's policy permits.
    pub fn with_signer(signer: Arc<Signer>) -> Self {
        Self(CertificateChoice::Minted(signer))
    }

    /// One certificate chain and its key, as PEM.
    pub fn with_pem(chain: &[u8], key: &[u8]) -> Result<Self, BadPem> {
        let chain = certificates(chain)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|why| BadPem(why.to_string()))?;
        let certified =
            CertifiedKey::from_der(chain, key, &PROVIDER).map_err(|why| BadPem(why.to_string()))?;
        let certified = rustls::sign::SingleCertAndKey::from(certified);
        let config = server_config(Arc::new(certified));
        Ok(Self(CertificateChoice::Given(Arc::new(config), None)))
    }

    /// An identity that may be exchanged, and the protocols offered to clients that know ALPN; one
    /// that asks for others only is refused, one that knows no ALPN is not.
    pub fn with_identity(identity: &ServerIdentity, protocols: &[Alpn]) -> Self {
        let mut config = server_config(Arc::new(identity.clone()));
        config.alpn_protocols = protocols.iter().map(|it| it.as_bytes().to_vec()).collect();
        Self(CertificateChoice::Given(Arc::new(config), Some(identity.clone())))
    }

    /// Sites told apart by the name that a client asks for, and the protocols offered, as with
    /// [`Self::with_identity`]. A name that no site has leads to the first one.
    pub fn with_sites(sites: &[SiteIdentity], protocols: &[Alpn]) -> Result<Self, BadPem> {
        Ok(Self(CertificateChoice::Sites(Arc::new(TlsSites::new(sites, protocols)?))))
    }

    /// The number of the site that a handshake for `name` leads to, as sites or their certificates
    /// claim it; none where nobody does, or where there are no sites.
    pub fn site_of(&self, name: &str) -> Option<usize> {
        match &self.0 {
            CertificateChoice::Sites(sites) => sites.number_of(name),
            CertificateChoice::Given(..) | CertificateChoice::Minted(_) => None,
        }
    }

    /// The certificates that it presents now, those apart that are signed within a handshake.
    pub fn certificates(&self) -> Vec<CertificateFacts> {
        let identities = match &self.0 {
            CertificateChoice::Sites(sites) => &sites.identities[..],
            CertificateChoice::Given(_, identity) => identity.as_slice(),
            CertificateChoice::Minted(_) => &[],
        };
        identities.iter().filter_map(ServerIdentity::facts).collect()
    }

    /// Speaks TLS on `stream` within `deadline`, if the core has a place for one more handshake.
    pub async fn accept(
        &self,
        stream: Stream,
        deadline: Duration,
    ) -> Result<TlsStream, HandshakeError> {
        let client = stream.peer().ip();
        self.accept_within(stream, client, deadline).await
    }

    /// The same on a stream that came through something else, such as a tunnel that `client`
    /// opened.
    pub async fn accept_within<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
        client: IpAddr,
        deadline: Duration,
    ) -> Result<TlsStream<S>, HandshakeError> {
        self.accept_at(stream, client, deadline, || None).await
    }

    /// The same where a client that asks for no name may be shown a certificate for the address of
    /// ours that it has come to: `own_address` says which, and is asked then alone.
    pub async fn accept_at<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
        client: IpAddr,
        deadline: Duration,
        own_address: impl FnOnce() -> Option<IpAddr>,
    ) -> Result<TlsStream<S>, HandshakeError> {
        let _place = HandshakePermit::acquire().ok_or(HandshakeError::Busy)?;
        match tokio::time::timeout(deadline, self.handshake(stream, client, own_address)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(HandshakeError::Timeout),
        }
    }

    async fn handshake<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
        client: IpAddr,
        own_address: impl FnOnce() -> Option<IpAddr>,
    ) -> Result<TlsStream<S>, HandshakeError> {
        // The library bounds the first message at 64 KiB.
        let hello = LazyConfigAcceptor::new(Acceptor::default(), stream)
            .await
            .map_err(|why| HandshakeError::before_hello(&why))?;
        let chosen = match &self.0 {
            CertificateChoice::Given(config, _) => Ok(ChosenConfig::given(0, Arc::clone(config))),
            CertificateChoice::Sites(sites) => {
                let chosen = sites.choose(hello.client_hello().server_name());
                let chosen = chosen.map(|(site, config)| ChosenConfig::given(site, config.clone()));
                chosen.ok_or(HandshakeError::NoName)
            }
            CertificateChoice::Minted(signer) => {
                minted(signer, &hello.client_hello(), client, own_address).await
            }
        };
        match chosen {
            Ok(ChosenConfig { config, site, names, own_address }) => {
                let stream = hello.into_stream(config).await;
                let stream = stream.map_err(|why| HandshakeError::after_hello(&why))?;
                Ok(TlsStream {
                    stream,
                    site,
                    names,
                    own_address,
                    records: RecordProgress::default(),
                })
            }
            Err(why) => {
                // Fails by design, after its alert has been written.
                drop(hello.into_stream(Arc::clone(&REFUSE)).await);
                Err(why)
            }
        }
    }
}

impl fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            CertificateChoice::Minted(_) => "ServerTls(minted)",
            CertificateChoice::Given(_, _) => "ServerTls(given)",
            CertificateChoice::Sites(_) => "ServerTls(sites)",
        })
    }
}

impl<S> TlsStream<S> {
    /// The name that the client asked for, lower-case.
    pub fn sni(&self) -> Option<&str> {
        self.stream.get_ref().1.server_name()
    }

    /// The protocol agreed on, if the client knows ALPN.
    pub fn alpn(&self) -> Option<Alpn> {
        Alpn::from_wire(self.stream.get_ref().1.alpn_protocol())
    }

    /// The version of TLS that is spoken.
    pub fn version(&self) -> TlsVersion {
        match self.stream.get_ref().1.protocol_version() {
            Some(rustls::ProtocolVersion::TLSv1_2) => TlsVersion::Tls12,
            // Nothing else is offered.
            _ => TlsVersion::Tls13,
        }
    }

    /// Returns whether the client took up a session of before, which spares it the certificate.
    pub fn session(&self) -> SessionSecrets {
        match self.stream.get_ref().1.handshake_kind() {
            Some(rustls::HandshakeKind::Resumed) => SessionSecrets::Resumed,
            _ => SessionSecrets::New,
        }
    }

    /// The number of the site whose certificate was presented, counted from 0 as they were given;
    /// 0 where there are no sites.
    pub const fn site(&self) -> usize {
        self.site
    }

    /// The names of the certificate that the signer made for this connection; none where it was
    /// given. A session taken up again began with a certificate that may have had fewer.
    pub const fn leaf_names(&self) -> Option<&Arc<LeafNames>> {
        self.names.as_ref()
    }

    /// The address of ours that the certificate made for this connection is for; none where it is
    /// for names.
    pub const fn own_address(&self) -> Option<IpAddr> {
        self.own_address
    }

    /// The certificate that the client showed, as DER; it has been verified, at the latest when
    /// the session began that this connection resumes.
    pub fn client_certificate(&self) -> Option<&[u8]> {
        let chain = self.stream.get_ref().1.peer_certificates()?;
        chain.first().map(AsRef::as_ref)
    }
}

impl TlsStream {
    /// The connection underneath.
    pub fn tcp(&self) -> &Stream {
        self.stream.get_ref().0
    }

    /// The other end.
    pub fn peer(&self) -> SocketAddr {
        self.tcp().peer()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for TlsStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for TlsStream<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.records.poll_write(&mut this.stream, cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.records.poll_write(&mut this.stream, cx, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
