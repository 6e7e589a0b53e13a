//! The settings, checked and parsed: what the resolver's thread builds its upstreams from.

use super::address::UpstreamAddress;
use super::probe_settings::ProbeTarget;
use super::reach::UpstreamReach;
use super::settings::{GroupSettings, ResolverSettings, SelectionStrategy};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use vocab::{Complaint, DomainName};

/// Right settings.
pub(super) struct ResolverPlan {
    /// At least one.
    pub(super) groups: Vec<PlannedGroup>,
}

/// One group of upstreams to be.
pub(super) struct PlannedGroup {
    pub(super) name: Arc<str>,
    pub(super) upstreams: Vec<PlannedUpstream>,
    pub(super) strategy: SelectionStrategy,
    pub(super) concurrent: u8,
    /// How addresses are measured; none where they are not.
    pub(super) aim: Option<ProbeTarget>,
    pub(super) bootstrap: Vec<SocketAddr>,
    pub(super) timeout: Duration,
}

/// One upstream to be.
pub(super) struct PlannedUpstream {
    pub(super) name: Arc<str>,
    pub(super) address: UpstreamAddress,
    pub(super) domains: Vec<DomainName>,
    pub(super) reach: UpstreamReach,
}

impl ResolverPlan {
    pub(super) fn new(settings: &ResolverSettings) -> Result<Self, Vec<Complaint>> {
        let mut complaints = settings.check();
        let groups = settings.groups.iter();
        let groups = groups.map(|it| PlannedGroup::new(it, &mut complaints)).collect();
        if complaints.is_empty() { Ok(Self { groups }) } else { Err(complaints) }
    }
}

impl PlannedGroup {
    fn new(settings: &GroupSettings, complaints: &mut Vec<Complaint>) -> Self {
        let mut upstreams = Vec::with_capacity(settings.upstreams.len());
        for (index, it) in settings.upstreams.iter().enumerate() {
            match it.parsed() {
                Ok(address) => upstreams.push(PlannedUpstream {
                    name: it.name().into(),
                    address,
                    domains: it.domains().iter().map(|domain| domain.0.clone()).collect(),
                    reach: it.reach(),
                }),
                Err(why) if complaints.is_empty() => {
                    complaints.push(Complaint::new(format!("upstreams.{index}"), why.to_string()));
                }
                Err(_) => {}
            }
        }
        Self {
            name: settings.name.as_str().into(),
            upstreams,
            strategy: settings.strategy,
            concurrent: settings.concurrent,
            aim: (settings.strategy == SelectionStrategy::FastestAddress)
                .then(|| settings.probe.aim()),
            bootstrap: settings.bootstrap.iter().map(|it| it.0.0).collect(),
            timeout: settings.timeout.0.0,
        }
    }
}
