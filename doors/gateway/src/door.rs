//! The door itself: what it is made of, how it is reloaded, and one connection through it.

use crate::caller::ClientConnection;
use crate::fields::FieldRules;
use crate::folders::OpenFolders;
use crate::forwarded::ForwardedHeaders;
use crate::guards::{BlockRules, ListNumbers};
use crate::leaving::LeftConnections;
use crate::request;
use crate::route::{self, GatewayRoute, RouteCaches};
use crate::secure::{self, GatewayTls};
use crate::settings::Settings;
use crate::uploads::UploadRules;
use arc_swap::ArcSwap;
use balancer::{
    PoolChange, PoolState, PoolUnchanged, PoolWatch, Pools, WatchMeans, check_pool_files,
    open_pools,
};
use file_access::private_files::PrivateFiles;
use http_cache::{CacheEnvironment, HttpCache};
use http_engine::claims::MethodOverrides;
use http_engine::{HttpVersions, Limits, UnfinishedCounts, UnfinishedRequests, serve};
use http_freshness::CachingRules;
use ledger::Ledger;
use origins::{BecomesTunnel, ClientStream, Dialer, OriginLimits, Origins};
use policy::{Policy, RuleText};
use rate_limit::client_of;
use route_matching::{HostTable, SlashRule, SlashRules};
use signer::Signer;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use transport::proxy_protocol::PROXY_HEADER_DEADLINE;
use transport::{ConnectionLimits, Drain, Stream, clock};
use vocab::{Complaint, LinkInfoNeeds, Listen, Network, RuleRef};

/// Holds what the door is built from.
#[derive(Clone)]
pub struct GatewayParts {
    /// The policy, swapped as a whole on reload.
    pub policy: Arc<ArcSwap<Policy>>,
    /// Where requests are recorded.
    pub ledger: Ledger,
    /// What opens connections to servers.
    pub dialer: Dialer,
    /// What opens the folders of routes.
    pub folders: Arc<dyn OpenFolders>,
    /// The folder from which relative paths of pattern files start.
    pub base: PathBuf,
    /// Files and folders that no server's word has sent, whatever folder it may name files in.
    pub private: Arc<PrivateFiles>,
    /// What the cache finds around it.
    pub cache: CacheEnvironment,
    /// Who signs the certificate of `https` listeners that have none as files.
    pub signer: Option<Arc<Signer>>,
    /// Takes a line for the administrator: what came of a certificate that has changed.
    pub tell: Arc<dyn Fn(&str) + Send + Sync>,
}

/// The gateway door.
pub struct GatewayDoor {
    pub(crate) parts: GatewayParts,
    setup: ArcSwap<GatewaySetup>,
    connections: ConnectionLimits,
    unfinished: UnfinishedRequests,
    watch: PoolWatch,
}

/// Holds what follows from the settings, swapped as a whole.
pub(crate) struct GatewaySetup {
    pub(crate) settings: Settings,
    pub(crate) trusted: Vec<Network>,
    pub(crate) routes: Vec<Arc<GatewayRoute>>,
    /// Their numbers by host.
    pub(crate) table: HostTable,
    pub(crate) origins: Origins,
    pub(crate) cache: Option<Arc<HttpCache>>,
    /// What is refused whatever the route.
    pub(crate) block: Option<Arc<BlockRules>>,
    pub(crate) secure: Option<GatewayTls>,
    /// What is expected of clients.
    pub(crate) limits: Limits,
    pub(crate) request_fields: FieldRules,
    pub(crate) response_fields: FieldRules,
    /// Treatment of fields in which strangers ask for another method.
    pub(crate) overrides: MethodOverrides,
    pub(crate) slashes: SlashRules,
    pub(crate) left: LeftConnections,
    pub(crate) pools: Pools,
    pub(crate) uploads: UploadRules,
}

/// Holds how often one pattern of a route has blocked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternHits {
    /// The file, or the route where the patterns stand in the configuration.
    pub list: String,
    /// Line, from 1.
    pub line: u32,
    /// The pattern.
    pub text: String,
    /// How often, since the settings were taken.
    pub hits: u64,
}

