//! A line that waits for its answer: what a request says is kept until its last byte is sent.

use crate::entry::{AccessLogEntry, protocol};
use crate::log::AccessLog;
use http::header::HOST;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, Version, request};
use std::net::IpAddr;
use std::sync::Arc;
use vocab::{Action, Caching, Door, Now, Source};

/// The head of a request.
#[derive(Clone, Copy, Debug)]
pub struct RequestHead<'r> {
    method: &'r Method,
    uri: &'r Uri,
    version: Version,
    headers: &'r HeaderMap,
}

/// A line that waits for its answer.
#[derive(Debug)]
pub struct PendingLine {
    log: Arc<AccessLog>,
    at: Now,
    scheme: &'static str,
    method: Method,
    target: LoggedTarget,
    version: Version,
    host: String,
    user: Option<Arc<str>>,
    fields: Vec<(HeaderName, HeaderValue)>,
}

/// The target of a request, as it was sent.
#[derive(Debug)]
enum LoggedTarget {
    Path(PathAndQuery),
    Text(String),
}

/// The end of a request.
#[derive(Clone, Copy, Debug)]
pub struct LineEnd {
    /// The door.
    pub door: Door,
    /// The client.
    pub client: IpAddr,
    /// Status of the answer.
    pub status: u16,
    /// Bytes of body sent.
    pub bytes: u64,
    /// Microseconds until its last byte was sent.
    pub duration_us: u64,
    /// Decision of the policy.
    pub action: Action,
    /// Source of the answer.
    pub source: Source,
    /// Doings of the cache.
    pub caching: Caching,
}

impl<'r, B> From<&'r Request<B>> for RequestHead<'r> {
    fn from(request: &'r Request<B>) -> Self {
        let (method, uri, headers) = (request.method(), request.uri(), request.headers());
        Self { method, uri, version: request.version(), headers }
    }
}

impl<'r> From<&'r request::Parts> for RequestHead<'r> {
    fn from(head: &'r request::Parts) -> Self {
        Self { method: &head.method, uri: &head.uri, version: head.version, headers: &head.headers }
    }
}

impl PendingLine {
    /// Begins the line of a request, where there is a log for it.
    pub fn begin<'r>(
        log: Option<&Arc<AccessLog>>,
        request: impl Into<RequestHead<'r>>,
        scheme: &'static str,
        at: Now,
    ) -> Option<Box<Self>> {
        let log = log?;
        let RequestHead { method, uri, version, headers } = request.into();
        let kept = log.headers().iter();
        let kept = kept.filter_map(|name| Some((name.clone(), headers.get(name)?.clone())));
        Some(Box::new(Self {
            at,
            scheme,
            method: method.clone(),
            target: LoggedTarget::Path(PathAndQuery::from_static("*")).of(uri),
            version,
            host: host(uri, headers),
            user: None,
            fields: kept.collect(),
            log: Arc::clone(log),
        }))
    }

    /// Writes the absolute URL or the authority as the proxy was sent it, without a password.
    pub fn at_proxy(&mut self, uri: &Uri) {
        let Some(authority) = uri.authority() else { return };
        let authority = authority.as_str().rsplit('@').next().unwrap_or_default();
        let path = uri.path_and_query().map_or("", PathAndQuery::as_str);
        self.target = LoggedTarget::Text(match uri.scheme_str() {
            Some(scheme) => [scheme, "://", authority, path].concat(),
            None => authority.to_owned(),
        });
    }

    /// Notes the name that the client has proven.
    pub fn user(&mut self, user: Option<Arc<str>>) {
        self.user = user;
    }

    /// Writes the line.
    pub fn done(&self, end: &LineEnd) {
        let kept = |name: &str| self.fields.iter().find(|(it, _)| it.as_str() == name);
        let field = |name: &str| kept(name).map(|(_, value)| value.as_bytes());
        self.log.write(&AccessLogEntry {
            door: end.door,
            client: end.client,
            user: self.user.as_deref().unwrap_or(""),
            unix_ms: self.at.unix_ms,
            method: self.method.as_str(),
            target: match &self.target {
                LoggedTarget::Path(path) => path.as_str(),
                LoggedTarget::Text(text) => text,
            },
            protocol: protocol(self.version),
            scheme: self.scheme,
            host: &self.host,
            status: end.status,
            bytes: end.bytes,
            duration_us: end.duration_us,
            action: end.action,
            source: end.source,
            caching: end.caching,
            field: &field,
        });
    }
}

impl LoggedTarget {
    /// The target of `uri`, or this where it has none.
    fn of(self, uri: &Uri) -> Self {
        match (uri.path_and_query(), uri.authority()) {
            (Some(path), _) => Self::Path(path.clone()),
            (None, Some(authority)) => Self::Text(authority.as_str().to_owned()),
            (None, None) => self,
        }
    }
}

/// The host that a request is for, without a port.
fn host(uri: &Uri, headers: &HeaderMap) -> String {
    if let Some(host) = uri.host() {
        return host.to_ascii_lowercase();
    }
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let host = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|it| it.is_ascii_digit()) => name,
        _ => host,
    };
    host.to_ascii_lowercase()
}
