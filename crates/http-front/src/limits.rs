//! Caps of a door: connections in all and of one client, and requests that are within their bodies.
//!
//! One value bounds all listeners of a door over all cores. What is over a cap is refused at once
//! and counted, never queued. Made by each door from its settings, and set again on reload.

use http::Request;
use http_engine::{Incoming, TooMany, UnfinishedCounts, UnfinishedRequests};
use std::net::IpAddr;
use transport::ConnectionLimits;

/// The number of connections that settings allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionCaps {
    /// All clients together.
    pub total: usize,
    /// One client: an IPv4 address or an IPv6 /64.
    pub per_client: usize,
}

/// The caps of one door, with their counts; clones share them.
#[derive(Clone, Debug)]
pub struct DoorLimits {
    connections: ConnectionLimits,
    unfinished: UnfinishedRequests,
}

impl ConnectionCaps {
    /// The caps that two settings say.
    pub const fn new(total: u32, per_client: u32) -> Self {
        Self { total: total as usize, per_client: per_client as usize }
    }
}

impl DoorLimits {
    /// Caps as the settings say them.
    pub fn new(caps: ConnectionCaps) -> Self {
        Self {
            connections: ConnectionLimits::new(caps.total, caps.per_client),
            unfinished: UnfinishedRequests::for_connections(caps.total),
        }
    }

    /// Takes other caps. What is over them already goes on.
    pub fn set(&self, caps: ConnectionCaps) {
        self.connections.set(caps.total, caps.per_client);
        self.unfinished.set_connections(caps.total);
    }

    /// The caps on connections, to share among all listeners.
    pub fn connections(&self) -> ConnectionLimits {
        self.connections.clone()
    }

    /// Counts `request` while its body is under way, or refuses it.
    pub fn admit(
        &self,
        request: Request<Incoming>,
        customer: impl FnOnce() -> IpAddr,
    ) -> Result<Request<Incoming>, TooMany> {
        self.unfinished.admit(request, customer)
    }

    /// The requests that are within their bodies, and those that were refused for that.
    pub fn unfinished_requests(&self) -> UnfinishedCounts {
        self.unfinished.counts()
    }
}
