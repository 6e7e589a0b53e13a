//! A route as it runs: what it is for, what it refuses, where it leads.
//!
//! Made by `door` from its settings; `decide` walks the routes. It reads pattern files, and nothing
//! once it is made.

use crate::fields::{FieldChange, FieldRuleSets, FieldRules, FieldTemplate};
use crate::folders::{FolderMount, OpenFolders};
use crate::guards::{BlockRules, ListNumbers, RouteGuards};
use crate::public::{CookieRewrite, PublicAddress, PublicAuthorities};
use crate::reproxy::ReproxyRules;
use crate::settings::{
    FixedAnswer, HostSent, HostSetting, RouteSettings, Settings, UploadMode, check_copied,
};
use balancer::{Pools, RequestPriority, ServerPool};
use file_access::private_files::PrivateFiles;
use http::Extensions;
use http::header::{HOST, HeaderName};
use http_cache::HttpCache;
use http_engine::encoding::CodingOffer;
use http_freshness::SetCookie;
use http_front::{HookSettings, MessageHooks};
use origins::ResponseTimeout;
use rate_limit::LeaseBook;
use route_matching::{PathRewrite, RoutePurpose, RouteRule};
use scripting::{ScriptLog, ScriptPlace};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use vocab::Complaint;

/// Where a route leads.
pub(crate) enum RouteDestination {
    Pool(Arc<ServerPool>),
    Fixed(FixedAnswer),
    Folder(FolderMount),
}

/// Where some requests go.
pub(crate) struct GatewayRoute {
    /// Which requests it takes.
    pub(crate) rule: RouteRule,
    pub(crate) block: Option<Arc<BlockRules>>,
    /// Look at its requests and answers.
    pub(crate) hooks: Option<MessageHooks>,
    pub(crate) guards: RouteGuards,
    /// None where it only blocks: those that follow decide then.
    pub(crate) to: Option<RouteDestination>,
    /// Changes to the path before servers of its pool are asked.
    pub(crate) rewrite: PathRewrite,
    /// The `Host` that they are asked for.
    pub(crate) host_sent: HostSent,
    /// Where its answers are kept, if they are.
    pub(crate) cache: Option<Arc<HttpCache>>,
    /// Priority of its requests.
    pub(crate) priority: RequestPriority,
    pub(crate) request_fields: FieldRules,
    pub(crate) response_fields: FieldRules,
    /// Fields that are not taken out.
    pub(crate) allowed_fields: PassedFields,
    /// Codings that its answers are offered in.
    pub(crate) compress: Option<CodingOffer>,
    pub(crate) public: PublicAddress,
    /// The largest request body, in bytes; the gateway's own where there is none.
    pub(crate) body_max: Option<u64>,
    /// Time for which a server may be silent; the gateway's own where there is none.
    pub(crate) response_timeout: Option<Duration>,
    /// Rules for what its servers may name to be sent in their place.
    pub(crate) reproxy: Option<ReproxyRules>,
    /// True if only servers lead here.
    pub(crate) internal: bool,
    /// Mode of its uploads, if it has its own.
    pub(crate) uploads: Option<UploadMode>,
    /// True if the progress of its uploads is told.
    pub(crate) upload_status: bool,
    /// Protocols for which connections may leave HTTP.
    pub(crate) upgrade: Vec<String>,
}

/// Fields that messages keep, though they lose their like.
#[derive(Clone, Debug, Default)]
pub(crate) struct PassedFields {
    /// Of strangers' requests: what rules let through, and what an authority says.
    pub(crate) request: Vec<HeaderName>,
    /// Of answers.
    pub(crate) response: Vec<HeaderName>,
}

impl PassedFields {
    fn of(all: &FieldRuleSets, own: &FieldRuleSets, settings: &RouteSettings) -> Self {
        let copied = settings.forward_auth.iter().flat_map(|it| &it.copy_headers);
        let copied = copied.filter_map(|name| check_copied(name).ok());
        Self {
            request: all
                .request
                .allowed()
                .chain(own.request.allowed())
                .cloned()
                .chain(copied)
                .collect(),
            response: all.response.allowed().chain(own.response.allowed()).cloned().collect(),
        }
    }
}

/// Name of the block that is asked before a route is sought, as people read it.
pub(crate) const FOR_ALL: &str = "the gateway's block";

