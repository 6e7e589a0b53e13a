//! The settings, checked and parsed: what the resolver's thread builds its upstreams from.

use super::address::UpstreamAddress;
use super::dial_settings::UpstreamReach;
use super::probe::ProbeTarget;
use crate::settings::{GroupSettings, ResolverSettings, SelectionStrategy};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use vocab::{Complaint, DomainName};

/// Right settings.
pub(crate) struct ResolverPlan {
    /// At least one.
    pub(crate) groups: Vec<PlannedGroup>,
}

/// One group of upstreams to be.
pub(crate) struct PlannedGroup {
    pub(crate) name: Arc<str>,
    pub(crate) upstreams: Vec<PlannedUpstream>,
    pub(crate) strategy: SelectionStrategy,
    pub(crate) concurrent: u8,
    /// How addresses are measured; none where they are not.
    pub(crate) probe_target: Option<ProbeTarget>,
    pub(crate) bootstrap: Vec<SocketAddr>,
    pub(crate) timeout: Duration,
}

/// One upstream to be.
pub(crate) struct PlannedUpstream {
    pub(crate) name: Arc<str>,
    pub(crate) address: UpstreamAddress,
    pub(crate) domains: Vec<DomainName>,
    pub(crate) dial_settings: UpstreamReach,
}

impl ResolverPlan {
    pub(crate) fn new(settings: &ResolverSettings) -> Result<Self, Vec<Complaint>> {
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
                    dial_settings: UpstreamReach::of(it),
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
            probe_target: (settings.strategy == SelectionStrategy::FastestAddress)
                .then(|| settings.probe.target()),
            bootstrap: settings.bootstrap.iter().map(|it| it.0.0).collect(),
            timeout: settings.timeout.0.0,
        }
    }
}
