//! The routes of a gateway in their order, found by host, and what is refused whatever the route.
//!
//! Made by `setup`; `decide` walks it. It opens nothing.

use crate::guards::BlockRules;
use crate::route::GatewayRoute;
use policy::RuleText;
use route_matching::{HostTable, SlashRule, SlashRules};
use std::sync::Arc;
use vocab::RuleRef;

/// The routes of a gateway.
pub(crate) struct RouteTable {
    pub(crate) routes: Vec<Arc<GatewayRoute>>,
    /// Their numbers by host.
    hosts: HostTable,
    /// Refusals that hold whatever the route.
    pub(crate) block: Option<Arc<BlockRules>>,
    pub(crate) slashes: SlashRules,
}

impl RouteTable {
    pub(crate) fn new(routes: Vec<Arc<GatewayRoute>>, block: Option<Arc<BlockRules>>) -> Self {
        let hosts: Vec<_> = routes.iter().map(|route| route.rule.takes.host.as_ref()).collect();
        let hosts = HostTable::new(&hosts);
        let alike = routes.iter().all(|route| route.rule.slashes == SlashRule::default());
        let slashes = if alike { SlashRules::Alike } else { SlashRules::ByRoute };
        Self { routes, hosts, block, slashes }
    }

    /// The routes that may be for `host`, in their order.
    pub(crate) fn candidates(
        &self,
        host: vocab::Name<'_>,
    ) -> impl Iterator<Item = &Arc<GatewayRoute>> {
        self.hosts.candidates(host).iter().map(|number| &self.routes[usize::from(*number)])
    }

    /// The text of a pattern or rule that a block holds.
    pub(crate) fn rule_text(&self, rule: RuleRef) -> Option<RuleText> {
        self.blocks().find_map(|block| block.rule_text(rule))
    }

    pub(crate) fn blocks(&self) -> impl Iterator<Item = &Arc<BlockRules>> {
        let of_routes = self.routes.iter().filter_map(|route| route.block.as_ref());
        self.block.iter().chain(of_routes)
    }
}