/// Returns how people call a route: they count from one.
pub(crate) fn display_name(index: usize) -> String {
    format!("route {} of the gateway", index + 1)
}

/// Reads every file that the guards of routes name as the door would, and opens the folders that
/// servers may name files in, relative ones from `base`; says what is wrong with them.
pub(crate) fn check_files(
    settings: &Settings,
    base: &Path,
    private: &Arc<PrivateFiles>,
) -> Vec<Complaint> {
    let numbers = ListNumbers::new();
    let mut wrong = Vec::new();
    if let Some(block) = &settings.block {
        let made = BlockRules::open(block, FOR_ALL, base, &numbers);
        wrong.extend(made.err().map(|why| why.under("block")));
    }
    let unread = scripting::unread_log();
    for (index, route) in settings.routes.iter().enumerate() {
        let place = format!("routes.{index}");
        let block = route.block.as_ref();
        let made = block
            .and_then(|block| BlockRules::open(block, &display_name(index), base, &numbers).err());
        wrong.extend(made.map(|why| why.under("block").under(&place)));
        let guards = RouteGuards::open(route, base, None, None).err().unwrap_or_default();
        wrong.extend(guards.into_iter().map(|why| why.under(&place)));
        let hooks = open_hooks(route, base, &unread, None);
        wrong.extend(hooks.err().map(|why| why.under(&place)));
        let reproxy = route.reproxy.as_ref();
        let reproxy = reproxy.and_then(|it| ReproxyRules::new(it, base, private).err());
        wrong.extend(reproxy.map(|why| why.under(&place)));
    }
    wrong
}

/// The gateway's store, under the rules that routes choose among.
pub(crate) struct RouteCaches {
    /// Stores nothing that sets a cookie.
    strict: Arc<HttpCache>,
    /// Stores cookies for everybody.
    lenient: Arc<HttpCache>,
}

impl RouteCaches {
    /// The store of `cache`.
    pub(crate) fn of_store(cache: Arc<HttpCache>) -> Self {
        Self { lenient: cache.with_cookies(SetCookie::Kept), strict: cache }
    }

    /// The store as a route uses it: shared by machines whose route and pool are the same.
    fn of(&self, settings: &RouteSettings, to: Option<&RouteDestination>) -> Arc<HttpCache> {
        let cache = if settings.store_set_cookie { &self.lenient } else { &self.strict };
        let pool = match to {
            Some(RouteDestination::Pool(pool)) => Some(pool.settings()),
            Some(RouteDestination::Fixed(_) | RouteDestination::Folder(_)) | None => None,
        };
        cache.shared_by(&(settings, pool))
    }
}

/// Holds what a route is made with.
pub(crate) struct RouteEnvironment<'s> {
    pub(crate) pools: &'s Pools,
    pub(crate) caches: Option<&'s RouteCaches>,
    pub(crate) base: &'s Path,
    pub(crate) private: &'s Arc<PrivateFiles>,
    pub(crate) numbers: &'s ListNumbers,
    pub(crate) folders: &'s dyn OpenFolders,
    /// The gateway's `body_max`, in bytes.
    pub(crate) body_max: u64,
    /// Rules for fields on every route.
    pub(crate) fields: &'s FieldRuleSets,
    /// Tokens of shared limits.
    pub(crate) leases: &'s Arc<LeaseBook>,
    /// Takes what scripts say.
    pub(crate) log: &'s ScriptLog,
    /// The routes until now.
    pub(crate) before: &'s [Arc<GatewayRoute>],
}

impl GatewayRoute {
    /// Returns how long a server may be silent within its answer: what the route says, or else its
    /// pool.
    pub(crate) fn silence_max(&self) -> Option<Duration> {
        let of_pool = || self.pool()?.policy().options().between_bytes;
        self.response_timeout.or_else(of_pool)
    }

    /// Notes on a request of it what is to be known where it is sent; of most there is nothing, and
    /// they do without a map of notes.
    pub(crate) fn tag_request(&self, request: &mut Extensions) {
        if let Some(patience) = self.response_timeout {
            request.insert(ResponseTimeout(patience));
        }
        if self.host_sent == HostSent::Servers {
            request.insert(HostSent::Servers);
        }
    }

