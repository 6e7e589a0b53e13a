//! The door itself: what it is made of, how it is reloaded, and one connection through it.

use crate::handshake;
use crate::request;
use crate::settings::Settings;
use arc_swap::ArcSwap;
use http_engine::{Limits, Versions, serve};
use ledger::Ledger;
use policy::Policy;
use std::cell::Cell;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;
use tokio::io::{AsyncRead, AsyncWrite};
use transport::tls::{Alpn, HANDSHAKE_DEADLINE};
use transport::trust::{Sign, TrustBook};
use transport::{ConnectionLimits, Drain, ServerTls, Stream, TlsStream};
use vocab::{DomainName, Listen, Name};

/// What the door is built from.
#[derive(Clone)]
pub struct Parts {
    /// The policy, swapped as a whole on reload.
    pub policy: Arc<ArcSwap<Policy>>,
    /// Where requests are recorded.
    pub ledger: Ledger,
    /// TLS with certificates that are made for blocked names, in the handshake.
    pub tls: ServerTls,
    /// Learns which clients trust the authority.
    pub trust: Arc<TrustBook>,
    /// Where the dashboard listens: the block page leads there whoever can reach it.
    pub dashboard: Option<SocketAddr>,
}

/// The pixel door.
pub struct Door {
    pub(crate) parts: Parts,
    settings: ArcSwap<Settings>,
}

/// One connection, as its requests see it.
pub(crate) struct Connection {
    pub(crate) client: IpAddr,
    pub(crate) transport: Transport,
}

/// What carries HTTP.
pub(crate) enum Transport {
    /// Nothing but TCP.
    Plain,
    /// TLS, and the name that the handshake was for.
    Tls(DomainName),
}

impl Transport {
    pub(crate) fn scheme(&self) -> &'static str {
        match self {
            Self::Plain => "http",
            Self::Tls(_) => "https",
        }
    }
}

impl Door {
    /// A door with settings that [`Settings::check`] finds right.
    pub fn new(settings: Settings, parts: Parts) -> Arc<Self> {
        Arc::new(Self { parts, settings: ArcSwap::from_pointee(settings) })
    }

    /// Takes new settings. Listeners are the caller's.
    pub fn reload(&self, settings: Settings) {
        self.settings.store(Arc::new(settings));
    }

    /// Where to listen. Connections of `http` entries go to [`Door::serve_connection`], those of
    /// `https` entries to [`Door::serve_tls_connection`].
    pub fn listeners(&self) -> Vec<Listen> {
        self.settings.load().listen.iter().map(|listen| listen.0.clone()).collect()
    }

    /// The caps on its connections, to share among all its listeners.
    pub fn connection_limits(&self) -> ConnectionLimits {
        let settings = self.settings.load();
        ConnectionLimits::new(
            settings.connections as usize,
            settings.connections_per_client as usize,
        )
    }

    /// Serves one connection without TLS to its end. Within a `LocalSet` or local runtime only.
    pub async fn serve_connection(self: Arc<Self>, stream: Stream, drain: Drain) {
        let client = stream.peer().ip().to_canonical();
        let connection = Connection { client, transport: Transport::Plain };
        self.serve(stream, connection, Versions::Http1, drain).await;
    }

    /// Serves one connection with TLS to its end. Within a `LocalSet` or local runtime only.
    pub async fn serve_tls_connection(self: Arc<Self>, stream: Stream, drain: Drain) {
        let client = stream.peer().ip().to_canonical();
        let started = Instant::now();
        let accepted = tokio::select! {
            accepted = self.parts.tls.accept(stream, HANDSHAKE_DEADLINE) => accepted,
            // A handshake that is not through yet has asked for nothing.
            () = drain.begun() => return,
        };
        match accepted {
            Ok(stream) => {
                let asked = asked_name(&stream);
                let versions = match stream.alpn() {
                    Some(Alpn::Http2) => Versions::Http2,
                    Some(Alpn::Http1 | Alpn::Dot) | None => Versions::Http1,
                };
                let connection = Connection { client, transport: Transport::Tls(asked) };
                self.serve(stream, connection, versions, drain).await;
            }
            Err(why) => {
                if let Some(sign) = handshake::sign(&why) {
                    self.parts.trust.learn(client, sign, transport::clock::now());
                }
                handshake::record(&self.parts.ledger, client, started, &why);
            }
        }
    }

    async fn serve<I>(
        self: Arc<Self>,
        io: I,
        connection: Connection,
        versions: Versions,
        drain: Drain,
    ) where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let connection = Arc::new(connection);
        let is_first = Cell::new(matches!(connection.transport, Transport::Tls(_)));
        let handler = move |incoming| {
            if is_first.take() {
                // Only who took our certificate asks for anything.
                self.parts.trust.learn(connection.client, Sign::Request, transport::clock::now());
            }
            let (door, connection) = (Arc::clone(&self), Arc::clone(&connection));
            async move { request::answer(&door, &connection, incoming).await }
        };
        let stop = async move { drain.begun().await };
        // How a connection ends is the client's affair; what matters stands in the ledger.
        drop(serve(io, versions, Limits::default(), stop, handler).await);
    }
}

/// The name that the certificate was made for. A signer makes none without a name; a certificate
/// given as a file may have been chosen without one, and then covers nothing here.
fn asked_name(stream: &TlsStream) -> DomainName {
    let name = stream.sni().and_then(|name| DomainName::parse(name).ok());
    name.unwrap_or_else(|| Name::ROOT.to_owned())
}