/// Holds what the guards of all routes have done since the settings were taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GuardCounts {
    /// Requests refused because they were too many.
    pub limited: u64,
    /// Requests that `log_only` let pass: blocked otherwise, or limited.
    pub spared: u64,
}

impl fmt::Debug for GatewayDoor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Door").finish_non_exhaustive()
    }
}

impl GatewayDoor {
    /// A door with settings that [`Settings::check`] finds right. Reads the pattern files; what is
    /// wrong with them is returned.
    pub fn new(settings: Settings, parts: GatewayParts) -> Result<Arc<Self>, Vec<Complaint>> {
        let (all, each) = caps(&settings);
        let setup = ArcSwap::from_pointee(GatewaySetup::new(settings, &parts, None)?);
        let connections = ConnectionLimits::new(all, each);
        let unfinished = UnfinishedRequests::for_connections(all);
        Ok(Arc::new(Self { parts, setup, connections, unfinished, watch: PoolWatch::default() }))
    }

    /// Takes new settings, or leaves everything as it was and says why. Opens the disk tier of the
    /// cache, begins health checks and looks names of servers up. Requests under way keep the old
    /// ones; listeners are the caller's.
    pub fn reload(&self, settings: Settings) -> Result<(), Vec<Complaint>> {
        let before = self.setup();
        let setup = GatewaySetup::new(settings, &self.parts, Some(&before))?;
        self.watch.prepare(&setup.pools, &self.means()).map_err(|why| {
            vec![Complaint::new("pools", format!("no thread that sees to them: {why}"))]
        })?;
        if let Some(cache) = &setup.cache {
            cache.open();
        }
        let (all, each) = caps(&setup.settings);
        self.connections.set(all, each);
        self.unfinished.set_connections(all);
        self.setup.store(Arc::new(setup));
        self.watch.see_to(|| self.setup().pools.clone());
        Ok(())
    }

    /// Returns what pools are seen to with.
    fn means(&self) -> WatchMeans {
        WatchMeans { dialer: self.parts.dialer.clone(), tell: Arc::clone(&self.parts.tell) }
    }

    /// The cache of what it fetches, where it has one.
    pub fn cache(&self) -> Option<Arc<HttpCache>> {
        self.setup().cache.clone()
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

    /// The text of a pattern, for rules from [`ListId::DOOR_FIRST`] on.
    pub fn rule_text(&self, rule: RuleRef) -> Option<RuleText> {
        self.setup.load().rule_text(rule)
    }

    /// Returns how many connections have left HTTP, as a WebSocket does, and are open.
    pub fn upgrades_open(&self) -> u32 {
        self.setup.load().left.count()
    }

    /// Every pattern that has blocked, with its count.
    pub fn pattern_hits(&self) -> Vec<PatternHits> {
        let setup = self.setup.load();
        let hits = setup.blocks().flat_map(|block| block.hits());
        hits.map(|(rule, hits)| PatternHits {
            list: rule.list,
            line: rule.line,
            text: rule.text,
            hits,
        })
        .collect()
    }

    /// Returns what limits and `log_only` have done.
    pub fn guard_counts(&self) -> GuardCounts {
        let setup = self.setup.load();
        let guards = || setup.routes.iter().map(|route| &route.guards);
        let blocks = setup.blocks().map(|block| block.spared()).sum::<u64>();
        GuardCounts {
            limited: guards().map(crate::guards::RouteGuards::limited).sum(),
            spared: guards().map(crate::guards::RouteGuards::spared).sum::<u64>() + blocks,
        }
    }

    /// The pools as they are now, by name.
    pub fn pools(&self) -> Vec<PoolState> {
        let now = clock::now();
        self.setup.load().pools.iter().map(|(name, pool)| pool.state(name, now)).collect()
    }

    /// Changes a pool while it runs, until the process ends or a reload brings other settings for
    /// it.
    pub fn change_pool(&self, pool: &str, change: &PoolChange) -> Result<(), PoolUnchanged> {
        let setup = self.setup();
        let found = setup.pools.get(pool).ok_or_else(|| PoolUnchanged::NoPool(pool.into()))?;
        found.change(change)?;
        // It may be the first with a name to look up.
        let no_thread = |why| PoolUnchanged::Wrong(format!("no thread looks its names up: {why}"));
        self.watch.prepare(&setup.pools, &self.means()).map_err(no_thread)?;
        self.watch.see_to(|| self.setup().pools.clone());
        Ok(())
    }

    /// Serves one connection to its end. Within a `LocalSet` or local runtime only.
    pub async fn serve_connection(self: Arc<Self>, stream: Stream, drain: Drain) {
        let setup = self.setup();
        let Some(stream) = setup.introduced(stream, &drain).await else { return };
        let versions =
            if setup.settings.h2c { HttpVersions::Http1And2 } else { HttpVersions::Http1 };
        let how = (versions, setup.limits);
        drop(setup);
        let mut caller =
            ClientConnection::of(&stream, self.near_wanted(), None, BecomesTunnel::default());
        let (stream, tunnel) = ClientStream::new(stream);
        caller.tunnel = tunnel;
        self.serve(stream, how, caller, drain).await;
    }

    pub(crate) async fn serve<S>(
        self: Arc<Self>,
        stream: S,
        (versions, limits): (HttpVersions, Limits),
        caller: ClientConnection,
        drain: Drain,
    ) where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (stop, caller) = (drain.begun(), Arc::new(caller));
        let handler = move |incoming| {
            let (door, caller) = (Arc::clone(&self), Arc::clone(&caller));
            // Boxed: it goes through many hands, and is copied in none.
            let incoming = door.unfinished.admit(incoming, || client_of(caller.peer)).map(Box::new);
            async move {
                match incoming {
                    Ok(incoming) => Box::pin(request::answer(&door, &caller, incoming)).await,
                    Err(too_many) => too_many.answer(),
                }
            }
        };
        // How a connection ends is the client's affair; what matters stands in the ledger.
        drop(serve(stream, versions, limits, stop, handler).await);
    }

