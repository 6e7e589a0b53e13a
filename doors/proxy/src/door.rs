//! The door itself: what it is made of, how it is reloaded, and one connection through it.

use crate::access::{GUESSES, ProxyAccess};
use crate::headers::FieldPolicy;
use crate::never::Never;
use crate::quick::ProxyFastPath;
use crate::request;
use crate::routes::ParentRoutes;
use crate::secure::{self, ProxyTls};
use crate::settings::Settings;
use crate::trims::RecentTrims;
use crate::tunnel::BlockedTunnels;
use crate::within::{DestinationGuard, HostAsker};
use arc_swap::ArcSwap;
use http_cache::{CacheEnvironment, HttpCache};
use http_engine::{HttpVersions, Limits, UnfinishedCounts, UnfinishedRequests, serve_quickly};
use http_freshness::CachingRules;
use ledger::Ledger;
use origins::{
    BecomesTunnel, ClientReach, ClientStream, Dialer, KnownOrigin, Origin, OriginLimits, Origins,
    UrlHost,
};
use passwords::UserTable;
use policy::Policy;
use rate_limit::{ClientBuckets, client_of};
use signer::Signer;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use tokio::io::{AsyncRead, AsyncWrite};
use transport::near::{self, ArrivedAt};
use transport::{ConnectionLimits, Drain, Stream};
use vocab::{Complaint, LinkInfo, Listen, Now};

/// Holds what the door is built from.
#[derive(Clone)]
pub struct ProxyParts {
    /// The policy, swapped as a whole on reload.
    pub policy: Arc<ArcSwap<Policy>>,
    /// Where requests are recorded.
    pub ledger: Ledger,
    /// What opens connections to origins.
    pub dialer: Dialer,
    /// Listeners that no proxied request may reach: the admin's.
    pub off_limits: Vec<SocketAddr>,
    /// The folder from which relative paths start.
    pub base: PathBuf,
    /// Who signs the certificate of `https` listeners that have none as files.
    pub signer: Option<Arc<Signer>>,
    /// Where the dashboard listens, once it does: the block page leads there whoever can reach it.
    pub dashboard: Arc<OnceLock<SocketAddr>>,
    /// Whoever answers for hosts that are blocked, inside tunnels to them; none: they are refused.
    pub blocked_tunnels: Option<Arc<dyn BlockedTunnels>>,
    /// What the cache finds around it.
    pub cache: CacheEnvironment,
    /// Takes a line for the administrator: what came of a certificate that has changed.
    pub tell: Arc<dyn Fn(&str) + Send + Sync>,
}

/// The proxy door.
pub struct ProxyDoor {
    pub(crate) parts: ProxyParts,
    /// Wrong credentials, by client. They outlive a reload.
    pub(crate) guesses: ClientBuckets,
    pub(crate) trims: RecentTrims,
    connections: ConnectionLimits,
    unfinished: UnfinishedRequests,
    setup: ArcSwap<ProxySetup>,
}

/// Holds what follows from the settings, swapped as a whole.
pub(crate) struct ProxySetup {
    pub(crate) settings: Settings,
    pub(crate) origins: Origins,
    pub(crate) access: Option<ProxyAccess>,
    pub(crate) routes: ParentRoutes,
    pub(crate) fields: FieldPolicy,
    pub(crate) secure: Option<ProxyTls>,
    pub(crate) cache: Option<Arc<HttpCache>>,
    pub(crate) never: Option<Never>,
}

/// Tells whether clients speak TLS with us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientSecurity {
    Plain,
    Tls,
}

/// Who is at the other end of a connection, and how it came.
pub(crate) struct ProxyClient {
    pub(crate) client: IpAddr,
    /// Our end; none where the connection is gone already.
    pub(crate) local: Option<SocketAddr>,
    pub(crate) security: ClientSecurity,
    pub(crate) tunnel: BecomesTunnel,
}

