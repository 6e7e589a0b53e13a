//! One connection through the door, from its first byte to its end.
//!
//! It answers no request. Called by the binary, which hands over connections.

use crate::connecting_client::ConnectingClient;
use crate::connection::{InterceptedConnection, InterceptedProtocol, ProxyConnection};
use crate::door::ProxyDoor;
use crate::fast_path::ProxyFastPath;
use crate::request;
use crate::setup::ProxySetup;
use crate::socks::{SocksLogin, accept_socks};
use crate::transparent::{self, FirstWords};
use http::{Request, Response};
use http_engine::{Body, HttpVersions, Limits, UnfinishedCounts, serve_with_fast_path};
use http_front::{
    ConnectionContext, ConnectionSecurity, HealthPath, HttpDoor, ServeFuture, accept_tls,
    http_versions,
};
use origins::{BecomesTunnel, ClientStream};
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use transport::tls::CertificateFacts;
use transport::{ConnectionLimits, Drain, Stream};
use vocab::{Door, Listen, Scheme};

impl HttpDoor for ProxyDoor {
    fn listeners(&self) -> Vec<Listen> {
        self.setup().settings.listen.iter().map(|listen| listen.0.clone()).collect()
    }

    fn connection_limits(&self) -> ConnectionLimits {
        self.limits.connections()
    }

    fn unfinished_requests(&self) -> Option<UnfinishedCounts> {
        Some(self.limits.unfinished_requests())
    }

    fn certificates(&self) -> Vec<CertificateFacts> {
        self.setup().secure.as_ref().map_or_else(Vec::new, |it| it.server().certificates())
    }

    fn serve(self: Arc<Self>, scheme: Scheme, stream: Stream, drain: Drain) -> ServeFuture {
        match scheme {
            Scheme::Https => Box::pin(self.serve_tls_connection(stream, drain)),
            Scheme::Redirect | Scheme::Tproxy => {
                Box::pin(self.serve_intercepted(scheme, stream, drain))
            }
            Scheme::Udp | Scheme::Tcp | Scheme::Tls | Scheme::Quic | Scheme::Http => {
                Box::pin(self.serve_connection(stream, drain))
            }
        }
    }

    fn flush(&self) {
        if let Some(cache) = self.cache() {
            cache.flush();
        }
    }
}

impl ProxyDoor {
    /// Serves one connection without TLS to its end. Within a `LocalSet` or local runtime only.
    pub async fn serve_connection(self: Arc<Self>, stream: Stream, drain: Drain) {
        let context = ConnectionContext::of(&stream, ConnectionSecurity::Plain);
        let (stream, tunnel) = ClientStream::new(stream);
        let connection = ProxyConnection { context, tunnel, intercepted: None };
        let setup = self.setup();
        if !setup.settings.socks5 {
            drop(setup);
            return self.carry_http(stream, HttpVersions::Http1And2, connection, drain).await;
        }
        let login = if setup.access.is_some() { SocksLogin::Asked } else { SocksLogin::NotAsked };
        drop(setup);
        let accepted = timeout(Limits::default().header_timeout, accept_socks(stream, login));
        let client = tokio::select! {
            accepted = accepted => accepted,
            () = drain.started() => return,
        };
        // A client that said nothing, or nothing that could be answered, leaves no event.
        let Ok(Ok(client)) = client else { return };
        self.carry_http(client, HttpVersions::Http1And2, connection, drain).await;
    }

    /// Serves one connection to an `https` listener to its end. Within a `LocalSet` or local
    /// runtime only.
    pub async fn serve_tls_connection(self: Arc<Self>, stream: Stream, drain: Drain) {
        let setup = self.setup();
        let Some(secure) = &setup.secure else { return };
        let ledger = &self.parts.ledger;
        let accepted = accept_tls(secure.server(), stream, &drain, Door::Proxy, ledger).await;
        let Some(stream) = accepted else { return };
        drop(setup);
        let context = ConnectionContext::of(stream.tcp(), ConnectionSecurity::Tls(()));
        // TLS ends one half by itself.
        let tunnel = BecomesTunnel::default();
        let connection = ProxyConnection { context, tunnel, intercepted: None };
        let versions = http_versions(&stream);
        self.carry_http(stream, versions, connection, drain).await;
    }

    /// Serves one connection that was meant for somebody else to its end. Within a `LocalSet` or
    /// local runtime only.
    async fn serve_intercepted(self: Arc<Self>, scheme: Scheme, mut stream: Stream, drain: Drain) {
        let meant = transparent::destination(scheme, &stream);
        let context = ConnectionContext::of(&stream, ConnectionSecurity::Plain);
        let own = context.local;
        let sni = self.setup().settings.connect_sni;
        let first = transparent::first_words(&mut stream, sni);
        let first = tokio::select! {
            first = timeout(Limits::default().header_timeout, first) => first,
            () = drain.started() => return,
        };
        // A client that said nothing leaves no event.
        let Ok(first) = first else { return };
        let (stream, tunnel) = ClientStream::new(stream);
        let connection = |spoken| {
            let intercepted = Some(InterceptedConnection::new(meant, spoken));
            ProxyConnection { context, tunnel, intercepted }
        };
        match first {
            FirstWords::Nothing => {}
            FirstWords::Plain => {
                let connection = connection(InterceptedProtocol::Http);
                self.carry_http(stream, HttpVersions::Http1And2, connection, drain).await;
            }
            FirstWords::Tls(name, beginning) => {
                let permit = beginning.map(|beginning| self.carried.take(beginning));
                let (Some(to), true) = (meant.or(own), permit.as_ref().is_none_or(Option::is_some))
                else {
                    return;
                };
                let request = transparent::connect_request(name.as_ref(), to);
                let client = ConnectingClient::asking(stream, request, transparent::tls_reply);
                let (client, connection) =
                    (client.holding(permit), connection(InterceptedProtocol::Tls));
                self.carry_http(client, HttpVersions::Http1, connection, drain).await;
            }
        }
    }

    async fn carry_http<S>(
        self: Arc<Self>,
        stream: S,
        versions: HttpVersions,
        connection: ProxyConnection,
        drain: Drain,
    ) where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (stop, connection) = (drain.started(), Arc::new(connection));
        let fast_path =
            ProxyFastPath { door: Arc::clone(&self), connection: Arc::clone(&connection) };
        let handler = move |incoming| {
            let (door, connection) = (Arc::clone(&self), Arc::clone(&connection));
            async move {
                let admitted = door.limits.admit(incoming, || connection.context.customer());
                let incoming = match admitted {
                    Ok(incoming) => incoming,
                    Err(too_many) => return too_many.answer(),
                };
                let setup = door.setup();
                match health(&setup, &connection, &incoming) {
                    Some(answer) => answer,
                    None => request::answer(&door, setup, &connection, incoming).await,
                }
            }
        };
        // How a connection ends is the client's affair; what matters stands in the ledger.
        drop(
            serve_with_fast_path(stream, versions, Limits::default(), stop, fast_path, handler)
                .await,
        );
    }
}

/// The answer to who asks whether the proxy serves, if somebody does. With an authority, or on its
/// way to others, the request is for somebody else's page.
fn health<B>(
    setup: &ProxySetup,
    from: &ProxyConnection,
    request: &Request<B>,
) -> Option<Response<Body>> {
    let is_own = request.uri().authority().is_none() && from.intercepted.is_none();
    HealthPath::answer(setup.settings.health.as_ref().filter(|_| is_own), request)
}