    /// Returns what the policy wants to know of clients beside their address.
    pub(crate) fn near_wanted(&self) -> LinkInfoNeeds {
        self.parts.policy.load().near_wanted()
    }

    pub(crate) fn setup(&self) -> Arc<GatewaySetup> {
        self.setup.load_full()
    }
}

/// Reads every file that the settings name, relative ones from `base`, and says what is wrong with
/// them.
pub fn check_files(
    settings: &Settings,
    base: &Path,
    private: &Arc<PrivateFiles>,
) -> Vec<Complaint> {
    let mut complaints = secure::check_files(settings, base);
    complaints.extend(check_pool_files(&settings.pools, base));
    complaints.extend(route::check_files(settings, base, private));
    complaints
}

/// Where request bodies wait, those of `before` among them.
fn uploads(
    settings: &Settings,
    parts: &GatewayParts,
    before: Option<&GatewaySetup>,
) -> Result<UploadRules, Vec<Complaint>> {
    let before = before.map(|setup| &setup.uploads);
    UploadRules::new(&settings.uploads, &parts.cache.folder, before).map_err(|why| {
        vec![
            Complaint::new("uploads.disk_folder", why.to_string())
                .remedy("name a folder that can be made"),
        ]
    })
}

impl GatewaySetup {
    /// The connection with the client's own address, where a proxy in front says who that is;
    /// nothing where it should and does not, or where it comes from somebody else.
    pub(crate) async fn introduced(&self, stream: Stream, drain: &Drain) -> Option<Stream> {
        let proxies = &self.settings.proxy_protocol;
        if proxies.is_empty() {
            return Some(stream);
        }
        let from = stream.peer().ip();
        if !proxies.iter().any(|network| network.contains(from)) {
            return None;
        }
        tokio::select! {
            introduced = stream.introduced_by_proxy(PROXY_HEADER_DEADLINE) => introduced.ok(),
            () = drain.begun() => None,
        }
    }

