//! The gate: host names, origins, tokens, sessions.
//!
//! A request is refused under a host name that is none of ours (DNS rebinding), a change if it
//! comes from another page (cross-site request forgery), and everything but the dashboard's files
//! without a token or a session. Asked by the guard.

use crate::admin_scheme::AdminScheme;
use crate::api_request::ApiRequest;
use crate::caller::ApiCaller;
use crate::credentials::{CredentialStore, unauthorised};
use crate::refused::ApiRefusal;
use http::header::{AUTHORIZATION, COOKIE, HOST, HeaderMap, HeaderName, ORIGIN};
use http::{Method, StatusCode, Uri};
use std::net::IpAddr;
use std::sync::{PoisonError, RwLock};
use vocab::DomainName;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The gate.
pub(crate) struct AuthGate {
    pub(crate) credentials: CredentialStore,
    names: RwLock<OwnNames>,
}

/// Addresses and names that browsers may call us by.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnNames {
    /// Addresses that are listened on.
    pub(crate) listening: Vec<IpAddr>,
    pub(crate) hosts: Vec<DomainName>,
}

impl AuthGate {
    /// The gate of the listeners at these addresses, under these names.
    pub(crate) fn new(credentials: CredentialStore, names: OwnNames) -> Self {
        Self { credentials, names: RwLock::new(names) }
    }

    /// Takes other addresses and names.
    pub(crate) fn set_names(&self, names: OwnNames) {
        *self.names.write().unwrap_or_else(PoisonError::into_inner) = names;
    }

    /// Returns whether the request calls us by a name of ours.
    pub(crate) fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), ApiRefusal> {
        let authority = host_of(uri, headers).unwrap_or_default();
        let host = bare_host(authority);
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        let known = if let Ok(address) = host.parse::<IpAddr>() {
            // A page cannot rebind an address; but one that is not ours is not meant for us.
            let is_ours = |own: &IpAddr| own.is_unspecified() || *own == address;
            address.is_loopback() || names.listening.iter().any(is_ours)
        } else {
            let own = |name: &DomainName| name.as_str().eq_ignore_ascii_case(host);
            host.eq_ignore_ascii_case("localhost") || names.hosts.iter().any(own)
        };
        drop(names);
        if known {
            return Ok(());
        }
        Err(ApiRefusal::new(
            StatusCode::MISDIRECTED_REQUEST,
            format!("{host:?} is no name of this Tidegate"),
            "call it by its address, or add the name to `admin.hosts` in the configuration",
        ))
    }

    /// Returns whether a request that would change something comes from our own page, or from a
    /// program that sends the token itself.
    pub(crate) fn check_origin(
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        scheme: AdminScheme,
    ) -> Result<(), ApiRefusal> {
        if method.is_safe() {
            return Ok(());
        }
        let text =
            |name| headers.get(name).and_then(|value: &http::HeaderValue| value.to_str().ok());
        let own_page = match (text(FETCH_SITE), text(ORIGIN)) {
            (Some(site), _) => site == "same-origin",
            (None, Some(origin)) => {
                let host = host_of(uri, headers).unwrap_or_default();
                origin
                    .strip_prefix(scheme.prefix())
                    .is_some_and(|rest| rest.eq_ignore_ascii_case(host))
            }
            // A program, or a browser too old to name the page: harmless as long as nothing it
            // sends by itself lets it in.
            (None, None) => !headers.contains_key(COOKIE),
        };
        if own_page || bearer(headers).is_some() {
            return Ok(());
        }
        Err(ApiRefusal::new(
            StatusCode::FORBIDDEN,
            "a change can only be asked for by the dashboard's own page",
            "open the dashboard by its address, or send the token as `Authorization: Bearer`",
        ))
    }

    /// The caller who shows a token or a session.
    pub(crate) fn check_pass(
        &self,
        headers: &HeaderMap,
        asked: ApiRequest,
    ) -> Result<ApiCaller, ApiRefusal> {
        if let Some(guess) = bearer(headers) {
            return self.credentials.bearer(guess, asked);
        }
        let session = session_of(headers, asked.scheme);
        let caller = session.and_then(|id| self.credentials.session(id, asked.now));
        caller.ok_or_else(|| unauthorised("no token and no session"))
    }

    /// Returns whether the request may read the metrics page: by a token for it, or by what opens
    /// everything.
    pub(crate) fn check_metrics_pass(
        &self,
        headers: &HeaderMap,
        asked: ApiRequest,
    ) -> Result<(), ApiRefusal> {
        if bearer(headers).is_some_and(|guess| self.credentials.opens_metrics(guess, asked.now)) {
            return Ok(());
        }
        self.check_pass(headers, asked).map(drop)
    }

    /// The cookie of a session, or one that is over at once.
    pub(crate) fn cookie(id: &str, life_s: u64, scheme: AdminScheme) -> String {
        let (name, secure) = (scheme.cookie_name(), scheme.cookie_mark());
        format!("{name}={id}; Path=/; HttpOnly; SameSite=Strict; Max-Age={life_s}{secure}")
    }

    /// Ends the request's session, if it has one, and gives the cookie that forgets it. Writes a
    /// file.
    pub(crate) fn end_session(&self, headers: &HeaderMap, scheme: AdminScheme) -> String {
        if let Some(id) = session_of(headers, scheme) {
            self.credentials.sessions.end(id);
        }
        Self::cookie("", 0, scheme)
    }
}

/// The authority the request was sent to (RFC 9112 §3.2: the target's, else the Host field).
pub(crate) fn host_of<'r>(uri: &'r Uri, headers: &'r HeaderMap) -> Option<&'r str> {
    match uri.authority() {
        Some(authority) => Some(authority.as_str()),
        None => headers.get(HOST)?.to_str().ok(),
    }
}

/// The host that a request names in its field, or nothing: for programs and browsers over HTTP/1.
pub(crate) fn host_field(headers: &HeaderMap) -> &str {
    headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default()
}

/// An authority without port and brackets.
fn bare_host(authority: &str) -> &str {
    match authority.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or(v6),
        None => authority.rsplit_once(':').map_or(authority, |(host, _)| host),
    }
}

/// The token of `Authorization: Bearer` (RFC 6750 §2.1). A page elsewhere cannot have it sent.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// The session that a request names, whether there is one or not.
pub(crate) fn session_of(headers: &HeaderMap, scheme: AdminScheme) -> Option<&str> {
    cookie_of(headers, scheme.cookie_name())
}

/// The value of a cookie.
pub(crate) fn cookie_of<'h>(headers: &'h HeaderMap, wanted: &str) -> Option<&'h str> {
    headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|cookies| cookies.split(';'))
        .filter_map(|cookie| cookie.trim().split_once('='))
        .find_map(|(name, value)| (name == wanted).then_some(value))
}
