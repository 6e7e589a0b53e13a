//! How the servers of one pool are spoken to: TLS, HTTP version, PROXY header, patience,
//! connections.
//!
//! [`TermsOptions`] is what somebody wants, as plain data; [`ConnectionPolicy`] is the same made
//! ready once, for all requests and cores. Connections under different terms are never taken for
//! one another. It opens none. Made by the gateway for each pool; [`super::Origins::send_to`]
//! follows it.

use super::dialer::Dialer;
use super::pool::PoolCaps;
use super::server::OriginServer;
use super::versions::UsableVersions;
use http::{HeaderMap, Uri};
use http_engine::client::AnswerLimits;
use http_engine::hop_by_hop::wants_upgrade;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use transport::ClientTls;
use transport::proxy_protocol::ProxyVersion;
use transport::tls::{BadClientTls, ClientTlsOptions, VerifyMode};

/// Holds what is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TermsOptions {
    /// TLS with `https://` servers.
    pub tls: TlsTerms,
    /// Which HTTP is spoken. A URL that says `h2c` means HTTP/2 whatever stands here.
    pub http: HttpVersion,
    /// The PROXY header that every connection begins with, if any.
    pub proxy_protocol: Option<ProxyVersion>,
    /// Time that a connection may take until it can carry a request: look-up, TCP, TLS and, where
    /// connections are verified, the answer to that. Default 5 s. Beyond it the next server is
    /// tried.
    pub connect: Duration,
    /// From the request's last byte to the head of its response. Default:
    /// [`super::OriginLimits::response_timeout`]. A request's own [`super::ResponseTimeout`] counts
    /// before this.
    pub first_byte: Option<Duration>,
    /// Time for which a server may be silent in the middle of a body; then the body is broken.
    /// Default: for ever.
    pub between_bytes: Option<Duration>,
    /// Idle connections that are kept for the next request.
    pub keep_alive: KeepAlive,
    /// Whether a fresh connection is verified before it carries a request.
    pub new_connection: FreshConnection,
}

/// An extension of a request: how long its server may be silent, in place of
/// [`super::OriginLimits::response_timeout`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseTimeout(pub Duration);

/// TLS with servers of one pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsTerms {
    /// The authorities that alone are trusted, as PEM. Default: those of the [`Dialer`].
    pub authorities: Option<Arc<[u8]>>,
    /// What is shown to servers that ask for a certificate.
    pub certificate: Option<OwnCertificate>,
    /// The name that is sent (SNI) and that the server's certificate must be for. Default: the host
    /// of its URL.
    pub name: Option<String>,
    /// How the server's certificate is checked.
    pub verify: VerifyMode,
}

/// A certificate of ours and its key, as PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct OwnCertificate {
    /// The chain, leaf first.
    pub chain: Arc<[u8]>,
    /// The leaf's private key.
    pub key: Arc<[u8]>,
}

/// Which HTTP is spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HttpVersion {
    /// Over TLS HTTP/2 where the server has it (ALPN, RFC 7301), else HTTP/1.1; without TLS
    /// HTTP/1.1.
    #[default]
    Auto,
    /// HTTP/1.1.
    Http1,
    /// HTTP/2; without TLS by prior knowledge.
    Http2,
}

/// Idle connections that are kept for the next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAlive {
    /// Idle connections kept for each server and core. Default 128; 0 keeps none. One of HTTP/2
    /// carries all requests at once.
    pub connections: usize,
    /// Time for which an idle connection is kept. Default 30 s.
    pub idle: Duration,
    /// How old a connection may be to carry one more request. Default: any age.
    pub age: Option<Duration>,
    /// Number of requests a connection carries. Default: any number.
    pub requests: Option<u32>,
}

/// Tells whether a fresh connection is verified before it carries a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FreshConnection {
    /// Is not: the kernel has taken it, and that is enough.
    #[default]
    Trusted,
    /// An `OPTIONS` for this target, `*` or a path, goes first, and a request only when that is
    /// answered, by anything but 5xx: then there is a process that works, and not only a kernel
    /// that queues.
    Verified(Uri),
}

impl FreshConnection {
    /// One that asks about the server as a whole, `OPTIONS *` (RFC 9110 §9.3.7).
    pub fn verified() -> Self {
        Self::Verified(Uri::from_static("*"))
    }
}