    fn new(
        settings: Settings,
        parts: &GatewayParts,
        before: Option<&Self>,
    ) -> Result<Self, Vec<Complaint>> {
        let (base, known) = (parts.base.as_path(), before.map(|setup| &setup.pools));
        let pools = open_pools(&settings.pools, base, &parts.dialer, known)?;
        let caches = settings.routes.iter().any(|route| route.cache);
        let cache = caches.then(|| {
            let before = before.and_then(|setup| setup.cache.as_deref());
            HttpCache::new(&settings.cache, &CachingRules::reverse(), before, &parts.cache)
        });
        let (request_fields, response_fields) = settings.headers.compile();
        let caches = cache.clone().map(RouteCaches::of_store);
        let numbers = ListNumbers::new();
        let around = route::RouteEnvironment {
            pools: &pools,
            caches: caches.as_ref(),
            base,
            private: &parts.private,
            numbers: &numbers,
            folders: parts.folders.as_ref(),
            body_max: settings.body_max.bytes(),
            fields: (&request_fields, &response_fields),
            before: before.map_or(&[], |setup| &setup.routes),
        };
        let uploads = uploads(&settings, parts, before)?;
        let mut complaints = Vec::new();
        let block = settings
            .block
            .as_ref()
            .map(|block| BlockRules::open(block, route::FOR_ALL, base, &numbers));
        let block = block.transpose().unwrap_or_else(|why| {
            complaints.push(why.under("block"));
            None
        });
        let (routes, wrong) = routes_of(&settings, &around);
        complaints.extend(wrong);
        if !complaints.is_empty() {
            return Err(complaints);
        }
        let origins = origins_of(&settings, parts, before);
        let trusted = settings.trusted.iter().map(|network| network.0).collect();
        let block = block.map(Arc::new);
        let hosts: Vec<_> = routes.iter().map(|route| route.rule.takes.host.as_ref()).collect();
        let table = HostTable::new(&hosts);
        let by_method = routes.iter().any(|route| !route.rule.takes.methods.is_empty());
        let alike = routes.iter().all(|route| route.rule.slashes == SlashRule::default());
        Ok(Self {
            slashes: if alike { SlashRules::Alike } else { SlashRules::ByRoute },
            overrides: if by_method { MethodOverrides::None } else { MethodOverrides::OfPosts },
            trusted,
            routes,
            table,
            origins,
            cache,
            block,
            pools,
            uploads,
            secure: GatewayTls::open(&settings, parts)?,
            limits: settings.client.limits(),
            request_fields,
            response_fields,
            left: before.map(|setup| setup.left.clone()).unwrap_or_default(),
            settings,
        })
    }

    /// Returns who is believed, and how servers behind are told.
    pub(crate) fn telling(&self) -> ForwardedHeaders<'_> {
        ForwardedHeaders { trusted: &self.trusted, style: self.settings.forwarded }
    }

    pub(crate) fn rule_text(&self, rule: RuleRef) -> Option<RuleText> {
        self.blocks().find_map(|block| block.rule_text(rule))
    }

    fn blocks(&self) -> impl Iterator<Item = &Arc<BlockRules>> {
        let of_routes = self.routes.iter().filter_map(|route| route.block.as_ref());
        self.block.iter().chain(of_routes)
    }
}

/// Returns how many connections may be open: in all, and from one client.
fn caps(settings: &Settings) -> (usize, usize) {
    (settings.connections as usize, settings.connections_per_client as usize)
}

/// The routes of `settings`, and everything that is wrong with them.
fn routes_of(
    settings: &Settings,
    around: &route::RouteEnvironment<'_>,
) -> (Vec<Arc<GatewayRoute>>, Vec<Complaint>) {
    let (mut routes, mut complaints) = (Vec::new(), Vec::new());
    for (index, route) in settings.routes.iter().enumerate() {
        match GatewayRoute::new(index, route, around) {
            Ok(route) => routes.push(Arc::new(route)),
            Err(found) => {
                let place = format!("routes.{index}");
                complaints.extend(found.into_iter().map(|why| why.under(&place)));
            }
        }
    }
    (routes, complaints)
}

/// Returns what sends to servers: with the connections of `before`, where there are some.
fn origins_of(settings: &Settings, parts: &GatewayParts, before: Option<&GatewaySetup>) -> Origins {
    let limits = OriginLimits {
        response_timeout: settings.response_timeout.0.0,
        answer: settings.response_head.limits(),
        ..Default::default()
    };
    before.map_or_else(
        || Origins::new(parts.dialer.clone(), limits),
        |setup| setup.origins.with_limits(limits),
    )
}
