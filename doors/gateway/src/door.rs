//! The door itself: what it is made of, and how it is reloaded.
//!
//! `serve` takes its connections. Made by the binary.

use crate::route;
use crate::secure;
use crate::settings::Settings;
use crate::setup::{GatewayParts, GatewaySetup};
use arc_swap::ArcSwap;
use balancer::{PoolChange, PoolState, PoolUnchanged, PoolWatch, WatchMeans, check_pool_files};
use file_access::private_files::PrivateFiles;
use http_cache::HttpCache;
use http_front::{DoorLimits, MessageHooks};
use policy::RuleText;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use transport::clock;
use vocab::{Complaint, RuleRef};

/// The gateway door.
pub struct GatewayDoor {
    pub(crate) parts: GatewayParts,
    setup: ArcSwap<GatewaySetup>,
    pub(crate) limits: DoorLimits,
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
    pub log_only_matches: u64,
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
        let limits = DoorLimits::new(settings.connection_caps());
        let setup = ArcSwap::from_pointee(GatewaySetup::new(settings, &parts, None)?);
        Ok(Arc::new(Self { parts, setup, limits, watch: PoolWatch::default() }))
    }

    /// Takes new settings, or leaves everything as it was and says why. Opens the disk tier of the
    /// cache, begins health checks and looks names of servers up. Requests under way keep the old
    /// ones; listeners are the caller's.
    pub fn reload(&self, settings: Settings) -> Result<(), Vec<Complaint>> {
        let before = self.setup();
        let setup = GatewaySetup::new(settings, &self.parts, Some(&before))?;
        self.watch.prepare(&setup.forwarding.pools, &self.watch_env()).map_err(|why| {
            vec![Complaint::new("pools", format!("no thread that sees to them: {why}"))]
        })?;
        if let Some(cache) = &setup.forwarding.cache {
            cache.open();
        }
        self.limits.set(setup.settings.connection_caps());
        self.setup.store(Arc::new(setup));
        self.watch.watch(|| self.setup().forwarding.pools.clone());
        Ok(())
    }

    /// Returns what pools are seen to with.
    fn watch_env(&self) -> WatchMeans {
        WatchMeans { dialer: self.parts.dialer.clone(), log: Arc::clone(&self.parts.log) }
    }

    /// The cache of what it fetches, where it has one.
    pub fn cache(&self) -> Option<Arc<HttpCache>> {
        self.setup().forwarding.cache.clone()
    }

    /// The text of a pattern, for rules from [`ListId::DOOR_FIRST`] on.
    pub fn rule_text(&self, rule: RuleRef) -> Option<RuleText> {
        self.setup.load().table.rule_text(rule)
    }

    /// Shows where the tables of blocks lie in memory, each while it is held: a request reads a few
    /// lines of them, at random. For whoever chooses the pages that memory comes in.
    pub fn visit_tables(&self, see: impl FnMut(Range<usize>)) {
        let setup = self.setup();
        setup.table.blocks().flat_map(|block| block.tables()).for_each(see);
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
        let blocks = setup.table.blocks().map(|block| block.log_only_matches()).sum::<u64>();
        GuardCounts {
            limited: guards().map(crate::guards::RouteGuards::limited).sum(),
            log_only_matches: guards()
                .map(crate::guards::RouteGuards::log_only_matches)
                .sum::<u64>()
                + blocks,
        }
    }

    /// Scripts and filters of routes that are in force.
    pub fn hooks(&self) -> Vec<MessageHooks> {
        let setup = self.setup.load();
        setup.table.routes.iter().filter_map(|route| route.hooks.clone()).collect()
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
        self.watch.prepare(&setup.forwarding.pools, &self.watch_env()).map_err(no_thread)?;
        self.watch.watch(|| self.setup().forwarding.pools.clone());
        Ok(())
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
