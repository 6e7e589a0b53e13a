//! Conditions under which a request takes a route: listener, host, path, method, fields, query,
//! client, peer.
//!
//! All that a route writes must hold. Which routes are looked at is the table's affair, and what is
//! done with the one found is its caller's. Made from settings, also to check them.

use crate::host_pattern::HostPattern;
use crate::path_pattern::PathPattern;
use crate::request::ParsedRequest;
use crate::value_pattern::ValuePattern;
use http::header::{HeaderMap, HeaderName};
use http::{Method, Request};
use std::net::{IpAddr, SocketAddr};
use vocab::Network;

/// Holds what a request must be.
#[derive(Clone, Debug)]
pub struct RouteMatch {
    /// For this host; any where there is none.
    pub host: Option<HostPattern>,
    /// At one of these paths.
    pub path: PathPattern,
    /// One of these; any where there is none.
    pub methods: Vec<Method>,
    /// With these fields.
    pub headers: Vec<(HeaderName, ValuePattern)>,
    /// With these names in its query.
    pub query: Vec<(Box<str>, ValuePattern)>,
    /// In one of these; any where there is none.
    pub clients: Vec<Network>,
    /// Sent over a connection from one of these; any where there is none.
    pub peers: Vec<Network>,
    /// Come in at one of these; any where there is none.
    pub listeners: Vec<SocketAddr>,
}

/// Holds what of a request is not in its request.
#[derive(Clone, Copy, Debug)]
pub struct MatchInput<'r> {
    /// The method that counts for routes.
    pub method: &'r Method,
    /// The fields.
    pub headers: &'r HeaderMap,
    /// The address of ours that it came to, if it is known. An unspecified one has a port alone.
    pub local: Option<SocketAddr>,
    /// The other end of its connection.
    pub peer: IpAddr,
}

impl<'r> MatchInput<'r> {
    /// Of a request that has been read.
    pub fn of<B>(request: &'r Request<B>, local: Option<SocketAddr>, peer: IpAddr) -> Self {
        static GET: Method = Method::GET;
        // A WebSocket over HTTP/2 is asked for by CONNECT, and is a GET to its server (RFC 8441
        // §5).
        let is_connect = *request.method() == Method::CONNECT;
        let method = if is_connect { &GET } else { request.method() };
        Self { method, headers: request.headers(), local, peer }
    }
}

impl RouteMatch {
    /// True if a request takes the route. What costs least is looked at first.
    pub fn matches(&self, request: &ParsedRequest, asked: MatchInput<'_>) -> bool {
        self.path.matches(request.plain_path())
            && (self.methods.is_empty() || self.methods.contains(asked.method))
            && came_in_at(&self.listeners, asked.local)
            && self.host.as_ref().is_none_or(|host| host.matches(request.host.as_name()))
            && is_in(&self.clients, request.client)
            && is_in(&self.peers, asked.peer)
            && self.headers.iter().all(|(name, value)| value.matches_field(name, asked.headers))
            && self.query.iter().all(|(name, value)| value.matches_query(name, request.split().1))
    }

    /// True if it is certain that it takes every request that `other` takes.
    pub fn covers(&self, other: &Self) -> bool {
        let hosts = match (&self.host, &other.host) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(own), Some(other)) => own.covers(other),
        };
        hosts
            && self.path.covers(&other.path)
            && is_wider(&self.methods, &other.methods)
            && is_wider(&self.clients, &other.clients)
            && is_wider(&self.peers, &other.peers)
            && is_wider(&self.listeners, &other.listeners)
            && self.headers.iter().all(|it| other.headers.contains(it))
            && self.query.iter().all(|it| other.query.contains(it))
    }
}

/// True if an address is in one of the networks, or there is none.
fn is_in(networks: &[Network], address: IpAddr) -> bool {
    networks.is_empty() || networks.iter().any(|network| network.contains(address))
}

/// True if a request that came to `local` came in at one of `listeners`, or at any where there is
/// none. Where it came in cannot be guessed: what is not known is none of them.
fn came_in_at(listeners: &[SocketAddr], local: Option<SocketAddr>) -> bool {
    if listeners.is_empty() {
        return true;
    }
    let Some(local) = local else { return false };
    let (ip, port) = (local.ip().to_canonical(), local.port());
    listeners.iter().any(|listener| {
        let own = listener.ip();
        // 0.0.0.0 is every address of IPv4, and [::] of either family.
        let is_any = own.is_unspecified() && (own.is_ipv6() || ip.is_ipv4());
        listener.port() == port && (is_any || ip.is_unspecified() || own.to_canonical() == ip)
    })
}

/// True if a list of what is allowed, empty for all, allows what `other` does.
fn is_wider<T: PartialEq>(own: &[T], other: &[T]) -> bool {
    own.is_empty() || !other.is_empty() && other.iter().all(|it| own.contains(it))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    #[test]
    fn a_listener_takes_what_came_to_its_address_and_port() {
        let at = |text: &str| Some(text.parse::<SocketAddr>().unwrap());
        let came = |listener: &str, local| came_in_at(&[at(listener).unwrap()], local);
        assert!(came_in_at(&[], at("192.0.2.1:80")) && came_in_at(&[], None));
        assert!(came("192.0.2.1:80", at("192.0.2.1:80")));
        assert!(came("192.0.2.1:80", at("[::ffff:192.0.2.1]:80")));
        assert!(!came("192.0.2.1:80", at("192.0.2.2:80")));
        assert!(!came("192.0.2.1:80", at("192.0.2.1:81")));
        assert!(
            came("0.0.0.0:80", at("192.0.2.1:80")) && !came("0.0.0.0:80", at("[2001:db8::1]:80"))
        );
        assert!(came("[::]:80", at("192.0.2.1:80")) && came("[::]:80", at("[2001:db8::1]:80")));
        // Of a URL alone the port is known.
        assert!(came("192.0.2.1:80", at("0.0.0.0:80")) && !came("192.0.2.1:80", None));
    }
}
