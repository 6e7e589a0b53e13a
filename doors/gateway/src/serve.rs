//! One connection through the door, from its first byte to its end.
//!
//! It answers no request. Called by the binary, which hands over connections.

use crate::caller::{ClientConnection, HandshakeInfo};
use crate::door::GatewayDoor;
use crate::request;
use crate::secure::client_cert;
use http::header::{CONNECTION, HeaderValue};
use http::{Response, StatusCode};
use http_engine::{Body, HttpVersions, Limits, UnfinishedCounts, serve};
use http_front::{
    ConnectionContext, ConnectionSecurity, HealthPath, HttpDoor, ServeFuture, accept_tls,
    http_versions, introduced,
};
use origins::{BecomesTunnel, ClientStream};
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use transport::tls::CertificateFacts;
use transport::{ConnectionLimits, Drain, Stream};
use vocab::{Door, Listen, Scheme};

/// How HTTP is spoken over a connection.
#[derive(Clone, Copy)]
struct HttpTerms {
    versions: HttpVersions,
    limits: Limits,
}

impl HttpDoor for GatewayDoor {
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
        if scheme == Scheme::Https {
            return Box::pin(self.serve_tls_connection(stream, drain));
        }
        Box::pin(self.serve_connection(stream, drain))
    }

    fn flush(&self) {
        if let Some(cache) = self.cache() {
            cache.flush();
        }
    }
}

impl GatewayDoor {
    /// Serves one connection without TLS to its end. Within a `LocalSet` or local runtime only.
    pub async fn serve_connection(self: Arc<Self>, stream: Stream, drain: Drain) {
        let setup = self.setup();
        let Some(stream) = introduced(stream, &setup.proxies, &drain).await else { return };
        let versions =
            if setup.settings.h2c { HttpVersions::Http1And2 } else { HttpVersions::Http1 };
        let terms = HttpTerms { versions, limits: setup.limits };
        drop(setup);
        let context = ConnectionContext::of(&stream, ConnectionSecurity::Plain);
        let (stream, tunnel) = ClientStream::new(stream);
        self.carry_http(stream, terms, ClientConnection::new(context, tunnel), drain).await;
    }

    /// Serves one connection to an `https` listener to its end. Within a `LocalSet` or local
    /// runtime only.
    pub async fn serve_tls_connection(self: Arc<Self>, stream: Stream, drain: Drain) {
        let setup = self.setup();
        let Some(stream) = introduced(stream, &setup.proxies, &drain).await else { return };
        let Some(secure) = &setup.secure else { return };
        let ledger = &self.parts.ledger;
        let accepted = accept_tls(secure.server(), stream, &drain, Door::Gateway, ledger).await;
        let Some(stream) = accepted else { return };
        let handshake = HandshakeInfo {
            name: stream.sni().map(str::to_ascii_lowercase),
            certificate: stream.site(),
            client_certificate: stream.client_certificate().and_then(client_cert),
        };
        let terms = HttpTerms { versions: http_versions(&stream), limits: setup.limits };
        drop(setup);
        let context = ConnectionContext::of(stream.tcp(), ConnectionSecurity::Tls(handshake));
        // TLS ends one half by itself.
        let connection = ClientConnection::new(context, BecomesTunnel::default());
        self.carry_http(stream, terms, connection, drain).await;
    }

    async fn carry_http<S>(
        self: Arc<Self>,
        stream: S,
        terms: HttpTerms,
        connection: ClientConnection,
        drain: Drain,
    ) where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (stop, connection) = (drain.started(), Arc::new(connection));
        let handler = move |incoming| {
            let (door, connection) = (Arc::clone(&self), Arc::clone(&connection));
            let admitted = door.limits.admit(incoming, || connection.context.customer());
            async move {
                let incoming = match admitted {
                    Ok(incoming) => incoming,
                    Err(too_many) => return too_many.answer(),
                };
                let setup = door.setup();
                let keep_alive = setup.settings.client.keep_alive;
                let answer = match HealthPath::answer(setup.settings.health.as_ref(), &incoming) {
                    Some(answer) => answer,
                    None => Box::pin(request::answer(&door, setup, &connection, incoming)).await,
                };
                if keep_alive { answer } else { last(answer) }
            }
        };
        // How a connection ends is the client's affair; what matters stands in the ledger.
        drop(serve(stream, terms.versions, terms.limits, stop, handler).await);
    }
}

/// The answer as the last of its connection. One that leaves HTTP goes on.
fn last(mut answer: Response<Body>) -> Response<Body> {
    if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
        answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    answer
}
