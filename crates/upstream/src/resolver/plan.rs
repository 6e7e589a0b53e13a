//! The settings, checked and parsed: what the resolver's thread builds its upstreams from.

use super::address::UpstreamAddress;
use super::settings::{ResolverSettings, Strategy};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use vocab::{Complaint, DomainName};

/// Right settings.
pub(super) struct Plan {
    pub(super) upstreams: Vec<Planned>,
    pub(super) strategy: Strategy,
    pub(super) bootstrap: Vec<SocketAddr>,
    pub(super) timeout: Duration,
    pub(super) stale_after: Duration,
}

/// One upstream to be.
pub(super) struct Planned {
    pub(super) name: Arc<str>,
    pub(super) address: UpstreamAddress,
    pub(super) domains: Vec<DomainName>,
}

impl Plan {
    pub(super) fn new(settings: &ResolverSettings) -> Result<Self, Vec<Complaint>> {
        let mut complaints = settings.check();
        let mut upstreams = Vec::with_capacity(settings.upstreams.len());
        for (index, it) in settings.upstreams.iter().enumerate() {
            match it.parsed() {
                Ok(address) => upstreams.push(Planned {
                    name: it.name().into(),
                    address,
                    domains: it.domains().iter().map(|domain| domain.0.clone()).collect(),
                }),
                Err(why) if complaints.is_empty() => {
                    complaints.push(Complaint::new(format!("upstreams.{index}"), why.to_string()));
                }
                Err(_) => {}
            }
        }
        if !complaints.is_empty() {
            return Err(complaints);
        }
        Ok(Self {
            upstreams,
            strategy: settings.strategy,
            bootstrap: settings.bootstrap.iter().map(|it| it.0.0).collect(),
            timeout: settings.timeout.0.0,
            stale_after: settings.cache.stale_after.0.0,
        })
    }
}
