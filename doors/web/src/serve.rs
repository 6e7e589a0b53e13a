//! One connection through the door, from its first byte to its end.
//!
//! It answers no request. Called by the binary, which hands over connections.

use crate::connection::WebConnection;
use crate::door::{WebDoor, WebState};
use crate::fast_path::WebFastPath;
use crate::handshake::HandshakeInfo;
use crate::request;
use futures_util::FutureExt;
use futures_util::future::Either;
use http_engine::{HttpVersions, Limits, UnfinishedCounts, serve_with_fast_path};
use http_front::{
    ConnectionContext, ConnectionSecurity, HttpDoor, ServeFuture, accept_tls, http_versions,
};
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use transport::tls::CertificateFacts;
use transport::{ConnectionLimits, Drain, Stream};
use vocab::{Door, Listen, Scheme};

impl HttpDoor for WebDoor {
    /// Each entry once, however many sites share it.
    fn listeners(&self) -> Vec<Listen> {
        self.state().sites.tables.iter().map(|(listen, _)| listen.clone()).collect()
    }

    fn connection_limits(&self) -> ConnectionLimits {
        self.limits.connections()
    }

    fn unfinished_requests(&self) -> Option<UnfinishedCounts> {
        Some(self.limits.unfinished_requests())
    }

    fn certificates(&self) -> Vec<CertificateFacts> {
        self.state().listeners.certificates()
    }

    fn serve(self: Arc<Self>, scheme: Scheme, stream: Stream, drain: Drain) -> ServeFuture {
        if scheme == Scheme::Https {
            return Box::pin(self.serve_tls_connection(stream, drain));
        }
        Box::pin(self.serve_connection(stream, drain))
    }
}

impl WebDoor {
    /// Serves one connection without TLS to its end. Within a `LocalSet` or local runtime only.
    ///
    /// Not an async function: the future is most of what an idle connection takes, and would hold
    /// the stream a second time.
    pub fn serve_connection(
        self: Arc<Self>,
        stream: Stream,
        drain: Drain,
    ) -> impl Future<Output = ()> {
        let state = self.state();
        if !state.listeners.expect_proxy_header() {
            return Either::Left(WebConnection::plain(self, &state, &stream).serve(stream, &drain));
        }
        Either::Right(Box::pin(async move {
            if let Some(stream) = state.listeners.read_proxy_header(stream, &drain).await {
                let connection = WebConnection::plain(self, &state, &stream);
                drop(state);
                connection.serve(stream, &drain).await;
            }
        }))
    }

    /// Serves one connection to an `https` listener to its end. Within a `LocalSet` or local
    /// runtime only.
    pub async fn serve_tls_connection(self: Arc<Self>, stream: Stream, drain: Drain) {
        // Held through the handshake: what it was for must mean the same afterwards.
        let state = self.state();
        let stream = if state.listeners.expect_proxy_header() {
            match Box::pin(state.listeners.read_proxy_header(stream, &drain)).await {
                Some(stream) => stream,
                None => return,
            }
        } else {
            stream
        };
        let Some((front, tls)) =
            state.listeners.at(&stream).and_then(|it| Some((it, it.tls.as_ref()?)))
        else {
            return;
        };
        let ledger = &self.parts.ledger;
        let Some(stream) = accept_tls(tls, stream, &drain, Door::Web, ledger).await else {
            return;
        };
        let versions = http_versions(&stream);
        let handshake = HandshakeInfo {
            demand: front.demand(stream.site()),
            client_certificate: stream.client_certificate().map(Into::into),
        };
        let context = ConnectionContext::of(stream.tcp(), ConnectionSecurity::Tls(handshake));
        let table = state.table_at(stream.tcp(), Scheme::Https);
        drop(state);
        let connection = Arc::new(WebConnection { door: self, table, context, versions });
        connection.serve(stream, &drain).await;
    }
}

impl WebConnection {
    fn plain(door: Arc<WebDoor>, state: &WebState, stream: &Stream) -> Arc<Self> {
        let table = state.table_at(stream, Scheme::Http);
        let context = ConnectionContext::of(stream, ConnectionSecurity::Plain);
        Arc::new(Self { door, table, context, versions: HttpVersions::Http1 })
    }

    /// Serves what comes by `stream`, whose handshake is over if there is one.
    fn serve<S>(self: Arc<Self>, stream: S, drain: &Drain) -> impl Future<Output = ()> + use<S>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (versions, fast_path) = (self.versions, WebFastPath(Arc::clone(&self)));
        let handler =
            move |incoming| match self.door.limits.admit(incoming, || self.context.customer()) {
                Ok(incoming) => {
                    let connection = Arc::clone(&self);
                    Either::Left(async move {
                        request::answer(&connection.door, &connection, incoming).await
                    })
                }
                Err(too_many) => Either::Right(std::future::ready(too_many.answer())),
            };
        let stop = drain.started();
        // How a connection ends is the client's affair; what matters stands in the ledger.
        serve_with_fast_path(stream, versions, Limits::default(), stop, fast_path, handler)
            .map(drop)
    }
}