impl ProxyDoor {
    /// A door with settings that [`Settings::check`] finds right. Reads the files that they name;
    /// what is wrong with them is returned, with paths relative to the section.
    pub fn new(settings: Settings, parts: ProxyParts) -> Result<Arc<Self>, Vec<Complaint>> {
        let (all, each) = caps(&settings);
        let setup = ArcSwap::from_pointee(ProxySetup::new(settings, &parts, None)?);
        let connections = ConnectionLimits::new(all, each);
        let unfinished = UnfinishedRequests::for_connections(all);
        let (guesses, trims) = (ClientBuckets::new(GUESSES), RecentTrims::default());
        Ok(Arc::new(Self { parts, guesses, trims, connections, unfinished, setup }))
    }

    /// Takes new settings, or leaves everything as it was and says why. Opens the disk tier of the
    /// cache. Requests under way keep the old ones; listeners are the caller's.
    pub fn reload(&self, settings: Settings) -> Result<(), Vec<Complaint>> {
        let before = self.setup();
        let setup = ProxySetup::new(settings, &self.parts, Some(&before))?;
        if let Some(cache) = &setup.cache {
            cache.open();
        }
        let (all, each) = caps(&setup.settings);
        self.connections.set(all, each);
        self.unfinished.set_connections(all);
        self.setup.store(Arc::new(setup));
        Ok(())
    }

    /// The cache of what it fetches, where it has one.
    pub fn cache(&self) -> Option<Arc<HttpCache>> {
        self.setup().cache.clone()
    }

    /// Returns what this core's connections have taught of origins; an origin may come more than
    /// once.
    pub fn known_origins(&self) -> Vec<KnownOrigin> {
        self.setup().origins.known()
    }

    /// Waits until the disk tier of its cache has what was handed to it: before the program ends.
    pub fn settle(&self) {
        if let Some(cache) = &self.setup().cache {
            cache.flush();
        }
    }

    /// Where to listen.
    pub fn listeners(&self) -> Vec<Listen> {
        self.setup.load().settings.listen.iter().map(|listen| listen.0.clone()).collect()
    }

    /// Returns how many requests are within their bodies, and how many were refused for that.
    pub fn unfinished_requests(&self) -> UnfinishedCounts {
        self.unfinished.counts()
    }

    /// The caps on its connections, to share among all its listeners.
    pub fn connection_limits(&self) -> ConnectionLimits {
        self.connections.clone()
    }

    /// Serves one connection without TLS to its end. Within a `LocalSet` or local runtime only.
    pub async fn serve_connection(self: Arc<Self>, stream: Stream, drain: Drain) {
        let mut caller = ProxyClient::of(&stream, ClientSecurity::Plain, BecomesTunnel::default());
        let (stream, tunnel) = ClientStream::new(stream);
        caller.tunnel = tunnel;
        self.serve(stream, HttpVersions::Http1And2, caller, drain).await;
    }

    pub(crate) async fn serve<S>(
        self: Arc<Self>,
        stream: S,
        versions: HttpVersions,
        caller: ProxyClient,
        drain: Drain,
    ) where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (stop, caller) = (drain.begun(), Arc::new(caller));
        let lane = ProxyFastPath { door: Arc::clone(&self), caller: Arc::clone(&caller) };
        let handler = move |incoming| {
            let (door, caller) = (Arc::clone(&self), Arc::clone(&caller));
            async move {
                match door.unfinished.admit(incoming, || client_of(caller.client)) {
                    Ok(incoming) => request::answer(&door, &caller, incoming).await,
                    Err(too_many) => too_many.answer(),
                }
            }
        };
        // How a connection ends is the client's affair; what matters stands in the ledger.
        drop(serve_quickly(stream, versions, Limits::default(), stop, lane, handler).await);
    }

    pub(crate) fn setup(&self) -> Arc<ProxySetup> {
        self.setup.load_full()
    }
}

/// Returns how many connections may be open: in all, and from one client.
fn caps(settings: &Settings) -> (usize, usize) {
    (settings.connections as usize, settings.connections_per_client as usize)
}

