//! A server that the owner's configuration names: where it stands, and what is spoken there.
//!
//! `http://10.0.0.11:8080`, `https://app.internal`, `h2c://10.0.0.11:8080` for HTTP/2 without TLS
//! and without asking first (RFC 9113 §3.3), `unix:/run/app.sock` for a socket of this machine, and
//! `h2c+unix:/run/app.sock`. It connects to nobody. Made from settings; [`super::Origins::send_to`]
//! sends to it.

use super::origin::{Origin, OriginError, OriginScheme, UrlHost};
use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use vocab::DomainName;

/// Bytes of a socket's path, at most: `sun_path` of Linux less its final zero.
pub const SOCKET_PATH_BYTES_MAX: usize = 107;

/// A server, and what is spoken there. Cheap to clone where it is a socket.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OriginServer {
    address: ServerAddress,
    cleartext: CleartextMode,
}

/// Where a server stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum ServerAddress {
    /// At a host and port.
    Origin(Origin),
    /// At this address, which was found for the host of the origin. It goes by the host's name: to
    /// TLS and in `Host`.
    Found(Origin, SocketAddr),
    /// At a socket of this machine.
    Socket(Arc<Path>),
}

/// Tells what its URL says of HTTP without TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum CleartextMode {
    /// Nothing.
    AsAgreed,
    /// HTTP/2, by prior knowledge.
    Http2,
}

/// Why a text is no server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerError {
    /// None of the known schemes in front.
    Scheme,
    /// The host and port are wrong.
    Origin(OriginError),
    /// The path of a socket does not begin with one slash.
    SocketPath,
    /// The path of a socket is longer than [`SOCKET_PATH_BYTES_MAX`], or has a byte 0 in it.
    SocketPathLength,
}

impl OriginServer {
    /// The `Host` that it stands for: its own authority, and `localhost` for a socket.
    pub fn authority(&self) -> String {
        match &self.address {
            ServerAddress::Origin(origin) | ServerAddress::Found(origin, _) => origin.authority(),
            ServerAddress::Socket(_) => "localhost".into(),
        }
    }

    /// True if a URL at `origin` leads to it. A socket takes itself for `http://localhost`.
    pub fn is_at(&self, origin: &Origin) -> bool {
        match &self.address {
            ServerAddress::Origin(own) => own == origin,
            ServerAddress::Found(own, address) => {
                own == origin || at_address(own, *address) == *origin
            }
            ServerAddress::Socket(_) => {
                origin.scheme == OriginScheme::Http && origin.authority() == "localhost"
            }
        }
    }

    /// True if this is its host.
    pub fn has_host(&self, host: &UrlHost) -> bool {
        match &self.address {
            ServerAddress::Origin(own) | ServerAddress::Found(own, _) => own.host == *host,
            ServerAddress::Socket(_) => false,
        }
    }

    /// True if it is spoken to over TLS.
    pub fn is_secure(&self) -> bool {
        match &self.address {
            ServerAddress::Origin(origin) | ServerAddress::Found(origin, _) => {
                origin.scheme == OriginScheme::Https
            }
            ServerAddress::Socket(_) => false,
        }
    }

    /// True if its URL asks for HTTP/2 without TLS.
    pub fn is_h2c(&self) -> bool {
        self.cleartext == CleartextMode::Http2
    }

    /// The name that its host is looked up by; none of an address or a socket.
    pub fn name(&self) -> Option<&DomainName> {
        match &self.address {
            ServerAddress::Origin(Origin { host: UrlHost::Name(name), .. }) => Some(name),
            ServerAddress::Origin(_) | ServerAddress::Found(..) | ServerAddress::Socket(_) => None,
        }
    }

    /// Where it was found; none of what is written.
    pub const fn address(&self) -> Option<SocketAddr> {
        match &self.address {
            ServerAddress::Found(_, address) => Some(*address),
            ServerAddress::Origin(_) | ServerAddress::Socket(_) => None,
        }
    }

    /// The same, found at `address`, where it goes by `name`. None of a socket.
    pub fn found_at(&self, address: SocketAddr, name: &DomainName) -> Option<Self> {
        let scheme = match &self.address {
            ServerAddress::Origin(origin) | ServerAddress::Found(origin, _) => origin.scheme,
            ServerAddress::Socket(_) => return None,
        };
        let host = UrlHost::Name(name.clone());
        let place = ServerAddress::Found(Origin { scheme, host, port: address.port() }, address);
        Some(Self { address: place, cleartext: self.cleartext })
    }

    /// The port of its host; none of a socket.
    pub(super) const fn port(&self) -> Option<u16> {
        match &self.address {
            ServerAddress::Origin(origin) | ServerAddress::Found(origin, _) => Some(origin.port),
            ServerAddress::Socket(_) => None,
        }
    }

    pub(super) const fn dial_address(&self) -> &ServerAddress {
        &self.address
    }

    /// The scheme of URLs that lead to it.
    pub(super) fn scheme(&self) -> http::uri::Scheme {
        if self.is_secure() { http::uri::Scheme::HTTPS } else { http::uri::Scheme::HTTP }
    }
}

impl From<Origin> for OriginServer {
    fn from(origin: Origin) -> Self {
        Self { address: ServerAddress::Origin(origin), cleartext: CleartextMode::AsAgreed }
    }
}

impl FromStr for OriginServer {
    type Err = ServerError;

