//! A request as routes and rules see it: read once, its path in normal form.
//!
//! Made by the door of what a client sends, or of a path that a server names. It holds neither
//! method nor fields ([`MatchInput`](crate::MatchInput)). Read by `route_match`, `readings` and the
//! rules of the door.

use crate::path::{BadPath, EncodedSlash, RequestPath, SlashRule, depends_on_slashes};
use http::uri::PathAndQuery;
use std::net::IpAddr;
use vocab::{DomainName, RequestKind};

/// Rules for slashes that the routes of a gateway have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlashRules {
    /// All by the default: encoded ones are refused, several are one.
    Alike,
    /// Each by its own.
    ByRoute,
}

/// Holds what a client wants, once it is understood.
#[derive(Clone, Debug)]
pub struct ParsedRequest {
    /// Address of the client.
    pub client: IpAddr,
    /// The host that it asks for; the root where it names none.
    pub host: DomainName,
    /// The host of the page that makes the request.
    pub page: Option<DomainName>,
    /// Kind of thing that is asked for.
    pub kind: RequestKind,
    /// Path and query; the path in normal form.
    pub path: String,
    /// The path percent-decoded, where that is another text.
    pub plain: Option<String>,
    /// For the policy and the ledger: with that path.
    pub url: String,
    /// The path as it came, where routes read its slashes by rules of their own.
    pub raw: Option<Box<str>>,
    /// Origin of the path.
    pub path_source: PathSource,
}

/// Tells who has chosen the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathSource {
    /// The client, in its request.
    Client,
    /// A server of ours, in its answer.
    Server,
}

/// Path and query of a request, read.
#[derive(Clone, Debug)]
pub struct RequestAim {
    /// Path and query; the path in normal form.
    pub path: String,
    /// The path decoded, where that is another text.
    pub decoded: Option<String>,
    /// The path as it came, where routes read its slashes by rules of their own.
    pub raw: Option<Box<str>>,
}

impl RequestAim {
    /// Reads path and query. Where routes have rules for slashes, and it depends on them, all
    /// slashes are decoded and merged until a route is found: whoever reads it otherwise reads less
    /// of them.
    pub fn read(path: &str, query: Option<&str>, rules: SlashRules) -> Result<Self, BadPath> {
        // An absolute URL without a path asks for the root (RFC 9112 §3.2.1).
        let path = if path.is_empty() { "/" } else { path };
        let by_route = rules == SlashRules::ByRoute && depends_on_slashes(path);
        let encoded = if by_route { EncodedSlash::Decode } else { EncodedSlash::Refuse };
        let read = RequestPath::read_by(path, SlashRule { encoded, ..SlashRule::default() })?;
        let (mut text, plain) = read.into_texts();
        if let Some(query) = query {
            text.push('?');
            text.push_str(query);
        }
        Ok(Self { path: text, decoded: plain, raw: by_route.then(|| path.into()) })
    }
}

impl ParsedRequest {
    /// The same at another path and query that a server names.
    pub fn with_path(&self, path: &str, rules: SlashRules) -> Result<Self, BadPath> {
        let target: PathAndQuery = path.parse().map_err(|_| BadPath::NotAPath)?;
        let RequestAim { path, decoded: plain, raw } =
            RequestAim::read(target.path(), target.query(), rules)?;
        let url = self.url_of(&path);
        Ok(Self { path, plain, url, raw, path_source: PathSource::Server, ..self.clone() })
    }

    /// The same as a server sees it that takes the parameters of segments off; none where there are
    /// none. `rule`: that by which the path was read.
    pub(crate) fn without_parameters(&self, rule: SlashRule) -> Option<Self> {
        let bare = RequestPath::without_parameters(self.split().0, rule)?;
        Some(self.at(bare))
    }

    /// The same with its path, which came as `raw`, read by another rule.
    pub fn reread(&self, raw: &str, rule: SlashRule) -> Result<Self, BadPath> {
        RequestPath::read_by(raw, rule).map(|path| self.at(path))
    }

    /// The same at another path.
    fn at(&self, path: RequestPath) -> Self {
        let (mut text, plain) = path.into_texts();
        if let Some((_, query)) = self.path.split_once('?') {
            text.push('?');
            text.push_str(query);
        }
        let url = self.url_of(&text);
        Self { path: text, plain, url, ..self.clone() }
    }

    /// Returns its URL, were this its path and query.
    fn url_of(&self, path: &str) -> String {
        let before = self.url.strip_suffix(&self.path).unwrap_or("");
        format!("{before}{path}")
    }

    /// The path percent-decoded, which routes are held against.
    pub fn plain_path(&self) -> &str {
        self.plain.as_deref().unwrap_or_else(|| self.split().0)
    }

    /// The path in normal form, and the query or nothing.
    pub fn split(&self) -> (&str, &str) {
        self.path.split_once('?').unwrap_or((&self.path, ""))
    }
}
