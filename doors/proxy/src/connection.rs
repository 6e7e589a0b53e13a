//! One connection, as its requests see it: who asks, and how it came.
//!
//! The same for all of its requests. It reads none. Made by `serve`, once a connection.

use http_front::ConnectionContext;
use origins::BecomesTunnel;
use policy::Policy;
use std::net::IpAddr;
use vocab::{LinkInfo, Now};

/// One connection, as its requests see it.
pub(crate) struct ProxyConnection {
    pub(crate) context: ConnectionContext,
    pub(crate) tunnel: BecomesTunnel,
}

impl ProxyConnection {
    /// The address of the client.
    pub(crate) const fn client(&self) -> IpAddr {
        self.context.client_ip()
    }

    /// Returns what the link tells of the client, as far as the policy wants to know.
    pub(crate) fn near(&self, policy: &Policy, now: Now) -> LinkInfo {
        self.context.link_info(policy.link_info_needs(), now)
    }
}
