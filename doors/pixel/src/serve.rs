//! One connection through the door, from its first byte to its end.
//!
//! A connection for a name that was let through is carried to its server; any other is served, with
//! TLS where its listener is an `https` one. It answers no request. Called by the binary, and by
//! the proxy door for tunnels to blocked names.

use crate::connection::{CarryAttempt, OpenCount, PixelConnection, SniHandshake, StopSignal};
use crate::counters::Count;
use crate::door::PixelDoor;
use crate::fast_path::PixelFastPath;
use crate::handshake;
use crate::request;
use crate::socket;
use crate::splice::{self, SpliceProtocol};
use http_engine::{HttpVersions, Limits, serve_with_fast_path};
use http_front::{ConnectionContext, ConnectionSecurity, HttpDoor, ServeFuture, http_versions};
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;
use tokio::io::{AsyncRead, AsyncWrite};
use transport::neighbours::is_interface_address;
use transport::tls::{HANDSHAKE_DEADLINE, SessionSecrets, TlsVersion, record_failure};
use transport::{ConnectionLimits, Drain, Stream, TlsStream};
use vocab::{DomainName, Listen, Name, Scheme};

/// A connection that is about to speak TLS.
struct TlsArrival {
    client: SocketAddr,
    /// Our end, where the policy wants to know the interface.
    local: Option<SocketAddr>,
    started: Instant,
    attempt: CarryAttempt,
    /// The address that it is to, which may be ours or, behind a transparent redirection, not.
    to: Option<IpAddr>,
}

impl HttpDoor for PixelDoor {
    fn listeners(&self) -> Vec<Listen> {
        self.settings().listen.iter().map(|listen| listen.0.clone()).collect()
    }

    fn connection_limits(&self) -> ConnectionLimits {
        self.limits.connections()
    }

    fn serve(self: Arc<Self>, scheme: Scheme, stream: Stream, drain: Drain) -> ServeFuture {
        if scheme == Scheme::Https {
            return Box::pin(self.serve_tls_connection(stream, drain));
        }
        Box::pin(self.serve_connection(stream, drain))
    }
}

impl PixelDoor {
    /// Serves one connection without TLS to its end. Within a `LocalSet` or local runtime only.
    pub async fn serve_connection(self: Arc<Self>, stream: Stream, drain: Drain) {
        let Some((stream, attempt)) =
            self.unless_exempt(stream, SpliceProtocol::Plain, &drain).await
        else {
            return;
        };
        let connection = PixelConnection::new(self.context_of(&stream), attempt);
        self.counters.one(Count::ConnectionPlain);
        self.carry_http(stream, connection, HttpVersions::Http1, drain).await;
    }

    /// Serves one connection with TLS to its end. Within a `LocalSet` or local runtime only.
    pub async fn serve_tls_connection(self: Arc<Self>, stream: Stream, drain: Drain) {
        let started = Instant::now();
        let Some((stream, attempt)) = self.unless_exempt(stream, SpliceProtocol::Tls, &drain).await
        else {
            return;
        };
        let ConnectionContext { client, local, .. } = self.context_of(&stream);
        let to = stream.local().ok().map(|local| local.ip().to_canonical());
        self.secure(stream, TlsArrival { client, local, started, attempt, to }, drain).await;
    }

