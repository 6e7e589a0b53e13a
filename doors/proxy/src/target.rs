//! The target of a proxy request: the form of its target (RFC 9112 §3.2).

use crate::local_endpoints::LocalEndpoint;
use http::{Method, Uri};
use origins::{Origin, OriginError, OriginScheme, UrlHost};
use std::fmt;

/// Tells what is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProxyTarget {
    /// Absolute-form: fetch this from there.
    Fetch {
        /// The server.
        origin: Origin,
        /// Path and query, as they go to the server.
        path: String,
    },
    /// `CONNECT`: carry bytes to this host and port.
    Tunnel(Origin),
    /// Origin-form: the proxy itself is asked.
    Local(LocalEndpoint),
}

impl ProxyTarget {
    /// Returns the server that it leads to.
    pub(crate) const fn origin(&self) -> Option<&Origin> {
        match self {
            Self::Fetch { origin, .. } | Self::Tunnel(origin) => Some(origin),
            Self::Local(_) => None,
        }
    }

    /// Returns whom it leads to, if not to the proxy itself.
    pub(crate) const fn host(&self) -> Option<&UrlHost> {
        match self {
            Self::Fetch { origin, .. } | Self::Tunnel(origin) => Some(&origin.host),
            Self::Local(_) => None,
        }
    }
}

/// Why a target is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BadTarget {
    /// `CONNECT` without a port (RFC 9110 §9.3.6 wants one).
    NoPort,
    /// A scheme that we do not fetch.
    Scheme(String),
    /// No host, or none that can be asked for.
    Host(OriginError),
    /// `CONNECT` where no client knows of a proxy.
    Connect,
    /// `OPTIONS *` there: it names no URL that the policy could be asked about.
    Asterisk,
}

/// Reads the target of a request.
pub(crate) fn read(method: &Method, uri: &Uri) -> Result<ProxyTarget, BadTarget> {
    let authority = uri.authority().map_or("", http::uri::Authority::as_str);
    if method == Method::CONNECT {
        if uri.authority().and_then(http::uri::Authority::port).is_none() {
            return Err(BadTarget::NoPort);
        }
        let origin = Origin::from_authority(OriginScheme::Https, authority);
        return origin.map(ProxyTarget::Tunnel).map_err(BadTarget::Host);
    }
    let scheme = match uri.scheme_str() {
        None => return Ok(ProxyTarget::Local(LocalEndpoint::at(method, uri.path()))),
        Some("http") => OriginScheme::Http,
        Some("https") => OriginScheme::Https,
        Some(other) => return Err(BadTarget::Scheme(other.to_owned())),
    };
    let origin = Origin::from_authority(scheme, authority).map_err(BadTarget::Host)?;
    let path = uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    Ok(ProxyTarget::Fetch { origin, path })
}

impl fmt::Display for BadTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPort => f.write_str("CONNECT needs host and port, as in www.example:443"),
            Self::Scheme(scheme) => {
                write!(f, "{scheme}: is not fetched here, only http: and https:")
            }
            Self::Host(why) => write!(f, "the target names no host: {why}"),
            Self::Connect => f.write_str("CONNECT is for a proxy, and this port is none to you"),
            Self::Asterisk => f.write_str("OPTIONS * is not passed on"),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    fn read_text(method: &str, uri: &str) -> Result<ProxyTarget, BadTarget> {
        read(&method.parse().unwrap(), &uri.parse().unwrap())
    }

    #[test]
    fn the_three_forms_are_told_apart() {
        let origin = "http://a.example:8080".parse().unwrap();
        assert_eq!(
            read_text("GET", "http://A.example:8080/x?y=1"),
            Ok(ProxyTarget::Fetch { origin, path: "/x?y=1".into() })
        );
        let origin = "http://a.example".parse().unwrap();
        assert_eq!(
            read_text("GET", "http://a.example?y"),
            Ok(ProxyTarget::Fetch { origin, path: "/?y".into() })
        );
        let tunnel = "https://a.example:443".parse().unwrap();
        assert_eq!(read_text("CONNECT", "a.example:443"), Ok(ProxyTarget::Tunnel(tunnel)));
        assert_eq!(
            read_text("GET", "/index.html"),
            Ok(ProxyTarget::Local(LocalEndpoint::NotFound))
        );
        assert_eq!(read_text("OPTIONS", "*"), Ok(ProxyTarget::Local(LocalEndpoint::NotFound)));
        assert_eq!(read_text("GET", "/proxy.pac"), Ok(ProxyTarget::Local(LocalEndpoint::Pac)));
        assert_eq!(read_text("GET", "/"), Ok(ProxyTarget::Local(LocalEndpoint::Help)));
    }

    #[test]
    fn what_is_no_target_says_why() {
        assert_eq!(read_text("CONNECT", "a.example"), Err(BadTarget::NoPort));
        assert_eq!(read_text("GET", "ftp://a.example/"), Err(BadTarget::Scheme("ftp".into())));
        assert_eq!(
            read_text("GET", "http://me:secret@a.example/"),
            Err(BadTarget::Host(OriginError::UserInfo))
        );
        assert!(matches!(read_text("CONNECT", "a_b!:443"), Err(BadTarget::Host(_))));
    }
}
