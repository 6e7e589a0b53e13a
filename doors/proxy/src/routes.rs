//! Which way out a host has: direct, or which parents.
//!
//! It connects to nobody. Made from the settings on every reload, with the parents that it had
//! before; called by `request`.

use crate::settings::{ParentHosts, Settings};
use origins::{ProxyRoute, UrlHost};

/// The ways out.
pub(crate) struct ParentRoutes {
    rules: Vec<(Vec<ParentHosts>, ProxyRoute)>,
    default: ProxyRoute,
}

impl ParentRoutes {
    /// The ways of `settings`. Parents that `before` has too stay as they are.
    pub(crate) fn new(settings: &Settings, before: Option<&Self>) -> Self {
        let before: Vec<ProxyRoute> = before.map_or_else(Vec::new, Self::routes);
        let rules = settings.parents.iter().map(|rule| {
            let places = rule.domains.iter().map(|place| place.0.clone()).collect();
            (places, ProxyRoute::new(rule.parent.hops().cloned(), &before))
        });
        let rest = settings.parent.iter().flat_map(|parent| parent.hops().cloned());
        Self { rules: rules.collect(), default: ProxyRoute::new(rest, &before) }
    }

    fn routes(&self) -> Vec<ProxyRoute> {
        let rules = self.rules.iter().map(|(_, way)| way.clone());
        rules.chain([self.default.clone()]).collect()
    }

    /// The way to `host`: of the first entry that has it.
    pub(crate) fn route_for(&self, host: &UrlHost) -> &ProxyRoute {
        let rule = self.rules.iter().find(|(places, _)| places.iter().any(|it| it.contains(host)));
        rule.map_or(&self.default, |(_, way)| way)
    }
}
