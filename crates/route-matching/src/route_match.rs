//! Conditions under which a request takes a route: host, path, method, fields, query, client.
//!
//! All that a route writes must hold. Which routes are looked at is the table's affair, and what is
//! done with the one found is its caller's. Made from settings, also to check them.

use crate::host_pattern::HostPattern;
use crate::path_pattern::PathPattern;
use crate::request::ParsedRequest;
use crate::value_pattern::ValuePattern;
use http::header::{HeaderMap, HeaderName};
use http::{Method, Request};
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
}

/// Holds what of a request is not in its request.
#[derive(Clone, Copy, Debug)]
pub struct MatchInput<'r> {
    /// The method that counts for routes.
    pub method: &'r Method,
    /// The fields.
    pub headers: &'r HeaderMap,
}

impl<'r> MatchInput<'r> {
    /// Of a request that has been read.
    pub fn of<B>(request: &'r Request<B>) -> Self {
        static GET: Method = Method::GET;
        // A WebSocket over HTTP/2 is asked for by CONNECT, and is a GET to its server (RFC 8441
        // §5).
        let is_connect = *request.method() == Method::CONNECT;
        let method = if is_connect { &GET } else { request.method() };
        Self { method, headers: request.headers() }
    }
}

impl RouteMatch {
    /// True if a request takes the route. What costs least is looked at first.
    pub fn matches(&self, request: &ParsedRequest, asked: MatchInput<'_>) -> bool {
        self.path.matches(request.plain_path())
            && (self.methods.is_empty() || self.methods.contains(asked.method))
            && self.host.as_ref().is_none_or(|host| host.matches(request.host.as_name()))
            && (self.clients.is_empty()
                || self.clients.iter().any(|network| network.contains(request.client)))
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
            && self.headers.iter().all(|it| other.headers.contains(it))
            && self.query.iter().all(|it| other.query.contains(it))
    }
}

/// True if a list of what is allowed, empty for all, allows what `other` does.
fn is_wider<T: PartialEq>(own: &[T], other: &[T]) -> bool {
    own.is_empty() || !other.is_empty() && other.iter().all(|it| own.contains(it))
}
