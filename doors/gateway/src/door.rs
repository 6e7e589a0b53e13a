//! The door itself: what it is made of, how it is reloaded, and one connection through it.

use crate::caller::ClientConnection;
use crate::request;
use crate::route;
use crate::secure;
use crate::settings::Settings;
use crate::setup::{GatewayParts, GatewaySetup};
use arc_swap::ArcSwap;
use balancer::{PoolChange, PoolState, PoolUnchanged, PoolWatch, WatchMeans, check_pool_files};
use file_access::private_files::PrivateFiles;
use http_cache::HttpCache;
use http_engine::{HttpVersions, Limits, UnfinishedCounts, UnfinishedRequests, serve};
use origins::{BecomesTunnel, ClientStream};
use policy::RuleText;
use rate_limit::client_of;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use transport::proxy_protocol::PROXY_HEADER_DEADLINE;
use transport::{ConnectionLimits, Drain, Stream, clock};
use vocab::{Complaint, LinkInfoNeeds, Listen, RuleRef};

/// The gateway door.
pub struct GatewayDoor {
    pub(crate) parts: GatewayParts,
    setup: ArcSwap<GatewaySetup>,
    connections: ConnectionLimits,
    unfinished: UnfinishedRequests,
    watch: PoolWatch,
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
    /// Number of hits since the settings were taken.
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
        self.watch.prepare(&setup.forwarding.pools, &self.means()).map_err(|why| {
            vec![Complaint::new("pools", format!("no thread that sees to them: {why}"))]
        })?;
        if let Some(cache) = &setup.forwarding.cache {
            cache.open();
        }
        let (all, each) = caps(&setup.settings);
        self.connections.set(all, each);
        self.unfinished.set_connections(all);
        self.setup.store(Arc::new(setup));
        self.watch.see_to(|| self.setup().forwarding.pools.clone());
        Ok(())
    }

    /// Returns what pools are seen to with.
    fn means(&self) -> WatchMeans {
        WatchMeans { dialer: self.parts.dialer.clone(), tell: Arc::clone(&self.parts.tell) }
    }

    /// The cache of what it fetches, where it has one.
    pub fn cache(&self) -> Option<Arc<HttpCache>> {
        self.setup().forwarding.cache.clone()
    }

    /// Waits until the disk tier of its cache has what was handed to it: before the program ends.
    pub fn settle(&self) {
        if let Some(cache) = &self.setup().forwarding.cache {
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
        self.setup.load().table.rule_text(rule)
    }

    /// Returns how many connections have left HTTP, as a WebSocket does, and are open.
    pub fn upgrades_open(&self) -> u32 {
        self.setup.load().forwarding.left.count()
    }

    /// Every pattern that has blocked, with its count.
    pub fn pattern_hits(&self) -> Vec<PatternHits> {
        let setup = self.setup.load();
        let hits = setup.table.blocks().flat_map(|block| block.hits());
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
        let guards = || setup.table.routes.iter().map(|route| &route.guards);
        let blocks = setup.table.blocks().map(|block| block.spared()).sum::<u64>();
        GuardCounts {
            limited: guards().map(crate::guards::RouteGuards::limited).sum(),
            spared: guards().map(crate::guards::RouteGuards::spared).sum::<u64>() + blocks,
        }
    }

    /// The pools as they are now, by name.
    pub fn pools(&self) -> Vec<PoolState> {
        let now = clock::now();
        self.setup
            .load()
            .forwarding
            .pools
            .iter()
            .map(|(name, pool)| pool.state(name, now))
            .collect()
    }

    /// Changes a pool while it runs, until the process ends or a reload brings other settings for
    /// it.
    pub fn change_pool(&self, pool: &str, change: &PoolChange) -> Result<(), PoolUnchanged> {
        let setup = self.setup();
        let found =
            setup.forwarding.pools.get(pool).ok_or_else(|| PoolUnchanged::NoPool(pool.into()))?;
        found.change(change)?;
        // It may be the first with a name to look up.
        let no_thread = |why| PoolUnchanged::Wrong(format!("no thread looks its names up: {why}"));
        self.watch.prepare(&setup.forwarding.pools, &self.means()).map_err(no_thread)?;
        self.watch.see_to(|| self.setup().forwarding.pools.clone());
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
}

/// Returns how many connections may be open: in all, and from one client.
fn caps(settings: &Settings) -> (usize, usize) {
    (settings.connections as usize, settings.connections_per_client as usize)
}
