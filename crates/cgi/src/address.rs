//! Addresses of `FastCGI` servers, as settings write them.

use crate::names::NamedServer;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use vocab::DomainName;

/// The length of a path of a unix socket, in bytes (`sun_path` of unix(7), with its NUL).
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// Where a server listens.
#[derive(Clone, Debug)]
pub enum FastcgiAddress {
    /// A socket of this machine.
    Unix(PathBuf),
    /// An address.
    Tcp(SocketAddr),
    /// A name, which is looked up.
    Named(Arc<NamedServer>),
}

/// Why a text is no address of a server of scripts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadFastcgiAddress {
    /// The path of the socket is not absolute, or too long.
    SocketPath(String),
    /// Neither `unix://` nor `tcp://` begins it.
    Scheme(String),
    /// No address or name with a port follows `tcp://`.
    HostPort(String),
}

impl FastcgiAddress {
    /// Reads `unix:///PATH`, `tcp://ADDRESS:PORT` or `tcp://NAME:PORT`.
    pub fn parse(text: &str) -> Result<Self, BadFastcgiAddress> {
        if let Some(path) = text.strip_prefix("unix://") {
            return if path.starts_with('/') && path.len() <= SOCKET_PATH_BYTES_MAX {
                Ok(Self::Unix(path.into()))
            } else {
                Err(BadFastcgiAddress::SocketPath(text.into()))
            };
        }
        let Some(place) = text.strip_prefix("tcp://") else {
            return Err(BadFastcgiAddress::Scheme(text.into()));
        };
        if let Ok(address) = place.parse() {
            return Ok(Self::Tcp(address));
        }
        named(place)
            .map(|it| Self::Named(Arc::new(it)))
            .ok_or_else(|| BadFastcgiAddress::HostPort(text.into()))
    }
}

impl fmt::Display for BadFastcgiAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SocketPath(text) => {
                write!(f, "{text:?} has no absolute path of at most {SOCKET_PATH_BYTES_MAX} bytes")
            }
            Self::Scheme(text) => write!(f, "{text:?} is no address of a FastCGI server"),
            Self::HostPort(text) => {
                write!(f, "{text:?} has no address or name with a port after tcp://")
            }
        }
    }
}

impl std::error::Error for BadFastcgiAddress {}

/// Reads `NAME:PORT`.
fn named(place: &str) -> Option<NamedServer> {
    let (host, port) = place.rsplit_once(':')?;
    let port = port.parse().ok().filter(|port| *port != 0)?;
    let name = DomainName::parse(host).ok()?;
    // What ends in a number is a misspelt address (RFC 3696 §2), and resolvers read it in odd ways.
    let last = host.trim_end_matches('.').rsplit('.').next()?;
    let is_number = last.bytes().all(|it| it.is_ascii_digit());
    let is_address = host.parse::<IpAddr>().is_ok();
    (!is_number && !is_address && !name.as_str().is_empty()).then(|| NamedServer::new(host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_unix_or_tcp() {
        let check = |text: &str, right: bool| {
            assert_eq!(FastcgiAddress::parse(text).is_ok(), right, "{text}");
        };
        check("unix:///run/php.sock", true);
        check("tcp://127.0.0.1:9000", true);
        check("tcp://[::1]:9000", true);
        check("unix://run/php.sock", false);
        check("tcp://php:9000", true);
        check("tcp://php.internal.:9000", true);
        check("tcp://127.0.0.1", false);
        check("tcp://php", false);
        check("tcp://php:0", false);
        check("tcp://php:90000", false);
        check("tcp://:9000", false);
        check("tcp://127.0.0:9000", false);
        check("tcp://a b:9000", false);
        check("127.0.0.1:9000", false);
        check(&format!("unix:///{}", "x".repeat(107)), false);
    }
}
