//! The door itself: what it is made of, how it is reloaded, and one connection through it.

use crate::counters::{Count, PixelCounters};
use crate::figures::PixelFigures;
use crate::handshake;
use crate::quick::PixelFastPath;
use crate::request;
use crate::settings::Settings;
use crate::socket;
use crate::splice::{self, SpliceBounds, SpliceProtocol};
use crate::tunnels::OpenTunnels;
use arc_swap::ArcSwap;
use http::Method;
use http_engine::upgrade::OnUpgrade;
use http_engine::{HttpVersions, Limits, serve_quickly};
use ledger::Ledger;
use null_answers::HttpCarrier;
use origins::Dialer;
use policy::Policy;
use signer::LeafNames;
use signer::Signer;
use signer::trust::{TrustBook, TrustSign};
use std::cell::Cell;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::Instant;
use tokio::io::{AsyncRead, AsyncWrite};
use transport::near::{self, ArrivedAt};
use transport::tls::{Alpn, HANDSHAKE_DEADLINE, SessionSecrets, TlsVersion};
use transport::{ConnectionLimits, Drain, ServerTls, Stream, TlsStream};
use vocab::{DomainName, LinkInfo, Listen, Name, Now, Scheme};

/// Holds what the door is built from.
#[derive(Clone)]
pub struct PixelParts {
    /// The policy, swapped as a whole on reload.
    pub policy: Arc<ArcSwap<Policy>>,
    /// Where requests are recorded.
    pub ledger: Ledger,
    /// TLS with certificates that are made for blocked names, in the handshake.
    pub tls: ServerTls,
    /// The signer, whose authority devices are to trust.
    pub signer: Arc<Signer>,
    /// Learns which clients trust the authority.
    pub trust: Arc<TrustBook>,
    /// Where the dashboard listens, once it does: the block page leads there whoever can reach it.
    pub dashboard: Arc<OnceLock<SocketAddr>>,
    /// What opens connections to the servers of names that were let through.
    pub dialer: Dialer,
}

/// The pixel door.
pub struct PixelDoor {
    pub(crate) parts: PixelParts,
    pub(crate) counters: Arc<PixelCounters>,
    /// The connections that are carried to other servers.
    pub(crate) tunnels: Arc<OpenTunnels>,
    /// Where they may lead.
    pub(crate) bounds: ArcSwap<SpliceBounds>,
    settings: ArcSwap<Settings>,
    /// The caps on its connections, which know how many were refused.
    limits: ConnectionLimits,
}

/// One connection, as its requests see it.
pub(crate) struct PixelConnection {
    pub(crate) client: IpAddr,
    /// The address of ours that it is to, if the policy wants to know the interface.
    local: Option<ArrivedAt>,
    pub(crate) transport: HttpTransport,
    /// Requests so far.
    requests: Cell<u64>,
    /// A WebSocket that waits for the connection to leave HTTP.
    pub(crate) upgrade: Cell<Option<OnUpgrade>>,
    /// Outcome of carrying it to the real server.
    pub(crate) attempt: CarryAttempt,
    over: Cell<ConnectionOver>,
    waiting: Cell<Option<Waker>>,
}

/// Outcome of carrying a connection to its real server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CarryAttempt {
    /// There was no reason to.
    None,
    /// Could not be: another one would not fare better.
    Failed,
}

/// Tells whether a connection is to take no more requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConnectionOver {
    No,
    Yes,
}

/// Tells what carries HTTP.
pub(crate) enum HttpTransport {
    /// Nothing but TCP.
    Plain,
    /// TLS.
    Tls(SniHandshake),
}

/// Holds what a TLS connection was opened for.
pub(crate) struct SniHandshake {
    /// The name that was asked for; the root where there was none.
    pub(crate) asked: DomainName,
    /// The names that its certificate is for; none where the door was given one.
    pub(crate) names: Option<Arc<LeafNames>>,
}

impl PixelConnection {
    fn new(
        (client, local): (IpAddr, Option<ArrivedAt>),
        transport: HttpTransport,
        attempt: CarryAttempt,
    ) -> Self {
        Self {
            client,
            local,
            transport,
            attempt,
            requests: Cell::new(0),
            upgrade: Cell::new(None),
            over: Cell::new(ConnectionOver::No),
            waiting: Cell::new(None),
        }
    }

    /// Returns what the link tells of the client, as far as the policy wants to know.
    pub(crate) fn near(&self, policy: &Policy, now: Now) -> LinkInfo {
        near::of(policy.near_wanted(), self.client, || self.local, now)
    }

    /// Has the client open another connection for its next request.
    pub(crate) fn end(&self) {
        self.over.set(ConnectionOver::Yes);
        if let Some(waker) = self.waiting.take() {
            waker.wake();
        }
    }

    /// True if it takes no more requests.
    pub(crate) fn is_over(&self) -> bool {
        self.over.get() == ConnectionOver::Yes
    }

