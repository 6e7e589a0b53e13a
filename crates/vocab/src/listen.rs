//! Where to listen: a URL whose scheme says the protocol, `udp://0.0.0.0:53`.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

/// The protocol spoken at a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// DNS over UDP.
    Udp,
    /// DNS over TCP.
    Tcp,
    /// DNS over TLS.
    Tls,
    /// DNS over QUIC.
    Quic,
    /// HTTP without TLS.
    Http,
    /// HTTP over TLS; DNS over HTTPS where a path follows.
    Https,
    /// HTTP or TLS over connections to others that the packet filter redirects here (NAT).
    Redirect,
    /// The same where it hands them over as they are (`TPROXY`).
    Tproxy,
}

/// One listen entry: protocol, address, and for `https` in the DNS door a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Listen {
    /// The protocol.
    pub scheme: Scheme,
    /// Address and port to bind.
    pub address: SocketAddr,
    /// The path after the address, with its slash; empty where none is given.
    pub path: String,
}

/// Why a text is no listen entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenError {
    /// No `scheme://` in front.
    NoScheme,
    /// A scheme that is none of ours.
    Scheme(String),
    /// What follows the scheme is no `IP:port`.
    Address(String),
}

const SCHEMES: &[(&str, Scheme, u16)] = &[
    ("udp", Scheme::Udp, 53),
    ("tcp", Scheme::Tcp, 53),
    ("tls", Scheme::Tls, 853),
    ("quic", Scheme::Quic, 853),
    ("http", Scheme::Http, 80),
    ("https", Scheme::Https, 443),
    ("redirect", Scheme::Redirect, 3129),
    ("tproxy", Scheme::Tproxy, 3129),
];

impl Scheme {
    /// Returns its name, as it stands before `://`.
    pub fn as_str(self) -> &'static str {
        SCHEMES.iter().find(|(_, scheme, _)| *scheme == self).map_or("", |(name, _, _)| name)
    }

    /// True for connections that clients have opened to somebody else.
    pub const fn is_transparent(self) -> bool {
        match self {
            Self::Redirect | Self::Tproxy => true,
            Self::Udp | Self::Tcp | Self::Tls | Self::Quic | Self::Http | Self::Https => false,
        }
    }
}

impl FromStr for Listen {
    type Err = ListenError;
    fn from_str(text: &str) -> Result<Self, ListenError> {
        let (word, rest) = text.split_once("://").ok_or(ListenError::NoScheme)?;
        let (_, scheme, port) = *SCHEMES
            .iter()
            .find(|(name, _, _)| *name == word)
            .ok_or_else(|| ListenError::Scheme(word.into()))?;
        let (authority, path) = match rest.find('/') {
            Some(slash) => rest.split_at(slash),
            None => (rest, ""),
        };
        let bare = authority.trim_start_matches('[').trim_end_matches(']');
        let address = authority
            .parse::<SocketAddr>()
            .or_else(|_| bare.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, port)))
            .map_err(|_| ListenError::Address(authority.into()))?;
        Ok(Self { scheme, address, path: if path == "/" { String::new() } else { path.into() } })
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme.as_str(), self.address, self.path)
    }
}

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoScheme => f.write_str("a scheme is missing, as in udp://127.0.0.1:53"),
            Self::Scheme(word) => {
                write!(
                    f,
                    "{word:?} is no protocol known here: udp, tcp, tls, quic, http, https, \
                     redirect or tproxy"
                )
            }
            Self::Address(text) => write!(f, "{text:?} is no IP address with a port"),
        }
    }
}

impl std::error::Error for ListenError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listen_entry_is_a_url() {
        let listen: Listen = "https://0.0.0.0:443/dns-query".parse().unwrap();
        assert_eq!((listen.scheme, listen.path.as_str()), (Scheme::Https, "/dns-query"));
        assert_eq!("udp://[::1]".parse::<Listen>().unwrap().address, "[::1]:53".parse().unwrap());
        assert_eq!(
            "tcp://127.0.0.1:5353".parse::<Listen>().unwrap().to_string(),
            "tcp://127.0.0.1:5353"
        );
        let transparent: Listen = "tproxy://[::]".parse().unwrap();
        assert!(transparent.scheme.is_transparent() && transparent.address.port() == 3129);
        assert_eq!("127.0.0.1:53".parse::<Listen>(), Err(ListenError::NoScheme));
        assert!(matches!("ftp://1.2.3.4".parse::<Listen>(), Err(ListenError::Scheme(_))));
        assert!(matches!("udp://localhost:53".parse::<Listen>(), Err(ListenError::Address(_))));
    }
}
