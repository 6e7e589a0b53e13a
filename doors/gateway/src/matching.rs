//! What a request must be to take a route: host, path, method, header fields, query, client.
//!
//! All that a route writes must hold. Which routes are looked at is the table's affair, and what is
//! done with the one found is `decide`'s. Pure. Made from settings by `route`, and by `settings` to
//! check.

mod host;
mod path;
mod table;
mod value;

pub(crate) use self::host::HostPattern;
pub(crate) use self::path::PathPattern;
pub(crate) use self::table::HostTable;
pub(crate) use self::value::ValuePattern;

use crate::request::GatewayRequest;
use http::header::{HeaderMap, HeaderName};
use http::{Method, Request};
use regex::{Regex, RegexBuilder};
use vocab::Network;

/// What begins a regular expression where a plain text could stand.
pub(crate) const REGEX_SIGN: char = '~';
/// What one compiled expression may take, in bytes.
const REGEX_BYTES_MAX: usize = 256 << 10;

/// A regular expression; equal to another of the same text.
#[derive(Clone, Debug)]
pub(crate) struct MatchExpression(Regex);

/// Holds what a request must be.
#[derive(Clone, Debug)]
pub(crate) struct RouteMatch {
    pub(crate) host: Option<HostPattern>,
    pub(crate) path: PathPattern,
    /// One of these; any where there is none.
    pub(crate) methods: Vec<Method>,
    pub(crate) headers: Vec<(HeaderName, ValuePattern)>,
    pub(crate) query: Vec<(Box<str>, ValuePattern)>,
    /// In one of these; any where there is none.
    pub(crate) clients: Vec<Network>,
}

/// Holds what of a request is not in its wish.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MatchInput<'r> {
    pub(crate) method: &'r Method,
    pub(crate) headers: &'r HeaderMap,
}

impl<'r> MatchInput<'r> {
    /// Of a request that has been read.
    pub(crate) fn of<B>(request: &'r Request<B>) -> Self {
        static GET: Method = Method::GET;
        // A WebSocket over HTTP/2 is asked for by CONNECT, and is a GET to its server (RFC 8441
        // §5).
        let is_connect = *request.method() == Method::CONNECT;
        let method = if is_connect { &GET } else { request.method() };
        Self { method, headers: request.headers() }
    }
}

impl MatchExpression {
    /// Compiles a text.
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        let regex = RegexBuilder::new(text).size_limit(REGEX_BYTES_MAX).build();
        regex.map(Self).map_err(|why| format!("{text:?} cannot be used: {why}"))
    }

    /// True if a part of `text` matches.
    pub(crate) fn finds(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    /// The expression itself.
    pub(crate) const fn regex(&self) -> &Regex {
        &self.0
    }
}

impl PartialEq for MatchExpression {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl Eq for MatchExpression {}

impl RouteMatch {
    /// True if a request takes the route. What costs least is looked at first.
    pub(crate) fn fits(&self, wish: &GatewayRequest, asked: MatchInput<'_>) -> bool {
        self.path.fits(wish.plain_path())
            && (self.methods.is_empty() || self.methods.contains(asked.method))
            && self.host.as_ref().is_none_or(|host| host.fits(wish.host.as_name()))
            && (self.clients.is_empty()
                || self.clients.iter().any(|network| network.contains(wish.client)))
            && self.headers.iter().all(|(name, value)| value.fits_field(name, asked.headers))
            && self.query.iter().all(|(name, value)| value.fits_query(name, wish.split().1))
    }

    /// True if it is certain that it takes every request that `other` takes.
    pub(crate) fn covers(&self, other: &Self) -> bool {
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
