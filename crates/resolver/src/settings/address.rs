//! The written address of an upstream: `udp://9.9.9.9`, `tls://dns.quad9.net`,
//! `https://dns.quad9.net/dns-query`, `quic://dns.quad9.net`, or just an IP address.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use vocab::DomainName;

/// Tells how an upstream is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UpstreamProtocol {
    /// Plain DNS, UDP first and TCP for what does not fit.
    Udp,
    /// Plain DNS over TCP.
    Tcp,
    /// DNS over TLS (RFC 7858).
    Tls,
    /// DNS over HTTPS (RFC 8484).
    Https,
    /// DNS over QUIC (RFC 9250).
    Quic,
}

/// The host part of an address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum UpstreamHost {
    /// An IP address.
    Ip(IpAddr),
    /// A name, found through the bootstrap servers.
    Name(DomainName),
}

/// Where an upstream is and how to speak to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UpstreamAddress {
    /// The protocol.
    pub protocol: UpstreamProtocol,
    /// The host.
    pub host: UpstreamHost,
    /// The port.
    pub port: u16,
    /// The path of DNS over HTTPS, with its slash; empty otherwise.
    pub path: String,
}

/// Why a text is no address of an upstream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AddressError {
    /// `h3://` and the like: known, not built.
    NotBuilt(String),
    /// A scheme that nobody knows.
    Scheme(String),
    /// No host, or none that can be read.
    Host(String),
    /// A port that is none.
    Port(String),
    /// A path where none belongs.
    Path(String),
}

/// A plain DNS server by its IP address: `9.9.9.9`, `[2620:fe::fe]:53`, `127.0.0.1:5300`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PlainServer(pub SocketAddr);

/// Each way to write a protocol. `+pipeline` and the second names are mosdns's and OxiDNS's; here
/// pipelining is an option of its own, and on.
const SCHEMES: &[(&str, UpstreamProtocol)] = &[
    ("udp", UpstreamProtocol::Udp),
    ("tcp", UpstreamProtocol::Tcp),
    ("tcp+pipeline", UpstreamProtocol::Tcp),
    ("tls", UpstreamProtocol::Tls),
    ("tls+pipeline", UpstreamProtocol::Tls),
    ("https", UpstreamProtocol::Https),
    ("doh", UpstreamProtocol::Https),
    ("quic", UpstreamProtocol::Quic),
    ("doq", UpstreamProtocol::Quic),
];
const NOT_BUILT: &[&str] = &["h3", "sdns"];
const PATH_DEFAULT: &str = "/dns-query";

impl UpstreamProtocol {
    /// Returns its scheme.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Udp => "udp",
            Self::Tcp => "tcp",
            Self::Tls => "tls",
            Self::Https => "https",
            Self::Quic => "quic",
        }
    }

    const fn port(self) -> u16 {
        match self {
            Self::Udp | Self::Tcp => 53,
            Self::Tls | Self::Quic => 853,
            Self::Https => 443,
        }
    }
}

impl FromStr for UpstreamAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let (protocol, rest) = match text.split_once("://") {
            None => (UpstreamProtocol::Udp, text),
            Some((scheme, rest)) => {
                let known = SCHEMES.iter().find(|(name, _)| *name == scheme);
                let protocol = known.map(|(_, protocol)| *protocol).ok_or_else(|| {
                    if NOT_BUILT.contains(&scheme) {
                        AddressError::NotBuilt(scheme.into())
                    } else {
                        AddressError::Scheme(scheme.into())
                    }
                })?;
                (protocol, rest)
            }
        };
        let (authority, path) = match rest.find('/') {
            Some(slash) => rest.split_at(slash),
            None => (rest, ""),
        };
        let (host, port) = authority_parts(authority, protocol.port())?;
        let path = match (protocol, path) {
            (UpstreamProtocol::Https, "" | "/") => PATH_DEFAULT,
            (UpstreamProtocol::Https, path) if is_plain_path(path) => path,
            (_, "" | "/") => "",
            (_, path) => return Err(AddressError::Path(path.into())),
        };
        Ok(Self { protocol, host, port, path: path.into() })
    }
}

/// A path that can stand in a request line as it is; templates (`{?dns}`) are not needed for POST.
fn is_plain_path(path: &str) -> bool {
    path.bytes().all(|byte| byte.is_ascii_graphic() && !b"{}#\\\"<>^`|".contains(&byte))
}

pub(crate) fn authority_parts(
    text: &str,
    default: u16,
) -> Result<(UpstreamHost, u16), AddressError> {
    let port = |text: &str| match text.parse::<u16>() {
        Ok(port) if port > 0 => Ok(port),
        Ok(_) | Err(_) => Err(AddressError::Port(text.into())),
    };
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Ok((UpstreamHost::Ip(ip), default));
    }
    if let Some(rest) = text.strip_prefix('[') {
        let (ip, tail) = rest.split_once(']').ok_or_else(|| AddressError::Host(text.into()))?;
        let ip = ip.parse().map_err(|_| AddressError::Host(text.into()))?;
        return match tail.strip_prefix(':') {
            Some(number) => Ok((UpstreamHost::Ip(ip), port(number)?)),
            None if tail.is_empty() => Ok((UpstreamHost::Ip(ip), default)),
            None => Err(AddressError::Host(text.into())),
        };
    }
    let (host, port) = match text.rsplit_once(':') {
        Some((host, number)) => (host, port(number)?),
        None => (text, default),
    };
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Ok((UpstreamHost::Ip(ip), port));
    }
    // A name whose last label is a number is a mistyped address (WHATWG URL, "ends in a number").
    let name = DomainName::parse(host).map_err(|_| AddressError::Host(text.into()))?;
    if name.as_name().labels().next_back().is_some_and(|it| it.bytes().all(|b| b.is_ascii_digit()))
    {
        return Err(AddressError::Host(text.into()));
    }
    Ok((UpstreamHost::Name(name), port))
}

