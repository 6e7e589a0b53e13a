//! Everything that follows from the gateway's settings, made by each reload and swapped as a whole.
//!
//! It reads the files that the settings name, and takes over from the setup before it what goes on:
//! pools, connections, the cache, counts. Made and swapped by `door`; `request` hands its parts on.

use crate::fields::{FieldRuleSets, FieldRules};
use crate::folders::OpenFolders;
use crate::forwarding::{ForwardingLimits, ForwardingSetup};
use crate::guards::{BlockRules, ListNumbers};
use crate::route::{self, GatewayRoute, RouteCaches, RouteEnvironment};
use crate::route_table::RouteTable;
use crate::secure::GatewayTls;
use crate::settings::Settings;
use crate::uploads::UploadRules;
use access_log::AccessLog;
use arc_swap::ArcSwap;
use balancer::{Pools, open_pools};
use file_access::private_files::PrivateFiles;
use http_cache::{CacheEnvironment, HttpCache};
use http_engine::Limits;
use http_engine::claims::MethodOverrides;
use http_freshness::CachingRules;
use ledger::Ledger;
use origins::{Dialer, OriginLimits, Origins};
use policy::Policy;
use rate_limit::LeaseBook;
use signer::Signer;
use std::path::PathBuf;
use std::sync::Arc;
use vocab::{Complaint, Network};

/// Holds what the door is built from.
#[derive(Clone)]
pub struct GatewayParts {
    /// The policy, swapped as a whole on reload.
    pub policy: Arc<ArcSwap<Policy>>,
    /// Where requests are recorded.
    pub ledger: Ledger,
    /// Opens connections to servers.
    pub dialer: Dialer,
    /// Opens the folders of routes.
    pub folders: Arc<dyn OpenFolders>,
    /// The folder from which relative paths of pattern files start.
    pub base: PathBuf,
    /// Files and folders that no server's word has sent, whatever folder it may name files in.
    pub private: Arc<PrivateFiles>,
    /// Clock, folder and log of the cache.
    pub cache: CacheEnvironment,
    /// Signs the certificate of `https` listeners that have none as files.
    pub signer: Option<Arc<Signer>>,
    /// Tokens of the limits that machines of a fleet share.
    pub leases: Arc<LeaseBook>,
    /// Takes a line for the administrator: what came of a certificate that has changed.
    pub log: Arc<dyn Fn(&str) + Send + Sync>,
}

/// Holds what follows from the settings, swapped as a whole.
pub(crate) struct GatewaySetup {
    pub(crate) settings: Settings,
    pub(crate) table: RouteTable,
    pub(crate) forwarding: Arc<ForwardingSetup>,
    pub(crate) secure: Option<GatewayTls>,
    /// The networks from which a PROXY header is required; where there are some, nobody else is
    /// let in.
    pub(crate) proxies: Vec<Network>,
    /// Expectations of clients.
    pub(crate) limits: Limits,
    /// Done to the fields of answers on every route.
    pub(crate) response_fields: FieldRules,
    pub(crate) access_log: Option<Arc<AccessLog>>,
}

impl GatewaySetup {
    pub(crate) fn new(
        settings: Settings,
        parts: &GatewayParts,
        before: Option<&Self>,
    ) -> Result<Self, Vec<Complaint>> {
        let known = before.map(|setup| &*setup.forwarding);
        let known_pools = known.map(|forwarding| &forwarding.pools);
        let pools = open_pools(&settings.pools, &parts.base, &parts.dialer, known_pools)?;
        let cache = cache_of(&settings, parts, known);
        let fields = settings.headers.compile();
        let uploads = uploads_of(&settings, parts, known)?;
        let routes_before = before.map_or(&[][..], |setup| &setup.table.routes);
        let table = table_of(&settings, parts, &pools, cache.as_ref(), &fields, routes_before)?;
        let by_method = table.routes.iter().any(|route| !route.rule.takes.methods.is_empty());
        let forwarding = ForwardingSetup {
            origins: origins_of(&settings, parts, known),
            pools,
            trusted: settings.trusted.iter().map(|network| network.0).collect(),
            style: settings.forwarded,
            request_fields: fields.request,
            overrides: if by_method { MethodOverrides::None } else { MethodOverrides::OfPosts },
            cache,
            uploads,
            progress: known.map(|it| Arc::clone(&it.progress)).unwrap_or_default(),
            left: known.map(|forwarding| forwarding.left.clone()).unwrap_or_default(),
            limits: ForwardingLimits {
                body_max: settings.body_max.bytes(),
                upgrades: settings.upgrades,
                response_timeout: settings.response_timeout.0.0,
            },
        };
        Ok(Self {
            table,
            forwarding: Arc::new(forwarding),
            secure: GatewayTls::open(&settings, parts)?,
            proxies: settings.proxy_protocol.iter().map(|network| network.0).collect(),
            limits: settings.client.limits(),
            response_fields: fields.response,
            access_log: AccessLog::open_if(settings.access_log.as_ref(), &parts.base)
                .map_err(|why| vec![why])?,
            settings,
        })
    }
}

