//! The door itself: what it is made of, how it is reloaded, and one connection through it.

use crate::access::{Access, GUESSES};
use crate::headers::Fields;
use crate::never::Never;
use crate::quick::Lane;
use crate::request;
use crate::routes::Routes;
use crate::secure::{self, Secure};
use crate::settings::Settings;
use crate::trims::Trims;
use crate::tunnel::BlockedTunnels;
use crate::within::{Asker, Within};
use arc_swap::ArcSwap;
use http_cache::{Around, Cache};
use http_engine::{Limits, UnfinishedCounts, UnfinishedRequests, Versions, serve_quickly};
use ledger::Ledger;
use passwords::Users;
use policy::Policy;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use store::freshness::Rules;
use tokio::io::{AsyncRead, AsyncWrite};
use transport::near::{self, CameTo};
use transport::{Buckets, ConnectionLimits, Drain, Signer, Stream, client_of};
use upstream::origins::{
    BecomesTunnel, ClientStream, Dialer, Host, KnownOrigin, Limits as OriginLimits, Origin,
    Origins, Reach,
};
use vocab::{Complaint, Listen, Near, Now};

/// What the door is built from.
#[derive(Clone)]
pub struct Parts {
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
    pub cache: Around,
    /// Takes a line for the administrator: what came of a certificate that has changed.
    pub tell: Arc<dyn Fn(&str) + Send + Sync>,
}

/// The proxy door.
pub struct Door {
    pub(crate) parts: Parts,
    /// Wrong credentials, by client. They outlive a reload.
    pub(crate) guesses: Buckets,
    pub(crate) trims: Trims,
    connections: ConnectionLimits,
    unfinished: UnfinishedRequests,
    setup: ArcSwap<Setup>,
}

/// What follows from the settings, swapped as a whole.
pub(crate) struct Setup {
    pub(crate) settings: Settings,
    pub(crate) origins: Origins,
    pub(crate) access: Option<Access>,
    pub(crate) routes: Routes,
    pub(crate) fields: Fields,
    pub(crate) secure: Option<Secure>,
    pub(crate) cache: Option<Arc<Cache>>,
    pub(crate) never: Option<Never>,
}

/// Whether clients speak TLS with us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Security {
    Plain,
    Tls,
}

/// Who is at the other end of a connection, and how it came.
pub(crate) struct Caller {
    pub(crate) client: IpAddr,
    /// Our end; none where the connection is gone already.
    pub(crate) local: Option<SocketAddr>,
    pub(crate) security: Security,
    pub(crate) tunnel: BecomesTunnel,
}

impl Door {
    /// A door with settings that [`Settings::check`] finds right. Reads the files that they name; what
    /// is wrong with them is returned, with paths relative to the section.
    pub fn new(settings: Settings, parts: Parts) -> Result<Arc<Self>, Vec<Complaint>> {
        let (all, each) = caps(&settings);
        let setup = ArcSwap::from_pointee(Setup::new(settings, &parts, None)?);
        let connections = ConnectionLimits::new(all, each);
        let unfinished = UnfinishedRequests::for_connections(all);
        let (guesses, trims) = (Buckets::new(GUESSES), Trims::default());
        Ok(Arc::new(Self { parts, guesses, trims, connections, unfinished, setup }))
    }

