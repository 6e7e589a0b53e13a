//! Intercepted connections: what is asked for over them, and whether that is where they were meant
//! to go.
//!
//! A client that knows of no proxy says the host itself, and may say any ("Host header forgery",
//! CVE-2009-0801). So a name counts for cache, parents and the choice of an address only where it
//! leads to the address that was connected to; else the request goes to that address, past the
//! cache, and the policy is asked about the address too. It accepts nothing. Called by
//! `proxy_request` and `host_check`.

use crate::connection::{HostStanding, InterceptedConnection, InterceptedProtocol};
use crate::refusal::ProxyRefusal;
use crate::setup::ProxySetup;
use crate::target::{self, BadTarget, ProxyTarget};
use http::header::HOST;
use http::uri::PathAndQuery;
use http::{HeaderMap, Method, Uri};
use origins::{DialError, DialGuard, Dialer, Origin, OriginScheme, UrlHost, passed_us};
use std::net::{IpAddr, SocketAddr};
use std::sync::PoisonError;
use transport::is_own_address;

impl InterceptedConnection {
    /// Reads the target of a request of `client` over it, as servers read it (RFC 9112 §3.3).
    pub(crate) fn target(
        &self,
        setup: &ProxySetup,
        client: IpAddr,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<ProxyTarget, ProxyRefusal> {
        let meant = self.meant.filter(|it| !is_own_listener(setup, *it));
        let meant = meant.ok_or(ProxyRefusal::NotIntercepted)?;
        // The packet filter has brought here what we have sent ourselves. Asked for once more, it
        // would wait for itself.
        if passed_us(headers) > 0 && is_own_address(client) {
            return Err(ProxyRefusal::Loop);
        }
        let target = match (self.spoken, method) {
            (InterceptedProtocol::Tls, _) => target::read(method, uri),
            (InterceptedProtocol::Http, &Method::CONNECT) => Err(BadTarget::Connect),
            (InterceptedProtocol::Http, _) => plain_target(meant, uri, headers),
        };
        match target.map_err(ProxyRefusal::Target)? {
            ProxyTarget::Fetch { .. } if !setup.fetches_from(meant.port()) => {
                Err(ProxyRefusal::Port(method.clone(), meant.port()))
            }
            target => Ok(target),
        }
    }

    /// Learns whether `origin` is where the client has connected to. An error is an alias that
    /// `guard` does not permit.
    pub(crate) async fn verify(
        &self,
        dialer: &Dialer,
        origin: &Origin,
        guard: &dyn DialGuard,
    ) -> Result<HostStanding, DialError> {
        let Some(meant) = self.meant.filter(|meant| meant.port() == origin.port) else {
            return Ok(HostStanding::Unverified);
        };
        if self.is_known(&origin.host) {
            return Ok(HostStanding::Verified);
        }
        let found = match dialer.addresses(&origin.host, guard).await {
            Ok(found) => found,
            Err(why @ DialError::CnameBlocked(_)) => return Err(why),
            // Nobody says where it leads.
            Err(_) => Vec::new(),
        };
        if !found.iter().any(|it| it.to_canonical() == meant.ip().to_canonical()) {
            return Ok(HostStanding::Unverified);
        }
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(origin.host.clone());
        Ok(HostStanding::Verified)
    }

    fn is_known(&self, host: &UrlHost) -> bool {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).as_ref() == Some(host)
    }
}

/// The target of a request in the clear to `meant`.
fn plain_target(
    meant: SocketAddr,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<ProxyTarget, BadTarget> {
    let scheme = OriginScheme::Http;
    if let Some(written) = uri.scheme_str().filter(|written| *written != scheme.as_str()) {
        return Err(BadTarget::Scheme(written.to_owned()));
    }
    let path = uri.path_and_query().map_or("/", PathAndQuery::as_str);
    if path == "*" {
        return Err(BadTarget::Asterisk);
    }
    let authority = match uri.authority() {
        Some(authority) => Some(authority.as_str()),
        None => headers.get(HOST).map(|host| host.to_str().unwrap_or("\u{fffd}")),
    };
    let origin = match authority {
        Some(authority) => Origin::from_authority(scheme, authority).map_err(BadTarget::Host)?,
        // HTTP/1.0 needs none.
        None => Origin { scheme, host: UrlHost::Address(meant.ip()), port: meant.port() },
    };
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    Ok(ProxyTarget::Fetch { origin, path })
}

/// True for an address at which this door listens itself: whoever was led there would come back.
fn is_own_listener(setup: &ProxySetup, meant: SocketAddr) -> bool {
    let mut listening = setup.settings.listen.iter().map(|listen| listen.address);
    listening.any(|ours| {
        ours.port() == meant.port()
            && (ours.ip().to_canonical() == meant.ip().to_canonical()
                || ours.ip().is_unspecified() && is_own_address(meant.ip()))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    fn read(uri: &str, host: Option<&str>) -> Result<ProxyTarget, BadTarget> {
        let headers = host.map(|host| (HOST, host.parse().unwrap()));
        let meant = "192.0.2.7:80".parse().unwrap();
        plain_target(meant, &uri.parse().unwrap(), &HeaderMap::from_iter(headers))
    }

    #[test]
    fn a_request_is_read_as_its_server_would() {
        let target = |origin: &str, path: &str| {
            Ok(ProxyTarget::Fetch { origin: origin.parse().unwrap(), path: path.into() })
        };
        assert_eq!(read("/x?y", Some("A.example")), target("http://a.example", "/x?y"));
        assert_eq!(read("/", Some("a.example:81")), target("http://a.example:81", "/"));
        assert_eq!(read("/x", None), target("http://192.0.2.7", "/x"));
        // The URL counts where there is a whole one (RFC 9112 §3.2.2).
        let whole = read("http://b.example/x", Some("a.example"));
        assert_eq!(whole, target("http://b.example", "/x"));
    }

    #[test]
    fn what_is_no_request_to_a_server_is_refused() {
        let scheme = BadTarget::Scheme("https".into());
        assert_eq!(read("https://a.example/", Some("a.example")), Err(scheme));
        assert_eq!(read("*", Some("a.example")), Err(BadTarget::Asterisk));
        for host in ["", "a b", "me@a.example", "a.example:0", "a.example/x"] {
            assert!(matches!(read("/", Some(host)), Err(BadTarget::Host(_))), "{host:?}");
        }
    }
}
