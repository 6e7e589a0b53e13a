//! What follows from the proxy's settings: swapped as a whole on reload.
//!
//! It serves nothing itself. Made by `door`; asked by `request` and `quick`.

use crate::access::ProxyAccess;
use crate::bandwidth::BandwidthClasses;
use crate::headers::FieldPolicy;
use crate::parts::ProxyParts;
use crate::routes::ParentRoutes;
use crate::settings::Settings;
use crate::tls::ProxyTls;
use crate::url_rules::UrlRules;
use access_log::AccessLog;
use http_cache::HttpCache;
use http_freshness::CachingRules;
use http_front::{HookSettings, MessageHooks};
use origins::{Origin, OriginLimits, Origins};
use redirector::UrlRedirector;
use scripting::ScriptPlace;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;
use vocab::{Complaint, Name, Now};

/// Holds what follows from the settings, swapped as a whole.
pub(crate) struct ProxySetup {
    pub(crate) settings: Settings,
    pub(crate) origins: Origins,
    pub(crate) access: Option<ProxyAccess>,
    pub(crate) routes: ParentRoutes,
    pub(crate) fields: FieldPolicy,
    pub(crate) secure: Option<ProxyTls>,
    /// Programs that are asked about URLs; they go on over a reload that leaves them as they are.
    pub(crate) redirector: Option<Arc<UrlRedirector>>,
    pub(crate) hooks: Option<MessageHooks>,
    pub(crate) access_log: Option<Arc<AccessLog>>,
    pub(crate) bandwidth: Option<Arc<BandwidthClasses>>,
    pub(crate) cache: Option<Arc<HttpCache>>,
    /// URLs that the cache leaves alone.
    pub(crate) never: Option<UrlRules>,
    /// The same cache, with the times of each rule of freshness.
    freshness: Vec<(Option<UrlRules>, Arc<HttpCache>)>,
}

impl ProxySetup {
    /// Reads the files that the settings name; what is wrong with them is returned. Keeps of
    /// `before` what stays the same.
    pub(crate) fn new(
        settings: Settings,
        parts: &ProxyParts,
        before: Option<&Self>,
    ) -> Result<Self, Vec<Complaint>> {
        let limits = OriginLimits {
            response_timeout: settings.response_timeout.0.0,
            answer: settings.response_head.limits(),
            connections_max: settings.connections_per_origin.and_then(NonZeroU32::new),
            ..Default::default()
        };
        let access = settings.auth.as_ref().map(|auth| ProxyAccess::open(auth, &parts.base));
        let access = access
            .transpose()
            .map_err(|wrong| wrong.into_iter().map(|it| it.under("auth")).collect::<Vec<_>>())?;
        let cache = settings.cache.as_ref().map(|wanted| {
            let before = before.and_then(|setup| setup.cache.as_deref());
            HttpCache::new(wanted, &CachingRules::forward(), before, &parts.cache)
        });
        let redirector = settings.redirector.as_ref().map(|wanted| {
            let known = before.and_then(|setup| setup.redirector.as_ref());
            match known.filter(|known| known.settings() == wanted) {
                Some(known) => Ok(Arc::clone(known)),
                None => UrlRedirector::start(wanted, Arc::clone(&parts.log)).map(Arc::new),
            }
        });
        let redirector = redirector.transpose().map_err(|why| {
            vec![Complaint::new("redirector", format!("it has no thread: {why}"))]
        })?;
        let wanted = HookSettings { script: settings.script.as_ref(), wasm: &settings.wasm };
        let known = before.and_then(|setup| setup.hooks.as_ref());
        let hooks =
            MessageHooks::open_at(ScriptPlace::Proxy, wanted, &parts.base, &parts.log, known);
        let hooks = hooks.map_err(|why| vec![why])?;
        let outgoing = settings.outgoing();
        // Connections that left otherwise are not used on.
        let kept = before.filter(|setup| *setup.origins.dialer().outgoing() == outgoing);
        let known = before.and_then(|setup| setup.bandwidth.as_ref());
        Ok(Self {
            bandwidth: BandwidthClasses::of(&settings.bandwidth, known),
            origins: kept.map_or_else(
                || Origins::new(parts.dialer.clone().leaving_by(outgoing), limits),
                |setup| setup.origins.with_limits(limits),
            ),
            access,
            redirector,
            hooks,
            access_log: AccessLog::open_if(settings.access_log.as_ref(), &parts.base)
                .map_err(|why| vec![why])?,
            routes: ParentRoutes::new(&settings, before.map(|setup| &setup.routes)),
            fields: FieldPolicy::new(&settings),
            secure: ProxyTls::open(&settings, parts)?,
            never: settings.cache.as_ref().and_then(|cache| UrlRules::of(&cache.never)),
            freshness: cache
                .as_ref()
                .zip(settings.cache.as_ref())
                .map_or_else(Vec::new, |(cache, settings)| by_rule(cache, settings)),
            cache,
            settings,
        })
    }

    /// The cache, with the times that are set for a URL.
    pub(crate) fn cache_for(&self, host: Name<'_>, url: &str, now: Now) -> Option<&Arc<HttpCache>> {
        let is_for =
            |urls: &Option<UrlRules>| urls.as_ref().is_none_or(|urls| urls.holds(host, url, now));
        let special = self.freshness.iter().find(|(urls, _)| is_for(urls));
        special.map(|(_, cache)| cache).or(self.cache.as_ref())
    }

    /// True if the cache leaves a URL of `origin` alone.
    pub(crate) fn never_keeps(&self, origin: &Origin, url: &str, now: Now) -> bool {
        let never = self.never.as_ref();
        never.is_some_and(|never| never.holds(origin.host.to_name().as_name(), url, now))
    }

    /// Time for which a body may be silent on its way to a client: an origin's, and while its class
    /// of traffic has to wait far longer, since an origin's own silence is noticed before.
    pub(crate) fn stall(&self) -> Duration {
        const WAITING_MAX: Duration = Duration::from_hours(1);
        match self.bandwidth {
            None => self.settings.response_timeout.0.0,
            Some(_) => WAITING_MAX,
        }
    }

    pub(crate) fn serves(&self, client: IpAddr) -> bool {
        self.settings.clients.iter().any(|network| network.contains(client))
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

/// The cache with the times of each rule of its settings, in order.
fn by_rule(
    cache: &Arc<HttpCache>,
    settings: &http_cache::Settings,
) -> Vec<(Option<UrlRules>, Arc<HttpCache>)> {
    let rules = settings.freshness.iter();
    rules.map(|rule| (UrlRules::of(&rule.urls), cache.with_freshness(rule))).collect()
}
