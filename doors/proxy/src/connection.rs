//! One connection, as its requests see it: who asks, and how it came.
//!
//! The same for all of its requests. It reads none. Made by `serve`, once a connection.

use http_front::ConnectionContext;
use origins::{BecomesTunnel, Origin, OriginScheme, UrlHost};
use policy::Policy;
use std::net::{IpAddr, SocketAddr};
use std::sync::Mutex;
use vocab::{LinkInfo, Now};

/// One connection, as its requests see it.
pub(crate) struct ProxyConnection {
    pub(crate) context: ConnectionContext,
    pub(crate) tunnel: BecomesTunnel,
    /// Where it was meant for somebody else.
    pub(crate) intercepted: Option<InterceptedConnection>,
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

/// A connection that a client has opened to somebody else, and that the packet filter has brought
/// here.
pub(crate) struct InterceptedConnection {
    /// Where it was meant to go; none where the packet filter has not redirected it.
    pub(crate) meant: Option<SocketAddr>,
    pub(crate) spoken: InterceptedProtocol,
    /// The host that was last found to lead there: most connections are for one.
    pub(crate) known: Mutex<Option<UrlHost>>,
}

/// Protocol of such a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InterceptedProtocol {
    Http,
    /// TLS, heard as a `CONNECT` (`connecting_client`).
    Tls,
}

/// Tells whether a host leads to where the client has connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostStanding {
    Verified,
    Unverified,
}

/// The address that a request goes to, whatever its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PinnedDestination {
    pub(crate) address: SocketAddr,
    pub(crate) standing: HostStanding,
}

impl PinnedDestination {
    /// The same as an origin.
    pub(crate) fn origin(self, scheme: OriginScheme) -> Origin {
        let host = UrlHost::Address(self.address.ip().to_canonical());
        Origin { scheme, host, port: self.address.port() }
    }
}

impl InterceptedConnection {
    pub(crate) const fn new(meant: Option<SocketAddr>, spoken: InterceptedProtocol) -> Self {
        Self { meant, spoken, known: Mutex::new(None) }
    }
}
