//! The door itself: what it is made of, how it is reloaded, and one connection through it.

use crate::guards::{Block, Numbers};
use crate::pool::Pool;
use crate::request;
use crate::route::{self, Route};
use crate::settings::Settings;
use crate::uploads::Uploads;
use arc_swap::ArcSwap;
use http_cache::{Around, Cache};
use http_engine::{Limits, Versions, serve};
use ledger::Ledger;
use policy::{Policy, RuleText};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use store::freshness::Rules;
use transport::{ConnectionLimits, Drain, Stream};
use upstream::origins::{ClientStream, Dialer, Limits as OriginLimits, Origins};
use vocab::{Complaint, Listen, Network, RuleRef};

/// What the door is built from.
#[derive(Clone)]
pub struct Parts {
    /// The policy, swapped as a whole on reload.
    pub policy: Arc<ArcSwap<Policy>>,
    /// Where requests are recorded.
    pub ledger: Ledger,
    /// What opens connections to servers.
    pub dialer: Dialer,
    /// The folder from which relative paths of pattern files start.
    pub base: PathBuf,
    /// What the cache finds around it.
    pub cache: Around,
}

/// The gateway door.
pub struct Door {
    pub(crate) parts: Parts,
    setup: ArcSwap<Setup>,
}

/// What follows from the settings, swapped as a whole.
pub(crate) struct Setup {
    pub(crate) settings: Settings,
    pub(crate) trusted: Vec<Network>,
    pub(crate) routes: Vec<Arc<Route>>,
    pub(crate) origins: Origins,
    pub(crate) cache: Option<Arc<Cache>>,
    /// What is refused whatever the route.
    pub(crate) block: Option<Arc<Block>>,
    pub(crate) pools: BTreeMap<String, Arc<Pool>>,
    pub(crate) uploads: Uploads,
}

/// How often one pattern of a route has blocked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternHits {
    /// The file, or the route where the patterns stand in the configuration.
    pub list: String,
    /// Its line, from 1.
    pub line: u32,
    /// The pattern.
    pub text: String,
    /// How often, since the settings were taken.
    pub hits: u64,
}

/// What the guards of all routes have done since the settings were taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GuardCounts {
    /// Requests refused because they were too many.
    pub limited: u64,
    /// Requests that `log_only` let pass: blocked otherwise, or limited.
    pub spared: u64,
}

impl Door {
    /// A door with settings that [`Settings::check`] finds right. Reads the pattern files; what is
    /// wrong with them is returned.
    pub fn new(settings: Settings, parts: Parts) -> Result<Arc<Self>, Vec<Complaint>> {
        let setup = ArcSwap::from_pointee(Setup::new(settings, &parts, None)?);
        Ok(Arc::new(Self { parts, setup }))
    }

    /// Takes new settings, or leaves everything as it was and says why. Opens the disk tier of the cache. Requests under way keep
    /// the old ones; listeners are the caller's.
    pub fn reload(&self, settings: Settings) -> Result<(), Vec<Complaint>> {
        let before = self.setup();
        let setup = Setup::new(settings, &self.parts, Some(&before))?;
        if let Some(cache) = &setup.cache {
            cache.open();
        }
        self.setup.store(Arc::new(setup));
        Ok(())
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

    /// The caps on its connections, to share among all its listeners.
    pub fn connection_limits(&self) -> ConnectionLimits {
        let setup = self.setup.load();
        let (all, each) = (setup.settings.connections, setup.settings.connections_per_client);
        ConnectionLimits::new(all as usize, each as usize)
    }

    /// The text of a pattern, for rules from [`ListId::DOOR_FIRST`] on.
    pub fn rule_text(&self, rule: RuleRef) -> Option<RuleText> {
        self.setup.load().rule_text(rule)
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

    /// What limits and `log_only` have done.
    pub fn guard_counts(&self) -> GuardCounts {
        let setup = self.setup.load();
        let guards = || setup.routes.iter().map(|route| &route.guards);
        let blocks = setup.blocks().map(|block| block.spared()).sum::<u64>();
        GuardCounts {
            limited: guards().map(crate::guards::Guards::limited).sum(),
            spared: guards().map(crate::guards::Guards::spared).sum::<u64>() + blocks,
        }
    }

    /// Serves one connection to its end. Within a `LocalSet` or local runtime only.
    pub async fn serve_connection(self: Arc<Self>, stream: Stream, drain: Drain) {
        let peer = stream.peer().ip().to_canonical();
        let (stream, tunnel) = ClientStream::new(stream);
        let stop = drain.begun();
        let handler = move |incoming| {
            let (door, tunnel) = (Arc::clone(&self), tunnel.clone());
            async move { request::answer(&door, peer, &tunnel, incoming).await }
        };
        // How a connection ends is the client's affair; what matters stands in the ledger.
        drop(serve(stream, Versions::Http1, Limits::default(), stop, handler).await);
    }

    pub(crate) fn setup(&self) -> Arc<Setup> {
        self.setup.load_full()
    }
}

impl Setup {
    fn new(
        settings: Settings,
        parts: &Parts,
        before: Option<&Self>,
    ) -> Result<Self, Vec<Complaint>> {
        let pools: BTreeMap<String, Arc<Pool>> = settings
            .pools
            .iter()
            .map(|(name, pool)| (name.clone(), Arc::new(Pool::new(pool))))
            .collect();
        let caches = settings.routes.iter().any(|route| route.cache);
        let cache = caches.then(|| {
            let before = before.and_then(|setup| setup.cache.as_deref());
            Cache::new(&settings.cache, &Rules::reverse(), before, &parts.cache)
        });
        let (numbers, base) = (Numbers::new(), parts.base.as_path());
        let around = route::Around {
            pools: &pools,
            cache: cache.as_ref(),
            base,
            numbers: &numbers,
            before: before.map_or(&[], |setup| &setup.routes),
        };
        let uploads = Uploads::new(
            &settings.uploads,
            &parts.cache.folder,
            before.map(|setup| &setup.uploads),
        );
        let uploads = uploads.map_err(|why| {
            vec![
                Complaint::new("uploads.disk_folder", why.to_string())
                    .remedy("name a folder that can be made"),
            ]
        })?;
        let (mut routes, mut complaints) = (Vec::new(), Vec::new());
        let block =
            settings.block.as_ref().map(|block| Block::open(block, "block", base, &numbers));
        let block = block.transpose().unwrap_or_else(|why| {
            complaints.push(why.under("block"));
            None
        });
        for (index, route) in settings.routes.iter().enumerate() {
            match Route::new(index, route, &around) {
                Ok(route) => routes.push(Arc::new(route)),
                Err(found) => {
                    let place = format!("routes.{index}");
                    complaints.extend(found.into_iter().map(|why| why.under(&place)));
                }
            }
        }
        if !complaints.is_empty() {
            return Err(complaints);
        }
        let limits =
            OriginLimits { response_timeout: settings.response_timeout.0.0, ..Default::default() };
        let origins = Origins::new(parts.dialer.clone(), limits);
        let trusted = settings.trusted.iter().map(|network| network.0).collect();
        let block = block.map(Arc::new);
        Ok(Self { settings, trusted, routes, origins, cache, block, pools, uploads })
    }

    pub(crate) fn rule_text(&self, rule: RuleRef) -> Option<RuleText> {
        self.blocks().find_map(|block| block.rule_text(rule))
    }

    fn blocks(&self) -> impl Iterator<Item = &Arc<Block>> {
        let of_routes = self.routes.iter().filter_map(|route| route.block.as_ref());
        self.block.iter().chain(of_routes)
    }
}