    /// Counts a request.
    pub(crate) fn note_request(&self, door: &PixelDoor, method: &Method) {
        self.requests.set(self.requests.get() + 1);
        door.counters.one(match *method {
            Method::GET => Count::Get,
            Method::HEAD => Count::Head,
            Method::POST => Count::Post,
            Method::OPTIONS => Count::Options,
            _ => Count::OtherMethod,
        });
        door.counters.one(match self.transport {
            HttpTransport::Plain => Count::Plain,
            HttpTransport::Tls(_) => Count::Secure,
        });
        if self.requests.get() == 1 && matches!(self.transport, HttpTransport::Tls(_)) {
            // Only who took our certificate asks for anything.
            door.parts.trust.learn(self.client, TrustSign::Request, transport::clock::now());
        }
    }
}

impl HttpTransport {
    pub(crate) fn scheme(&self) -> &'static str {
        match self {
            Self::Plain => "http",
            Self::Tls(_) => "https",
        }
    }

    pub(crate) fn carrier(&self) -> HttpCarrier {
        match self {
            Self::Plain => HttpCarrier::Tcp,
            Self::Tls(_) => HttpCarrier::Tls,
        }
    }
}

impl PixelDoor {
    /// A door with settings that [`Settings::check`] finds right.
    pub fn new(settings: Settings, bounds: SpliceBounds, parts: PixelParts) -> Arc<Self> {
        let (all, each) = caps(&settings);
        let limits = ConnectionLimits::new(all, each);
        let settings = ArcSwap::from_pointee(settings);
        let (bounds, tunnels) = (ArcSwap::from_pointee(bounds), Arc::default());
        let counters = Arc::new(PixelCounters::new());
        Arc::new(Self { parts, counters, tunnels, bounds, settings, limits })
    }

    /// Takes new settings. Listeners are the caller's.
    pub fn reload(&self, settings: Settings, bounds: SpliceBounds) {
        let (all, each) = caps(&settings);
        self.limits.set(all, each);
        self.settings.store(Arc::new(settings));
        self.bounds.store(Arc::new(bounds));
    }

    /// Where to listen. Connections of `http` entries go to [`PixelDoor::serve_connection`], those
    /// of `https` entries to [`PixelDoor::serve_tls_connection`].
    pub fn listeners(&self) -> Vec<Listen> {
        self.settings.load().listen.iter().map(|listen| listen.0.clone()).collect()
    }

    /// The caps on its connections, to share among all its listeners.
    pub fn connection_limits(&self) -> ConnectionLimits {
        self.limits.clone()
    }

    /// The door's own figures, for the metrics page.
    pub fn figures(&self) -> Arc<dyn ledger::Collector> {
        let (limits, tunnels) = (self.limits.counts(), Arc::clone(&self.tunnels));
        Arc::new(PixelFigures::new(Arc::clone(&self.counters), limits, tunnels))
    }

    /// Where devices find our authority's certificate; none if there is no listener for it.
    pub(crate) fn setup_url(&self) -> Option<String> {
        let settings = self.settings.load();
        let plain = settings.listen.iter().find(|it| it.scheme == Scheme::Http)?.address;
        let address = settings.addresses.first().map_or(plain.ip(), |address| address.0);
        if address.is_unspecified() {
            return None;
        }
        Some(match plain.port() {
            80 => format!("http://{}/", bracketed(address)),
            port => format!("http://{}/", SocketAddr::from((address, port))),
        })
    }

    /// Serves one connection without TLS to its end. Within a `LocalSet` or local runtime only.
    pub async fn serve_connection(self: Arc<Self>, stream: Stream, drain: Drain) {
        let Some((stream, attempt)) =
            self.unless_spared(stream, SpliceProtocol::Plain, &drain).await
        else {
            return;
        };
        let connection = PixelConnection::new(self.ends(&stream), HttpTransport::Plain, attempt);
        self.counters.one(Count::ConnectionPlain);
        self.serve(stream, connection, HttpVersions::Http1, drain).await;
    }

    /// Serves one connection with TLS to its end. Within a `LocalSet` or local runtime only.
    pub async fn serve_tls_connection(self: Arc<Self>, stream: Stream, drain: Drain) {
        let started = Instant::now();
        let Some((stream, attempt)) = self.unless_spared(stream, SpliceProtocol::Tls, &drain).await
        else {
            return;
        };
        let ends = self.ends(&stream);
        self.secure(stream, ends, (started, attempt), drain).await;
    }