/// The store of routes that have a cache; none where no route has.
fn cache_of(
    settings: &Settings,
    parts: &GatewayParts,
    before: Option<&ForwardingSetup>,
) -> Option<Arc<HttpCache>> {
    settings.routes.iter().any(|route| route.cache).then(|| {
        let before = before.and_then(|forwarding| forwarding.cache.as_deref());
        HttpCache::new(&settings.cache, &CachingRules::reverse(), before, &parts.cache)
    })
}

/// The place where request bodies wait, those of `before` among them.
fn uploads_of(
    settings: &Settings,
    parts: &GatewayParts,
    before: Option<&ForwardingSetup>,
) -> Result<UploadRules, Vec<Complaint>> {
    let before = before.map(|forwarding| &forwarding.uploads);
    UploadRules::new(&settings.uploads, &parts.cache.folder, before).map_err(|why| {
        vec![
            Complaint::new("uploads.disk_folder", why.to_string())
                .remedy("name a folder that can be made"),
        ]
    })
}

/// The routes of `settings` and their blocks, or everything that is wrong with them.
fn table_of(
    settings: &Settings,
    parts: &GatewayParts,
    pools: &Pools,
    cache: Option<&Arc<HttpCache>>,
    fields: &FieldRuleSets,
    before: &[Arc<GatewayRoute>],
) -> Result<RouteTable, Vec<Complaint>> {
    let caches = cache.cloned().map(RouteCaches::of_store);
    let (numbers, base) = (ListNumbers::new(), parts.base.as_path());
    let around = RouteEnvironment {
        pools,
        caches: caches.as_ref(),
        base,
        private: &parts.private,
        numbers: &numbers,
        folders: parts.folders.as_ref(),
        body_max: settings.body_max.bytes(),
        fields,
        leases: &parts.leases,
        log: &parts.log,
        before,
    };
    let mut complaints = Vec::new();
    let block = settings.block.as_ref();
    let block = block.map(|block| BlockRules::open(block, route::FOR_ALL, base, &numbers));
    let block = block.transpose().unwrap_or_else(|why| {
        complaints.push(why.under("block"));
        None
    });
    let mut routes = Vec::new();
    for (index, route) in settings.routes.iter().enumerate() {
        match GatewayRoute::new(index, route, &around) {
            Ok(route) => routes.push(Arc::new(route)),
            Err(found) => {
                let place = format!("routes.{index}");
                complaints.extend(found.into_iter().map(|why| why.under(&place)));
            }
        }
    }
    if complaints.is_empty() {
        Ok(RouteTable::new(routes, block.map(Arc::new)))
    } else {
        Err(complaints)
    }
}

/// Returns what sends to servers: with the connections of `before`, where there are some.
fn origins_of(
    settings: &Settings,
    parts: &GatewayParts,
    before: Option<&ForwardingSetup>,
) -> Origins {
    let limits = OriginLimits {
        response_timeout: settings.response_timeout.0.0,
        answer: settings.response_head.limits(),
        ..Default::default()
    };
    before.map_or_else(
        || Origins::new(parts.dialer.clone(), limits),
        |forwarding| forwarding.origins.with_limits(limits),
    )
}