    fn from_str(text: &str) -> Result<Self, ServerError> {
        let (cleartext, rest) = match text.strip_prefix("h2c") {
            Some(rest) if rest.starts_with("://") || rest.starts_with('+') => {
                (CleartextMode::Http2, rest)
            }
            Some(_) | None => (CleartextMode::AsAgreed, text),
        };
        let place = match cleartext {
            CleartextMode::Http2 => match rest.strip_prefix("+unix:") {
                Some(path) => socket(path)?,
                None if rest.starts_with("://") => origin(&format!("http{rest}"))?,
                None => return Err(ServerError::Scheme),
            },
            CleartextMode::AsAgreed => match rest.strip_prefix("unix:") {
                Some(path) => socket(path)?,
                None => origin(rest)?,
            },
        };
        Ok(Self { address: place, cleartext })
    }
}

/// An origin as it would be written with its address.
fn at_address(origin: &Origin, address: SocketAddr) -> Origin {
    let host = UrlHost::Address(address.ip().to_canonical());
    Origin { scheme: origin.scheme, host, port: address.port() }
}

fn origin(text: &str) -> Result<ServerAddress, ServerError> {
    text.parse().map(ServerAddress::Origin).map_err(|why| match why {
        OriginError::Scheme => ServerError::Scheme,
        other => ServerError::Origin(other),
    })
}

fn socket(path: &str) -> Result<ServerAddress, ServerError> {
    // `unix://run/app.sock` is `/run/app.sock` to the one and `//run/app.sock` to the other.
    if !path.starts_with('/') || path.starts_with("//") || path.ends_with('/') {
        return Err(ServerError::SocketPath);
    }
    if path.len() > SOCKET_PATH_BYTES_MAX || path.contains('\0') {
        return Err(ServerError::SocketPathLength);
    }
    Ok(ServerAddress::Socket(Path::new(path).into()))
}

impl fmt::Display for OriginServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.address, self.cleartext) {
            (ServerAddress::Origin(origin), CleartextMode::AsAgreed) => origin.fmt(f),
            (ServerAddress::Origin(origin), CleartextMode::Http2) => {
                write!(f, "h2c://{}", origin.authority())
            }
            // By its address: several go by one name.
            (ServerAddress::Found(origin, address), CleartextMode::AsAgreed) => {
                at_address(origin, *address).fmt(f)
            }
            (ServerAddress::Found(origin, address), CleartextMode::Http2) => {
                write!(f, "h2c://{}", at_address(origin, *address).authority())
            }
            (ServerAddress::Socket(path), CleartextMode::AsAgreed) => {
                write!(f, "unix:{}", path.display())
            }
            (ServerAddress::Socket(path), CleartextMode::Http2) => {
                write!(f, "h2c+unix:{}", path.display())
            }
        }
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scheme => f.write_str("http://, https://, h2c:// or unix: should stand in front"),
            Self::Origin(why) => why.fmt(f),
            Self::SocketPath => {
                f.write_str("the path of a socket should be absolute, as in unix:/run/app.sock")
            }
            Self::SocketPathLength => write!(
                f,
                "the path of a socket should have at most {SOCKET_PATH_BYTES_MAX} bytes, and no zero"
            ),
        }
    }
}

impl std::error::Error for ServerError {}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    fn server(text: &str) -> OriginServer {
        text.parse().unwrap()
    }

    #[test]
    fn servers_print_as_they_are_read() {
        for (text, printed) in [
            ("http://10.0.0.11:8080", "http://10.0.0.11:8080"),
            ("https://App.internal/", "https://app.internal"),
            ("h2c://10.0.0.11:50051", "h2c://10.0.0.11:50051"),
            ("h2c://[::1]:80", "h2c://[::1]"),
            ("unix:/run/app.sock", "unix:/run/app.sock"),
            ("h2c+unix:/run/app.sock", "h2c+unix:/run/app.sock"),
        ] {
            let read = server(text);
            assert_eq!(read.to_string(), printed);
            assert_eq!(server(printed), read);
        }
    }

    #[test]
    fn what_is_no_server_is_refused() {
        let long = format!("unix:/{}", "x".repeat(SOCKET_PATH_BYTES_MAX));
        for (text, why) in [
            ("10.0.0.1:80", ServerError::Scheme),
            ("h2://10.0.0.1", ServerError::Scheme),
            ("h2c10.0.0.1", ServerError::Scheme),
            ("h2c+https://10.0.0.1", ServerError::Scheme),
            ("unix+h2c:/x", ServerError::Scheme),
            ("http://a.example/x", ServerError::Origin(OriginError::Path)),
            ("h2c://a.example:0", ServerError::Origin(OriginError::Port)),
            ("unix:run/app.sock", ServerError::SocketPath),
            ("unix://run/app.sock", ServerError::SocketPath),
            ("unix:/run/", ServerError::SocketPath),
            ("unix:", ServerError::SocketPath),
            ("unix:/a\0b", ServerError::SocketPathLength),
            (long.as_str(), ServerError::SocketPathLength),
        ] {
            assert_eq!(text.parse::<OriginServer>(), Err(why), "{text}");
        }
    }

    #[test]
    fn a_server_knows_what_leads_to_it() {
        let leads = |to: &str, server: &str| self::server(server).is_at(&to.parse().unwrap());
        assert!(leads("http://10.0.0.11:8080", "h2c://10.0.0.11:8080"));
        assert!(!leads("https://10.0.0.11:8080", "http://10.0.0.11:8080"));
        assert!(leads("http://localhost", "unix:/run/app.sock"));
        assert!(!leads("http://localhost:8080", "unix:/run/app.sock"));
        assert_eq!(server("unix:/run/app.sock").authority(), "localhost");
        assert_eq!(server("h2c://a.example:80").authority(), "a.example");
        assert!(server("h2c://a.example").has_host(&"a.example".parse().unwrap()));
        assert!(server("https://a.example").is_secure() && !server("h2c://a.example").is_secure());
    }
}