impl FromStr for UpstreamHost {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        match authority_parts(text, 0)? {
            (host, 0) => Ok(host),
            (_, _) => Err(AddressError::Host(text.into())),
        }
    }
}

impl fmt::Display for UpstreamHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(ip) => ip.fmt(f),
            Self::Name(name) => name.fmt(f),
        }
    }
}

impl settings::WrittenWord for UpstreamHost {
    const FORMAT: &'static str = "upstream-host";
    const EXAMPLE: &'static str = "9.9.9.9";
}

impl fmt::Display for UpstreamAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://", self.protocol.as_str())?;
        match &self.host {
            UpstreamHost::Ip(IpAddr::V6(ip)) => write!(f, "[{ip}]")?,
            host => host.fmt(f)?,
        }
        if self.port != self.protocol.port() {
            write!(f, ":{}", self.port)?;
        }
        f.write_str(&self.path)
    }
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotBuilt(scheme) => write!(f, "{scheme}:// upstreams are not yet built"),
            Self::Scheme(scheme) => write!(f, "{scheme:?} is no protocol of upstreams"),
            Self::Host(text) => write!(f, "{text:?} is no host"),
            Self::Port(text) => write!(f, "{text:?} is no port"),
            Self::Path(path) => write!(f, "only https:// upstreams have a path, not {path:?}"),
        }
    }
}

impl std::error::Error for AddressError {}

impl AddressError {
    /// Returns what to write instead.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::NotBuilt(_) | Self::Scheme(_) => {
                "use https://HOST/dns-query, tls://HOST, quic://HOST, tcp://IP or udp://IP"
            }
            Self::Host(_) | Self::Port(_) => {
                "write it as in tls://dns.quad9.net or udp://9.9.9.9:53"
            }
            Self::Path(_) => "leave the path out",
        }
    }
}

impl FromStr for PlainServer {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        match authority_parts(text, UpstreamProtocol::Udp.port())? {
            (UpstreamHost::Ip(ip), port) => Ok(Self(SocketAddr::new(ip, port))),
            (UpstreamHost::Name(_), _) => Err(AddressError::Host(text.into())),
        }
    }
}

impl fmt::Display for PlainServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.port() == UpstreamProtocol::Udp.port() {
            self.0.ip().fmt(f)
        } else {
            self.0.fmt(f)
        }
    }
}

impl settings::WrittenWord for PlainServer {
    const FORMAT: &'static str = "dns-server";
    const EXAMPLE: &'static str = "9.9.9.9";
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;

    fn check(given: &str, expected: &str) {
        let address: UpstreamAddress = given.parse().unwrap();
        assert_eq!(address.to_string(), expected, "{given}");
    }

    #[test]
    fn an_address_is_a_url_or_just_an_ip() {
        check("9.9.9.9", "udp://9.9.9.9");
        check("9.9.9.9:5300", "udp://9.9.9.9:5300");
        check("2620:fe::fe", "udp://[2620:fe::fe]");
        check("udp://[2620:fe::fe]:54", "udp://[2620:fe::fe]:54");
        check("tcp://9.9.9.9:53/", "tcp://9.9.9.9");
        check("tls://DNS.quad9.net", "tls://dns.quad9.net");
        check("https://dns.quad9.net", "https://dns.quad9.net/dns-query");
        check("https://[::1]:8443/q", "https://[::1]:8443/q");
        check("quic://dns.quad9.net", "quic://dns.quad9.net");
        check("quic://9.9.9.9:784/", "quic://9.9.9.9:784");
    }

    #[test]
    fn the_schemes_of_mosdns_and_oxidns_are_known() {
        check("doq://dns.quad9.net", "quic://dns.quad9.net");
        check("doh://dns.quad9.net/q", "https://dns.quad9.net/q");
        check("tcp+pipeline://9.9.9.9", "tcp://9.9.9.9");
        check("tls+pipeline://9.9.9.9:8853", "tls://9.9.9.9:8853");
    }

    #[test]
    fn a_host_is_an_address_or_a_name_without_a_port() {
        for text in ["9.9.9.9", "2620:fe::fe", "dns.quad9.net"] {
            assert_eq!(text.parse::<UpstreamHost>().unwrap().to_string(), text);
        }
        for text in ["", "9.9.9", "dns.quad9.net:853", "[::1]:53", "a b"] {
            assert!(text.parse::<UpstreamHost>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_no_address_says_why() {
        let error = |text: &str| text.parse::<UpstreamAddress>().unwrap_err();
        assert_eq!(error("h3://9.9.9.9"), AddressError::NotBuilt("h3".into()));
        assert!(error("sdns://AAAA").to_string().contains("not yet"));
        assert_eq!(error("ftp://9.9.9.9"), AddressError::Scheme("ftp".into()));
        assert_eq!(error("tls://"), AddressError::Host(String::new()));
        assert_eq!(error("udp://9.9.9"), AddressError::Host("9.9.9".into()));
        assert_eq!(error("udp://9.9.9.9:0"), AddressError::Port("0".into()));
        assert_eq!(error("tls://9.9.9.9/x"), AddressError::Path("/x".into()));
        assert_eq!(error("https://a.example/{?dns}"), AddressError::Path("/{?dns}".into()));
    }

    #[test]
    fn bootstrap_servers_are_addresses_only() {
        assert_eq!("9.9.9.9".parse::<PlainServer>().unwrap().to_string(), "9.9.9.9");
        assert_eq!("[::1]:5300".parse::<PlainServer>().unwrap().to_string(), "[::1]:5300");
        assert!("dns.quad9.net".parse::<PlainServer>().is_err());
    }
}