    /// Takes new settings, or leaves everything as it was and says why. Opens the disk tier of the
    /// cache. Requests under way keep the old ones; listeners are the caller's.
    pub fn reload(&self, settings: Settings) -> Result<(), Vec<Complaint>> {
        let before = self.setup();
        let setup = Setup::new(settings, &self.parts, Some(&before))?;
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
    pub fn cache(&self) -> Option<Arc<Cache>> {
        self.setup().cache.clone()
    }

    /// What this core's connections have taught of origins; an origin may come more than once.
    pub fn known_origins(&self) -> Vec<KnownOrigin> {
        self.setup().origins.known()
    }

    /// Waits until the disk tier of its cache has what was handed to it: before the program ends.
    pub fn settle(&self) {
        if let Some(cache) = &self.setup().cache {
            cache.settle();
        }
    }

    /// Where to listen.
    pub fn listeners(&self) -> Vec<Listen> {
        self.setup.load().settings.listen.iter().map(|listen| listen.0.clone()).collect()
    }

    /// How many requests are within their bodies, and how many were refused for that.
    pub fn unfinished_requests(&self) -> UnfinishedCounts {
        self.unfinished.counts()
    }

    /// The caps on its connections, to share among all its listeners.
    pub fn connection_limits(&self) -> ConnectionLimits {
        self.connections.clone()
    }

    /// Serves one connection without TLS to its end. Within a `LocalSet` or local runtime only.
    pub async fn serve_connection(self: Arc<Self>, stream: Stream, drain: Drain) {
        let mut caller = Caller::of(&stream, Security::Plain, BecomesTunnel::default());
        let (stream, tunnel) = ClientStream::new(stream);
        caller.tunnel = tunnel;
        self.serve(stream, Versions::Http1And2, caller, drain).await;
    }

    pub(crate) async fn serve<S>(
        self: Arc<Self>,
        stream: S,
        versions: Versions,
        caller: Caller,
        drain: Drain,
    ) where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (stop, caller) = (drain.begun(), Arc::new(caller));
        let lane = Lane { door: Arc::clone(&self), caller: Arc::clone(&caller) };
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

    pub(crate) fn setup(&self) -> Arc<Setup> {
        self.setup.load_full()
    }
}

/// How many connections may be open: in all, and from one client.
fn caps(settings: &Settings) -> (usize, usize) {
    (settings.connections as usize, settings.connections_per_client as usize)
}

/// Reads every file that the settings name, relative ones from `base`, and says what is wrong with them.
pub fn check_files(settings: &Settings, base: &Path) -> Vec<Complaint> {
    let users = settings.auth.as_ref().filter(|auth| auth.file.is_some()).map(|auth| {
        let opened = Users::open(&auth.users, auth.file.as_deref(), base);
        opened.err().unwrap_or_default().into_iter().map(|it| it.under("auth")).collect::<Vec<_>>()
    });
    users.into_iter().flatten().chain(secure::check_files(settings, base)).collect()
}

impl Setup {
    fn new(
        settings: Settings,
        parts: &Parts,
        before: Option<&Self>,
    ) -> Result<Self, Vec<Complaint>> {
        let limits = OriginLimits {
            response_timeout: settings.response_timeout.0.0,
            answer: settings.response_head.limits(),
            ..Default::default()
        };
        let access = settings.auth.as_ref().map(|auth| Access::open(auth, &parts.base));
        let access = access
            .transpose()
            .map_err(|wrong| wrong.into_iter().map(|it| it.under("auth")).collect::<Vec<_>>())?;
        Ok(Self {
            origins: before.map_or_else(
                || Origins::new(parts.dialer.clone(), limits),
                |setup| setup.origins.with_limits(limits),
            ),
            access,
            routes: Routes::new(&settings, before.map(|setup| &setup.routes)),
            fields: Fields::new(&settings),
            secure: Secure::open(&settings, parts)?,
            cache: settings.cache.as_ref().map(|wanted| {
                let before = before.and_then(|setup| setup.cache.as_deref());
                Cache::new(wanted, &Rules::forward(), before, &parts.cache)
            }),
            never: settings.cache.as_ref().and_then(Never::of),
            settings,
        })
    }

    /// Whether the cache leaves a URL of `origin` alone.
    pub(crate) fn never_keeps(&self, origin: &Origin, url: &str, now: Now) -> bool {
        let never = self.never.as_ref();
        never.is_some_and(|never| never.holds(origin.host.to_name().as_name(), url, now))
    }

    pub(crate) fn serves(&self, client: IpAddr) -> bool {
        self.settings.clients.iter().any(|network| network.contains(client))
    }

    /// How far whoever asks is taken to `host`.
    pub(crate) fn within<'d>(
        &'d self,
        door: &'d Door,
        asker: Asker<'d>,
        host: Option<&'d Host>,
    ) -> Within<'d> {
        let destinations = self.settings.destinations;
        let reach =
            Reach { client: asker.client(), destinations, off_limits: &door.parts.off_limits };
        let (dialer, spared) = (self.origins.dialer(), &*self.settings.rebinding_allow);
        Within { reach, host, dialer, spared, asker }
    }

    /// True for a port that tunnels may lead to.
    pub(crate) fn tunnels_to(&self, port: u16) -> bool {
        self.settings.connect_ports.iter().any(|it| it.contains(port))
    }

    /// Whether URLs at this port are fetched: where none is set, those of the web and those that no
    /// service of a system has (RFC 6335 §6).
    pub(crate) fn fetches_from(&self, port: u16) -> bool {
        match self.settings.fetch_ports.as_slice() {
            [] => matches!(port, 80 | 443 | 1024..),
            ports => ports.iter().any(|it| it.contains(port)),
        }
    }
}

impl Caller {
    /// What the link tells of the client, as far as the policy wants to know.
    pub(crate) fn near(&self, policy: &Policy, now: Now) -> Near {
        let came_to = || self.local.map(CameTo::Address);
        near::of(policy.near_wanted(), self.client, came_to, now)
    }

    pub(crate) fn of(stream: &Stream, security: Security, tunnel: BecomesTunnel) -> Self {
        let client = stream.peer().ip().to_canonical();
        Self { client, local: stream.local().ok(), security, tunnel }
    }
}

impl Security {
    /// How URLs of the proxy itself begin.
    pub(crate) const fn scheme(self) -> &'static str {
        match self {
            Self::Plain => "http",
            Self::Tls => "https",
        }
    }
}
