//! A client's connection as its requests see it: both ends, and what carries it.
//!
//! Known before the first request and the same for all of them. It reads no request. Made by the
//! doors once a connection, with what they themselves want to know of the TLS handshake.

use rate_limit::client_of;
use std::net::{IpAddr, SocketAddr};
use transport::Stream;
use transport::neighbours::{self, ArrivedAt};
use vocab::{LinkInfo, LinkInfoNeeds, Now};

/// Both ends of a client's connection, and what carries its requests; `T` is what the door keeps of
/// a TLS handshake.
#[derive(Clone, Debug)]
pub struct ConnectionContext<T = ()> {
    /// The client: the other end, or the one of whom a PROXY header has told. IPv4 is never mapped
    /// into IPv6 here.
    pub client: SocketAddr,
    /// Our end; none where the connection is gone already, or where no one asked for it.
    pub local: Option<SocketAddr>,
    /// Plain TCP or TLS.
    pub security: ConnectionSecurity<T>,
}

/// Plain TCP or TLS, with what is known of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionSecurity<T = ()> {
    /// Plain TCP.
    Plain,
    /// TLS, whose handshake is over.
    Tls(T),
}

impl<T> ConnectionContext<T> {
    /// The context of a connection.
    pub fn of(stream: &Stream, security: ConnectionSecurity<T>) -> Self {
        Self { client: canonical(stream.peer()), local: stream.local().ok(), security }
    }

    /// The context of a connection whose local end is looked up only where a rule of the policy
    /// asks for the interface: it costs a system call.
    pub fn with_needs(
        stream: &Stream,
        needs: LinkInfoNeeds,
        security: ConnectionSecurity<T>,
    ) -> Self {
        let local = if needs.interface { stream.local().ok() } else { None };
        Self { client: canonical(stream.peer()), local, security }
    }

    /// The address of the client.
    pub const fn client_ip(&self) -> IpAddr {
        self.client.ip()
    }

    /// The customer that connections and unfinished requests are counted for: an IPv4 address, or
    /// an IPv6 /64.
    pub fn customer(&self) -> IpAddr {
        client_of(self.client_ip())
    }

    /// Looks up what the link tells of the client, as far as the policy needs it.
    pub fn link_info(&self, needs: LinkInfoNeeds, now: Now) -> LinkInfo {
        neighbours::of(needs, self.client_ip(), || self.local.map(ArrivedAt::Address), now)
    }

    /// The scheme of URLs that are asked for over it.
    pub const fn scheme(&self) -> &'static str {
        self.security.scheme()
    }

    /// The TLS handshake that began it; none in the clear.
    pub const fn handshake(&self) -> Option<&T> {
        self.security.handshake()
    }
}

impl<T> ConnectionSecurity<T> {
    /// The scheme of URLs that are asked for over it.
    pub const fn scheme(&self) -> &'static str {
        match self {
            Self::Plain => "http",
            Self::Tls(_) => "https",
        }
    }

    /// The TLS handshake; none in the clear.
    pub const fn handshake(&self) -> Option<&T> {
        match self {
            Self::Plain => None,
            Self::Tls(handshake) => Some(handshake),
        }
    }
}

fn canonical(peer: SocketAddr) -> SocketAddr {
    SocketAddr::new(peer.ip().to_canonical(), peer.port())
}
