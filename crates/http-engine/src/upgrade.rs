//! Leaving HTTP for a byte stream: `CONNECT`, `Upgrade` and WebSocket (RFC 9110 §7.8, §9.3.6).
//!
//! Take the upgrade from the request before answering, answer 101 (or 2xx to `CONNECT`), then
//! await it in a task of its own. The stream is tokio's kind of byte stream, with whatever the
//! client sent early still in it.

use crate::watch::InFlight;
use hyper_util::rt::TokioIo;
use std::fmt;
use std::sync::Arc;

pub use hyper::ext::Protocol;
pub use hyper::upgrade::{OnUpgrade, Upgraded, on};

/// An upgraded connection as a tokio byte stream.
pub type UpgradedStream = TokioIo<Upgraded>;

/// The protocol that doors let through where their settings say nothing.
pub const WEBSOCKET: &str = "websocket";

/// Reason why a setting cannot allow a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolError {
    /// No `token` or `token/token` (RFC 9110 §7.8).
    NoToken,
    /// HTTP itself, or TLS, in which anything may be: requests inside would be read by nobody.
    CarriesRequests,
}

/// Checks a protocol that settings allow as one that connections may leave HTTP for.
pub fn check_protocol(text: &str) -> Result<(), ProtocolError> {
    let (name, version) = match text.split_once('/') {
        Some((name, version)) => (name, Some(version)),
        None => (text, None),
    };
    if !is_token(name) || version.is_some_and(|version| !is_token(version)) {
        return Err(ProtocolError::NoToken);
    }
    let is_http = ["h2c", "h2", "h3", "http", "https", "tls"];
    if is_http.iter().any(|it| name.eq_ignore_ascii_case(it)) {
        return Err(ProtocolError::CarriesRequests);
    }
    Ok(())
}

/// RFC 9110 §5.6.2.
fn is_token(text: &str) -> bool {
    let is_tchar = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_tchar)
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoToken => "this is no name of a protocol",
            Self::CarriesRequests => {
                "requests inside it would pass unread: no route, rule, password or limit would hold"
            }
        })
    }
}

impl std::error::Error for ProtocolError {}

/// Waits for the upgrade and hands out the byte stream.
pub async fn stream(upgrade: OnUpgrade) -> Result<UpgradedStream, hyper::Error> {
    upgrade.await.map(TokioIo::new)
}

/// Keeps the connection of an HTTP/2 `CONNECT` (RFC 9113 §8.5) counted as busy for as long as its
/// tunnel lasts: an extension of the request, to be kept with the tunnel.
#[derive(Clone)]
pub struct Held(#[expect(dead_code, reason = "it is there to be dropped")] Arc<InFlight>);

impl Held {
    pub(crate) fn new(busy: InFlight) -> Self {
        Self(Arc::new(busy))
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Held")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_is_no_protocol_to_leave_http_for() {
        for allowed in ["websocket", "tcp", "SPDY/3.1", "echo"] {
            assert_eq!(check_protocol(allowed), Ok(()), "{allowed}");
        }
        for http in ["h2c", "H2C/1", "HTTP/2.0", "TLS/1.2", "h2"] {
            assert_eq!(check_protocol(http), Err(ProtocolError::CarriesRequests), "{http}");
        }
        for none in ["", "a b", "a,b", "a/", "/a", "a/b/c"] {
            assert_eq!(check_protocol(none), Err(ProtocolError::NoToken), "{none:?}");
        }
    }
}
