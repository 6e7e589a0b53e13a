//! What follows from the proxy's settings: swapped as a whole on reload.
//!
//! It serves nothing itself. Made by `door`; asked by `request` and `quick`.

use crate::access::ProxyAccess;
use crate::headers::FieldPolicy;
use crate::never::Never;
use crate::parts::ProxyParts;
use crate::routes::ParentRoutes;
use crate::settings::Settings;
use crate::tls::ProxyTls;
use http_cache::HttpCache;
use http_freshness::CachingRules;
use origins::{Origin, OriginLimits, Origins};
use std::net::IpAddr;
use std::sync::Arc;
use vocab::{Complaint, Now};

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