/// Reads every file that the settings name, relative ones from `base`, and says what is wrong with
/// them.
pub fn check_files(settings: &Settings, base: &Path) -> Vec<Complaint> {
    let users = settings.auth.as_ref().filter(|auth| auth.file.is_some()).map(|auth| {
        let opened = UserTable::open(&auth.users, auth.file.as_deref(), base);
        opened.err().unwrap_or_default().into_iter().map(|it| it.under("auth")).collect::<Vec<_>>()
    });
    users.into_iter().flatten().chain(secure::check_files(settings, base)).collect()
}

impl ProxySetup {
    fn new(
        settings: Settings,
        parts: &ProxyParts,
        before: Option<&Self>,
    ) -> Result<Self, Vec<Complaint>> {
        let limits = OriginLimits {
            response_timeout: settings.response_timeout.0.0,
            answer: settings.response_head.limits(),
            ..Default::default()
        };
        let access = settings.auth.as_ref().map(|auth| ProxyAccess::open(auth, &parts.base));
        let access = access
            .transpose()
            .map_err(|wrong| wrong.into_iter().map(|it| it.under("auth")).collect::<Vec<_>>())?;
        Ok(Self {
            origins: before.map_or_else(
                || Origins::new(parts.dialer.clone(), limits),
                |setup| setup.origins.with_limits(limits),
            ),
            access,
            routes: ParentRoutes::new(&settings, before.map(|setup| &setup.routes)),
            fields: FieldPolicy::new(&settings),
            secure: ProxyTls::open(&settings, parts)?,
            cache: settings.cache.as_ref().map(|wanted| {
                let before = before.and_then(|setup| setup.cache.as_deref());
                HttpCache::new(wanted, &CachingRules::forward(), before, &parts.cache)
            }),
            never: settings.cache.as_ref().and_then(Never::of),
            settings,
        })
    }

    /// True if the cache leaves a URL of `origin` alone.
    pub(crate) fn never_keeps(&self, origin: &Origin, url: &str, now: Now) -> bool {
        let never = self.never.as_ref();
        never.is_some_and(|never| never.holds(origin.host.to_name().as_name(), url, now))
    }

    pub(crate) fn serves(&self, client: IpAddr) -> bool {
        self.settings.clients.iter().any(|network| network.contains(client))
    }

    /// Returns how far whoever asks is taken to `host`.
    pub(crate) fn within<'d>(
        &'d self,
        door: &'d ProxyDoor,
        asker: HostAsker<'d>,
        host: Option<&'d UrlHost>,
    ) -> DestinationGuard<'d> {
        let destinations = self.settings.destinations;
        let reach = ClientReach {
            client: asker.client(),
            destinations,
            off_limits: &door.parts.off_limits,
        };
        let (dialer, spared) = (self.origins.dialer(), &*self.settings.rebinding_allow);
        DestinationGuard { reach, host, dialer, spared, asker }
    }

    /// True for a port that tunnels may lead to.
    pub(crate) fn tunnels_to(&self, port: u16) -> bool {
        self.settings.connect_ports.iter().any(|it| it.contains(port))
    }

    /// True if URLs at this port are fetched: where none is set, those of the web and those that no
    /// service of a system has (RFC 6335 §6).
    pub(crate) fn fetches_from(&self, port: u16) -> bool {
        match self.settings.fetch_ports.as_slice() {
            [] => matches!(port, 80 | 443 | 1024..),
            ports => ports.iter().any(|it| it.contains(port)),
        }
    }
}

impl ProxyClient {
    /// Returns what the link tells of the client, as far as the policy wants to know.
    pub(crate) fn near(&self, policy: &Policy, now: Now) -> LinkInfo {
        let came_to = || self.local.map(ArrivedAt::Address);
        near::of(policy.near_wanted(), self.client, came_to, now)
    }

    pub(crate) fn of(stream: &Stream, security: ClientSecurity, tunnel: BecomesTunnel) -> Self {
        let client = stream.peer().ip().to_canonical();
        Self { client, local: stream.local().ok(), security, tunnel }
    }
}

impl ClientSecurity {
    /// Returns how URLs of the proxy itself begin.
    pub(crate) const fn scheme(self) -> &'static str {
        match self {
            Self::Plain => "http",
            Self::Tls => "https",
        }
    }
}
