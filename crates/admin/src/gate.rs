//! Who may come in: host names, origins, the token, sessions.
//!
//! A request is refused under a host name that is none of ours (DNS rebinding), a change if it comes
//! from another page (cross-site request forgery), and everything but the dashboard's files without
//! the token or a session. Wrong tokens are rationed for each client. Asked by the guard.

use crate::refused::Refused;
use crate::token::{Token, TokenError, random_hex};
use http::header::{AUTHORIZATION, COOKIE, HOST, HeaderMap, HeaderName, ORIGIN};
use http::{Method, StatusCode, Uri};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use vocab::{DomainName, Now};

/// The session's cookie.
pub(crate) const COOKIE_NAME: &str = "tidegate_session";
/// How long a session lasts.
pub(crate) const SESSION_SECONDS: u64 = 30 * 86_400;
/// Sessions at once; the oldest ends for a new one.
const SESSIONS_MAX: usize = 256;
/// Wrong tokens a client may send in a window.
const GUESSES_MAX: u32 = 10;
const GUESS_WINDOW_MS: u64 = 60_000;
/// Clients whose guesses are counted at once; at the cap all unknown ones wait.
const GUESSERS_MAX: usize = 1024;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The gate.
pub(crate) struct Gate {
    token: Token,
    listen: SocketAddr,
    hosts: Vec<DomainName>,
    sessions: Mutex<HashMap<Box<str>, u64>>,
    guesses: Mutex<HashMap<IpAddr, Guesses>>,
}

/// Wrong tokens of one client since the window began.
struct Guesses {
    count: u32,
    since_ms: u64,
}

/// How a request showed that it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    /// By the token itself, which no foreign page can send.
    Token,
    /// By the cookie, which a browser sends by itself.
    Session,
}

impl Gate {
    pub(crate) fn new(token: Token, listen: SocketAddr, hosts: Vec<DomainName>) -> Self {
        Self { token, listen, hosts, sessions: Mutex::default(), guesses: Mutex::default() }
    }

    /// Whether the request calls us by a name of ours.
    pub(crate) fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refused> {
        let authority = host_of(uri, headers).unwrap_or_default();
        let host = bare_host(authority);
        let known = if let Ok(address) = host.parse::<IpAddr>() {
            // A page cannot rebind an address; but one that is not ours is not meant for us.
            address.is_loopback()
                || self.listen.ip().is_unspecified()
                || self.listen.ip() == address
        } else {
            let own = |name: &DomainName| name.as_str().eq_ignore_ascii_case(host);
            host.eq_ignore_ascii_case("localhost") || self.hosts.iter().any(own)
        };
        if known {
            return Ok(());
        }
        Err(Refused::new(
            StatusCode::MISDIRECTED_REQUEST,
            format!("{host:?} is no name of this Tidegate"),
            "call it by its address, or add the name to `admin.hosts` in the configuration",
        ))
    }