    /// Serves what a client sends through a tunnel to a blocked name, as if it had connected here:
    /// TLS, to its end. `local` is the address of ours that the tunnel was asked for at. Within a
    /// `LocalSet` or local runtime only.
    pub async fn serve_tunnel<S>(
        self: Arc<Self>,
        stream: S,
        client: IpAddr,
        local: Option<SocketAddr>,
        drain: Drain,
    ) where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        // No port is known of a client behind a tunnel, and none is asked for.
        let client = SocketAddr::new(client, 0);
        let (started, attempt) = (Instant::now(), CarryAttempt::None);
        let arrival = TlsArrival { client, local, started, attempt, to: None };
        self.secure(stream, arrival, drain).await;
    }

    async fn secure<S>(self: Arc<Self>, stream: S, arrival: TlsArrival, drain: Drain)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let TlsArrival { client, local, started, attempt, to } = arrival;
        let left = HANDSHAKE_DEADLINE.saturating_sub(started.elapsed());
        // A certificate for an address that another machine has would let us stand in for it.
        let ours = || to.filter(|to| is_interface_address(*to, transport::clock::now()));
        let accepted = tokio::select! {
            accepted = self.parts.tls.accept_at(stream, client.ip(), left, ours) => accepted,
            // A handshake that is not through yet has asked for nothing.
            () = drain.started() => return,
        };
        match accepted {
            Ok(stream) => {
                let secured = SniHandshake {
                    server_name: asked_name(&stream),
                    names: stream.leaf_names().cloned(),
                    own_address: stream.own_address(),
                };
                let versions = http_versions(&stream);
                self.note_handshake(&stream);
                let security = ConnectionSecurity::Tls(secured);
                let context = ConnectionContext { client, local, security };
                let connection = PixelConnection::new(context, attempt);
                self.carry_http(stream, connection, versions, drain).await;
            }
            Err(why) => {
                self.counters.failed(&why);
                if let Some(sign) = handshake::sign(&why) {
                    self.parts.trust.record(client.ip(), sign, transport::clock::now());
                }
                let ledger = &self.parts.ledger;
                record_failure(ledger, vocab::Door::Pixel, client.ip(), started, &why);
            }
        }
    }

    /// Gives the connection back, unless it is for a name that passes for a leave or a pause alone:
    /// such a one is carried to its server, to the end, if that can be reached. While there is no
    /// leave, this costs two loads.
    async fn unless_exempt(
        &self,
        stream: Stream,
        way: SpliceProtocol,
        drain: &Drain,
    ) -> Option<(Stream, CarryAttempt)> {
        if !self.parts.policy.load().has_exemptions(transport::clock::now()) {
            return Some((stream, CarryAttempt::None));
        }
        // Boxed: most connections never need it.
        Box::pin(self.given_back(stream, way, drain)).await
    }

    async fn given_back(
        &self,
        mut stream: Stream,
        way: SpliceProtocol,
        drain: &Drain,
    ) -> Option<(Stream, CarryAttempt)> {
        let looking = splice::exempt_connection(self, &mut stream, way);
        let found = tokio::select! {
            // Whoever is slow is told so by what comes next, within the same time.
            found = tokio::time::timeout(HANDSHAKE_DEADLINE, looking) => found.ok().flatten(),
            () = drain.started() => None,
        };
        match found {
            None => Some((stream, CarryAttempt::None)),
            Some(spared) => {
                let back = splice::relay(self, stream, spared).await;
                back.map(|stream| (stream, CarryAttempt::Failed))
            }
        }
    }

    /// The connection in the clear, with the address of ours that it is to if that is wanted.
    fn context_of(&self, stream: &Stream) -> ConnectionContext<SniHandshake> {
        let needs = self.parts.policy.load().link_info_needs();
        ConnectionContext::with_needs(stream, needs, ConnectionSecurity::Plain)
    }

    async fn carry_http<I>(
        self: Arc<Self>,
        io: I,
        connection: PixelConnection,
        versions: HttpVersions,
        drain: Drain,
    ) where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let connection = Rc::new(connection);
        let _open = OpenCount::note(Arc::clone(&self.counters), Rc::clone(&connection));
        let (door, at) = (Arc::clone(&self), Rc::clone(&connection));
        let handler = move |incoming| {
            let (door, connection) = (Arc::clone(&door), Rc::clone(&at));
            async move { request::answer(&door, &connection, incoming).await }
        };
        let stop = StopSignal { started: drain.started(), connection: Rc::clone(&connection) };
        let limits = Limits { idle_timeout: self.settings().idle_timeout.0.0, ..Limits::default() };
        let fast_path = PixelFastPath { door: self, connection: Rc::clone(&connection) };
        // How a connection ends is the client's affair; what matters stands in the ledger.
        drop(serve_with_fast_path(io, versions, limits, stop, fast_path, handler).await);
        // A WebSocket is closed here, so that it keeps its place under the caps until it is.
        if let Some(upgrade) = connection.upgrade.take() {
            socket::close(upgrade).await;
        }
    }

    fn note_handshake<S>(&self, stream: &TlsStream<S>) {
        self.counters.one(Count::ConnectionSecure);
        self.counters.one(match stream.version() {
            TlsVersion::Tls12 => Count::Tls12,
            TlsVersion::Tls13 => Count::Tls13,
        });
        self.counters.one(match stream.session() {
            SessionSecrets::Resumed => Count::Resumed,
            SessionSecrets::New => Count::Full,
        });
    }
}

/// The name that a handshake asked for.
fn asked_name<S>(stream: &TlsStream<S>) -> DomainName {
    let name = stream.sni().and_then(|name| DomainName::parse(name).ok());
    name.unwrap_or_else(|| Name::ROOT.to_owned())
}