/// Holds what is agreed with the servers of one pool. Cheap to clone.
#[derive(Clone)]
pub struct ConnectionPolicy(Arc<ReadyPolicy>);

struct ReadyPolicy {
    options: TermsOptions,
    /// None: the dialer's own.
    tls: Option<ClientTls>,
    /// Of this process alone: connections are told apart by it. 0 for the default.
    number: u64,
}

impl Default for TermsOptions {
    fn default() -> Self {
        Self {
            tls: TlsTerms::default(),
            http: HttpVersion::default(),
            proxy_protocol: None,
            connect: Duration::from_secs(5),
            first_byte: None,
            between_bytes: None,
            keep_alive: KeepAlive::default(),
            new_connection: FreshConnection::default(),
        }
    }
}

impl TermsOptions {
    /// Returns whether its certificates can be used.
    pub fn check(&self) -> Result<(), BadClientTls> {
        ClientTls::new().with_options(&self.tls.options()).map(drop)
    }
}

impl TlsTerms {
    fn options(&self) -> ClientTlsOptions<'_> {
        ClientTlsOptions {
            authorities: self.authorities.as_deref(),
            certificate: self.certificate.as_ref().map(|it| (&*it.chain, &*it.key)),
            verify: self.verify,
        }
    }

    /// True if servers are spoken to as anybody is.
    fn is_default(&self) -> bool {
        self.authorities.is_none() && self.certificate.is_none() && self.verify == VerifyMode::Full
    }
}

impl Default for KeepAlive {
    fn default() -> Self {
        Self { connections: 128, idle: Duration::from_secs(30), age: None, requests: None }
    }
}

impl ConnectionPolicy {
    /// Makes ready what is wanted of connections that `dialer` opens.
    pub fn new(options: TermsOptions, dialer: &Dialer) -> Result<Self, BadClientTls> {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        let wanted = Some(&options.tls).filter(|tls| !tls.is_default());
        let tls = wanted.map(|tls| dialer.tls().with_options(&tls.options())).transpose()?;
        let number = NUMBERS.fetch_add(1, Relaxed);
        Ok(Self(Arc::new(ReadyPolicy { options, tls, number })))
    }

    /// Returns what was wanted.
    pub fn options(&self) -> &TermsOptions {
        &self.0.options
    }

    pub(super) fn number(&self) -> u64 {
        self.0.number
    }

    /// With what TLS is spoken, if not as the dialer does.
    pub(super) fn tls(&self) -> Option<&ClientTls> {
        self.0.tls.as_ref()
    }

    /// The bounds of connections, of which all together may be `total` idle ones, and of answers.
    pub(super) fn caps(&self, total: usize, answer: AnswerLimits) -> PoolCaps {
        let KeepAlive { connections, idle, age, requests } = self.options().keep_alive;
        PoolCaps { per_origin: connections, total, idle, age, requests, answer }
    }

    /// Returns what may be spoken with `server` for a request of these fields. What is to leave
    /// HTTP (a WebSocket) needs HTTP/1.1 wherever that may be spoken.
    pub(super) fn versions(&self, server: &OriginServer, headers: &HeaderMap) -> UsableVersions {
        match self.options().http {
            _ if server.is_h2c() => UsableVersions::Http2,
            HttpVersion::Http2 => UsableVersions::Http2,
            HttpVersion::Auto if server.is_secure() && wants_upgrade(headers).is_none() => {
                UsableVersions::Either
            }
            HttpVersion::Auto | HttpVersion::Http1 => UsableVersions::Http1,
        }
    }
}

impl Default for ConnectionPolicy {
    fn default() -> Self {
        Self(Arc::new(ReadyPolicy { options: TermsOptions::default(), tls: None, number: 0 }))
    }
}

impl PartialEq for ConnectionPolicy {
    fn eq(&self, other: &Self) -> bool {
        self.0.options == other.0.options
    }
}

impl Eq for ConnectionPolicy {}

impl fmt::Debug for ConnectionPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Terms").field(&self.0.options).finish()
    }
}

impl fmt::Debug for OwnCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not its key.
        f.write_str("OwnCertificate")
    }
}