    /// Whether a request that would change something comes from our own page, or from a program
    /// that sends the token itself.
    pub(crate) fn check_origin(
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<(), Refused> {
        if method.is_safe() {
            return Ok(());
        }
        let text =
            |name| headers.get(name).and_then(|value: &http::HeaderValue| value.to_str().ok());
        let own_page = match (text(FETCH_SITE), text(ORIGIN)) {
            (Some(site), _) => site == "same-origin",
            (None, Some(origin)) => {
                let host = host_of(uri, headers).unwrap_or_default();
                origin.strip_prefix("http://").is_some_and(|rest| rest.eq_ignore_ascii_case(host))
            }
            // A program, or a browser too old to name the page: harmless as long as nothing it
            // sends by itself lets it in.
            (None, None) => !headers.contains_key(COOKIE),
        };
        if own_page || bearer(headers).is_some() {
            return Ok(());
        }
        Err(Refused::new(
            StatusCode::FORBIDDEN,
            "a change can only be asked for by the dashboard's own page",
            "open the dashboard by its address, or send the token as `Authorization: Bearer`",
        ))
    }

    /// Whether the request shows the token or a session.
    pub(crate) fn check_pass(
        &self,
        headers: &HeaderMap,
        client: IpAddr,
        now: Now,
    ) -> Result<Pass, Refused> {
        if let Some(guess) = bearer(headers) {
            return self.check_token(guess, client, now).map(|()| Pass::Token);
        }
        if session_of(headers).is_some_and(|id| self.has_session(id, now)) {
            return Ok(Pass::Session);
        }
        Err(unauthorised("no token and no session"))
    }

    /// Whether this is the token; a client that guesses too often has to wait, right or wrong.
    pub(crate) fn check_token(&self, guess: &str, client: IpAddr, now: Now) -> Result<(), Refused> {
        let client = customer(client);
        let mut guesses = lock(&self.guesses);
        let over = |guesses: &Guesses| now.mono_ms >= guesses.since_ms + GUESS_WINDOW_MS;
        if guesses.len() >= GUESSERS_MAX && !guesses.contains_key(&client) {
            guesses.retain(|_, guesses| !over(guesses));
        }
        let known = guesses.get(&client).filter(|guesses| !over(guesses));
        if known.is_some_and(|known| known.count >= GUESSES_MAX)
            || (known.is_none() && guesses.len() >= GUESSERS_MAX)
        {
            return Err(Refused::new(
                StatusCode::TOO_MANY_REQUESTS,
                "too many wrong tokens",
                "wait a minute; the token is the text of admin.token in the state folder",
            ));
        }
        if self.token.is(guess) {
            return Ok(());
        }
        let entry = guesses.entry(client).or_insert(Guesses { count: 0, since_ms: now.mono_ms });
        if over(entry) {
            *entry = Guesses { count: 0, since_ms: now.mono_ms };
        }
        entry.count += 1;
        Err(unauthorised("this is not the token"))
    }

    /// Begins a session and gives its cookie.
    pub(crate) fn begin_session(&self, now: Now) -> Result<String, TokenError> {
        let id = random_hex()?;
        let mut sessions = lock(&self.sessions);
        sessions.retain(|_, until_ms| *until_ms > now.unix_ms);
        if sessions.len() >= SESSIONS_MAX {
            let oldest = sessions.iter().min_by_key(|(_, until_ms)| **until_ms);
            if let Some(id) = oldest.map(|(id, _)| id.clone()) {
                sessions.remove(&id);
            }
        }
        sessions.insert(id.as_str().into(), now.unix_ms + SESSION_SECONDS * 1000);
        Ok(format!(
            "{COOKIE_NAME}={id}; Path=/; HttpOnly; SameSite=Strict; Max-Age={SESSION_SECONDS}"
        ))
    }

    /// Ends the request's session, if it has one, and gives the cookie that forgets it.
    pub(crate) fn end_session(&self, headers: &HeaderMap) -> String {
        if let Some(id) = session_of(headers) {
            lock(&self.sessions).remove(id);
        }
        format!("{COOKIE_NAME}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0")
    }

    fn has_session(&self, id: &str, now: Now) -> bool {
        lock(&self.sessions).get(id).is_some_and(|until_ms| *until_ms > now.unix_ms)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn unauthorised(error: &str) -> Refused {
    Refused::new(
        StatusCode::UNAUTHORIZED,
        error,
        "log in with the text of admin.token in the state folder, or send it as \
         `Authorization: Bearer`",
    )
}

/// The authority the request was sent to (RFC 9112 §3.2: the target's, else the Host field).
fn host_of<'r>(uri: &'r Uri, headers: &'r HeaderMap) -> Option<&'r str> {
    match uri.authority() {
        Some(authority) => Some(authority.as_str()),
        None => headers.get(HOST)?.to_str().ok(),
    }
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
pub(crate) fn session_of(headers: &HeaderMap) -> Option<&str> {
    headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|cookies| cookies.split(';'))
        .filter_map(|cookie| cookie.trim().split_once('='))
        .find_map(|(name, value)| (name == COOKIE_NAME).then_some(value))
}

/// The client behind an address: an IPv6 customer has a whole /64 to guess from.
fn customer(client: IpAddr) -> IpAddr {
    match client.to_canonical() {
        IpAddr::V4(v4) => IpAddr::V4(v4),
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & (u128::MAX << 64))),
    }
}