    /// Serves what a client sends through a tunnel to a blocked name, as if it had connected here:
    /// TLS, to its end. `local` is the address of ours that the tunnel was asked for at. Within a
    /// `LocalSet` or local runtime only.
    pub async fn serve_tunnel<S>(
        self: Arc<Self>,
        stream: S,
        (client, local): (IpAddr, Option<SocketAddr>),
        drain: Drain,
    ) where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let ends = (client, local.map(ArrivedAt::Address));
        self.secure(stream, ends, (Instant::now(), CarryAttempt::None), drain).await;
    }

    async fn secure<S>(
        self: Arc<Self>,
        stream: S,
        (client, local): (IpAddr, Option<ArrivedAt>),
        (started, attempt): (Instant, CarryAttempt),
        drain: Drain,
    ) where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let left = HANDSHAKE_DEADLINE.saturating_sub(started.elapsed());
        let accepted = tokio::select! {
            accepted = self.parts.tls.accept_within(stream, client, left) => accepted,
            // A handshake that is not through yet has asked for nothing.
            () = drain.begun() => return,
        };
        match accepted {
            Ok(stream) => {
                let secured = SniHandshake {
                    asked: asked_name(&stream),
                    names: stream.leaf_names().cloned(),
                };
                let versions = match stream.alpn() {
                    Some(Alpn::Http2) => HttpVersions::Http2,
                    Some(Alpn::Http1 | Alpn::Dot) | None => HttpVersions::Http1,
                };
                self.note_handshake(&stream);
                let connection =
                    PixelConnection::new((client, local), HttpTransport::Tls(secured), attempt);
                self.serve(stream, connection, versions, drain).await;
            }
            Err(why) => {
                self.counters.failed(&why);
                if let Some(sign) = handshake::sign(&why) {
                    self.parts.trust.learn(client, sign, transport::clock::now());
                }
                handshake::record(&self.parts.ledger, client, started, &why);
            }
        }
    }

    /// Gives the connection back, unless it is for a name that passes for a leave or a pause alone:
    /// such a one is carried to its server, to the end, if that can be reached. While there is no
    /// leave, this costs two loads.
    async fn unless_spared(
        &self,
        stream: Stream,
        way: SpliceProtocol,
        drain: &Drain,
    ) -> Option<(Stream, CarryAttempt)> {
        if !self.parts.policy.load().spares_some(transport::clock::now()) {
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
        let looking = splice::spared(self, &mut stream, way);
        let found = tokio::select! {
            // Whoever is slow is told so by what comes next, within the same time.
            found = tokio::time::timeout(HANDSHAKE_DEADLINE, looking) => found.ok().flatten(),
            () = drain.begun() => None,
        };
        match found {
            None => Some((stream, CarryAttempt::None)),
            Some(spared) => {
                let back = splice::carry(self, stream, spared).await;
                back.map(|stream| (stream, CarryAttempt::Failed))
            }
        }
    }

    /// The client of a connection, and the address of ours that it is to, if that is wanted.
    fn ends(&self, stream: &Stream) -> (IpAddr, Option<ArrivedAt>) {
        let local = near::local(self.parts.policy.load().near_wanted(), stream);
        (stream.peer().ip().to_canonical(), local)
    }

    async fn serve<I>(
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
        let stop = StopSignal { begun: drain.begun(), connection: Rc::clone(&connection) };
        let lane = PixelFastPath { door: self, connection: Rc::clone(&connection) };
        // How a connection ends is the client's affair; what matters stands in the ledger.
        drop(serve_quickly(io, versions, Limits::default(), stop, lane, handler).await);
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

/// When a connection takes no more requests: the program ends, or the connection is over.
struct StopSignal<F> {
    begun: F,
    connection: Rc<PixelConnection>,
}

impl<F: Future<Output = ()> + Unpin> Future for StopSignal<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.connection.over.get() == ConnectionOver::Yes {
            return Poll::Ready(());
        }
        // One task polls it, so the first waker is good for all.
        let waker = self.connection.waiting.take().unwrap_or_else(|| cx.waker().clone());
        self.connection.waiting.set(Some(waker));
        Pin::new(&mut self.begun).poll(cx)
    }
}

/// An open connection, counted until it is dropped.
struct OpenCount {
    counters: Arc<PixelCounters>,
    connection: Rc<PixelConnection>,
}

impl OpenCount {
    fn note(counters: Arc<PixelCounters>, connection: Rc<PixelConnection>) -> Self {
        let now = counters.open.fetch_add(1, Relaxed) + 1;
        counters.open_max.fetch_max(now, Relaxed);
        Self { counters, connection }
    }
}

impl Drop for OpenCount {
    fn drop(&mut self) {
        self.counters.open.fetch_sub(1, Relaxed);
        let requests = self.connection.requests.get();
        self.counters.requests_max.fetch_max(requests, Relaxed);
        if requests == 0 {
            self.counters.one(match self.connection.transport {
                HttpTransport::Plain => Count::SilentPlain,
                HttpTransport::Tls(_) => Count::SilentSecure,
            });
        }
    }
}

/// Returns how many connections may be open: in all, and from one client.
fn caps(settings: &Settings) -> (usize, usize) {
    (settings.connections as usize, settings.connections_per_client as usize)
}

/// An address as it stands in a URL.
fn bracketed(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

/// The name that a handshake asked for.
fn asked_name<S>(stream: &TlsStream<S>) -> DomainName {
    let name = stream.sni().and_then(|name| DomainName::parse(name).ok());
    name.unwrap_or_else(|| Name::ROOT.to_owned())
}