    pub(crate) fn new(
        index: usize,
        settings: &RouteSettings,
        around: &RouteEnvironment<'_>,
    ) -> Result<Self, Vec<Complaint>> {
        let takes = settings.route_match()?;
        let block = match &settings.block {
            None => None,
            Some(block) => {
                let made =
                    BlockRules::open(block, &display_name(index), around.base, around.numbers);
                Some(Arc::new(made.map_err(|why| vec![why.under("block")])?))
            }
        };
        let before = around.before.get(index).map(Arc::as_ref);
        let known = before.map(|route| &route.guards);
        let guards = RouteGuards::open(settings, around.base, Some(around.leases), known)?;
        let reproxy = settings
            .reproxy
            .as_ref()
            .map(|reproxy| ReproxyRules::new(reproxy, around.base, around.private));
        let hooks = before.and_then(|route| route.hooks.as_ref());
        let hooks =
            open_hooks(settings, around.base, around.log, hooks).map_err(|why| vec![why])?;
        let to = destination(settings, around, before)?;
        let purpose = if to.is_some() { RoutePurpose::Leads } else { RoutePurpose::Blocks };
        let own = settings.headers.compile();
        let passed = PassedFields::of(around.fields, &own, settings);
        let FieldRuleSets { request: mut request_fields, response: response_fields } = own;
        let host = settings.host_sent().map_err(|why| vec![Complaint::new("set_host", why)])?;
        if let HostSetting::Text(host) = &host {
            request_fields =
                request_fields.after(FieldChange::Set(HOST, FieldTemplate::from_literal(host)));
        }
        let rewrite = settings.path_rewrite().map_err(|why| vec![why])?;
        let hosts = || request_fields.literals(&HOST).map(str::to_owned).collect();
        let public = PublicAddress {
            links: settings.rewrite_location.then(|| PublicAuthorities(hosts())),
            cookies: if settings.rewrite_cookies {
                CookieRewrite::Public
            } else {
                CookieRewrite::Unchanged
            },
        };
        Ok(Self {
            rule: RouteRule { takes, slashes: settings.slashes(), purpose },
            block,
            hooks,
            guards,
            cache: around.caches.filter(|_| settings.cache).map(|it| it.of(settings, to.as_ref())),
            to,
            rewrite,
            host_sent: host.sent(),
            priority: settings.priority,
            request_fields,
            response_fields,
            allowed_fields: passed,
            compress: settings.compress.offer(),
            public,
            body_max: settings.body_max.map(|size| size.bytes()),
            response_timeout: settings.response_timeout.map(|span| span.0.0),
            reproxy: reproxy.transpose().map_err(|why| vec![why])?,
            internal: settings.internal,
            uploads: settings.uploads,
            upload_status: settings.upload_status,
            upgrade: settings.upgrade.clone(),
        })
    }

    /// The pool that it leads to, if it does.
    pub(crate) fn pool(&self) -> Option<&Arc<ServerPool>> {
        match &self.to {
            Some(RouteDestination::Pool(pool)) => Some(pool),
            Some(RouteDestination::Fixed(_) | RouteDestination::Folder(_)) | None => None,
        }
    }

    fn mount(&self) -> Option<&FolderMount> {
        match &self.to {
            Some(RouteDestination::Folder(mount)) => Some(mount),
            Some(RouteDestination::Fixed(_) | RouteDestination::Pool(_)) | None => None,
        }
    }
}

fn open_hooks(
    settings: &RouteSettings,
    base: &Path,
    log: &ScriptLog,
    before: Option<&MessageHooks>,
) -> Result<Option<MessageHooks>, Complaint> {
    let wanted = HookSettings { script: settings.script.as_ref(), wasm: &settings.wasm };
    MessageHooks::open_at(ScriptPlace::Route, wanted, base, log, before)
}

fn destination(
    settings: &RouteSettings,
    around: &RouteEnvironment<'_>,
    before: Option<&GatewayRoute>,
) -> Result<Option<RouteDestination>, Vec<Complaint>> {
    if let Some(own) = settings.fixed_answer().map_err(|why| vec![why])? {
        return Ok(Some(RouteDestination::Fixed(own)));
    }
    if let Some(folder) = settings.folder(around.body_max) {
        let before = before.and_then(GatewayRoute::mount);
        let mount = FolderMount::open(folder, around.base, around.folders, before)?;
        return Ok(Some(RouteDestination::Folder(mount)));
    }
    let pool = settings.pool.as_deref().and_then(|name| around.pools.get(name));
    Ok(pool.cloned().map(RouteDestination::Pool))
}
