//! The groups of upstreams of the current settings, and what measures addresses for them.
//!
//! Upstreams that stay as they are go over a reload with their connections and records. It asks
//! nobody. Called by `race`.

use super::group::UpstreamGroup;
use super::probes::AddressProber;
use crate::question::GroupId;
use crate::settings::plan::ResolverPlan;
use crate::upstream::means::ExchangeMeans;
use std::rc::Rc;

/// All groups, in the order of the settings.
pub(crate) struct UpstreamGroups {
    means: Rc<ExchangeMeans>,
    groups: Vec<Rc<UpstreamGroup>>,
    /// Measures addresses; there from the first settings on that want it.
    prober: Option<AddressProber>,
}

impl UpstreamGroups {
    pub(crate) fn new(means: Rc<ExchangeMeans>) -> Self {
        Self { means, groups: Vec::new(), prober: None }
    }

    /// Takes other upstreams, and keeps those that stay as they are.
    pub(crate) fn reload(&mut self, plan: &ResolverPlan) {
        let mut known = self.groups.clone();
        for group in &plan.groups {
            known.push(Rc::new(UpstreamGroup::new(group, &self.means, &known)));
        }
        self.groups = known.split_off(self.groups.len());
        if self.prober.is_none() && self.groups.iter().any(|it| it.probe_target.is_some()) {
            // Without its thread, answers are given as they come.
            self.prober = AddressProber::start().ok();
        }
    }

    pub(crate) fn get(&self, id: GroupId) -> Option<&Rc<UpstreamGroup>> {
        self.groups.get(usize::from(id.0))
    }

    pub(crate) fn prober(&self) -> Option<&AddressProber> {
        self.prober.as_ref()
    }
}
