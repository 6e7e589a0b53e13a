//! The settings, checked and parsed: what every engine builds its upstreams from.

use super::address::{UpstreamAddress, UpstreamHost, UpstreamProtocol};
use super::dial_settings::UpstreamReach;
use super::probe::ProbeTarget;
use crate::settings::{GroupSettings, ResolverSettings, ResponseSelection, SelectionStrategy};
use crate::upstream::record::{ListedUpstream, UpstreamRecord};
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
#[derive(Clone)]
pub(crate) struct PlannedGroup {
    pub(crate) name: Arc<str>,
    pub(crate) upstreams: Vec<PlannedUpstream>,
    pub(crate) strategy: SelectionStrategy,
    pub(crate) selection: ResponseSelection,
    pub(crate) concurrent: u8,
    /// How addresses are measured; none where they are not.
    pub(crate) probe_target: Option<ProbeTarget>,
    pub(crate) bootstrap: Vec<SocketAddr>,
    pub(crate) timeout: Duration,
}

/// One upstream to be.
#[derive(Clone)]
pub(crate) struct PlannedUpstream {
    pub(crate) name: Arc<str>,
    pub(crate) address: UpstreamAddress,
    pub(crate) domains: Vec<DomainName>,
    pub(crate) dial_settings: UpstreamReach,
    /// The record of it, by whichever engine asks.
    pub(crate) record: Arc<UpstreamRecord>,
}

impl ResolverPlan {
    /// The plan of `settings`. Upstreams that `before` has too keep their records.
    pub(crate) fn new(
        settings: &ResolverSettings,
        before: Option<&Self>,
    ) -> Result<Self, Vec<Complaint>> {
        let mut complaints = settings.check();
        let mut plan = Self { groups: Vec::with_capacity(settings.groups.len()) };
        for group in &settings.groups {
            let mut planned = PlannedGroup::new(group, &mut complaints);
            planned.take_records(before.map_or(&[][..], |it| &it.groups));
            planned.take_records(&plan.groups);
            plan.groups.push(planned);
        }
        if complaints.is_empty() { Ok(plan) } else { Err(complaints) }
    }

    /// Every upstream of every group, for whoever wants to know how they do.
    pub(crate) fn listed(&self) -> impl Iterator<Item = ListedUpstream> {
        self.groups.iter().flat_map(|group| {
            group.upstreams.iter().map(|it| ListedUpstream {
                group: Arc::clone(&group.name),
                name: Arc::clone(&it.name),
                address: it.address.to_string().into(),
                record: Arc::clone(&it.record),
            })
        })
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
                    record: Arc::default(),
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
            selection: settings.response_selection,
            concurrent: settings.concurrent,
            probe_target: (settings.strategy == SelectionStrategy::FastestAddress)
                .then(|| settings.probe.target()),
            bootstrap: settings.bootstrap.iter().map(|it| it.0.0).collect(),
            timeout: settings.timeout.0.0,
        }
    }

    /// Servers to ask about the names of upstreams: those that are set, or the upstreams that need
    /// no name and no trust in one; empty means the system's.
    pub(crate) fn bootstrap_servers(&self) -> Vec<SocketAddr> {
        if !self.bootstrap.is_empty() {
            return self.bootstrap.clone();
        }
        self.upstreams
            .iter()
            .filter(|it| it.domains.is_empty())
            .filter_map(|it| match (it.address.protocol, &it.address.host) {
                (UpstreamProtocol::Udp, UpstreamHost::Ip(ip)) => {
                    Some(SocketAddr::new(*ip, it.address.port))
                }
                (UpstreamProtocol::Udp, UpstreamHost::Name(_))
                | (
                    UpstreamProtocol::Tcp
                    | UpstreamProtocol::Tls
                    | UpstreamProtocol::Https
                    | UpstreamProtocol::Quic,
                    _,
                ) => None,
            })
            .collect()
    }

    /// True if every upstream is asked by datagrams alone and no address is measured: nothing that
    /// engines would have to share is kept open for it.
    pub(crate) fn is_plain_udp(&self) -> bool {
        self.probe_target.is_none()
            && self
                .upstreams
                .iter()
                .all(|it| it.is_by_ip() && it.address.protocol == UpstreamProtocol::Udp)
    }

    /// The group without its upstreams, for an engine that asks none of them.
    pub(crate) fn without_upstreams(&self) -> Self {
        Self { upstreams: Vec::new(), bootstrap: Vec::new(), ..self.clone() }
    }

    /// Takes the records of upstreams that are the same in `known`.
    fn take_records(&mut self, known: &[Self]) {
        let servers = self.bootstrap_servers();
        for own in &mut self.upstreams {
            // One that is found by name must be found by the same servers.
            let groups =
                known.iter().filter(|it| own.is_by_ip() || it.bootstrap_servers() == servers);
            if let Some(same) = groups.flat_map(|it| &it.upstreams).find(|it| it.is_same(own)) {
                own.record = Arc::clone(&same.record);
            }
        }
    }
}

impl PlannedUpstream {
    /// True if its settings hold an address, so that no name is looked up for it.
    fn is_by_ip(&self) -> bool {
        matches!(self.dial_settings.target(&self.address.host), UpstreamHost::Ip(_))
    }

    fn is_same(&self, other: &Self) -> bool {
        self.name == other.name
            && self.address == other.address
            && self.dial_settings == other.dial_settings
    }
}
