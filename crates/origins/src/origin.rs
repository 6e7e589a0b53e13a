//! Where a web server stands: `http://10.0.0.11:8080`, `https://www.example`.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use vocab::{
    ADDRESS_TEXT_MAX, DomainName, Name, NameError, address_text, push_address, push_decimal,
};

/// Tells how an origin is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OriginScheme {
    /// Plain HTTP.
    Http,
    /// HTTP over TLS.
    Https,
}

/// A host as it stands in a URL: a name, or an address that needs no look-up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum UrlHost {
    /// A domain name.
    Name(DomainName),
    /// An IP literal; `[::1]` in a URL.
    Address(IpAddr),
}

/// Scheme, host and port (RFC 6454 §4).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// How it is spoken to.
    pub scheme: OriginScheme,
    /// Host.
    pub host: UrlHost,
    /// Port, never 0.
    pub port: u16,
}

/// Why a text is no origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OriginError {
    /// Neither `http://` nor `https://` in front.
    Scheme,
    /// The host is no domain name and no address.
    Host(NameError),
    /// An IPv6 literal that is malformed or lacks its brackets.
    Brackets,
    /// The port is no number from 1 to 65535.
    Port,
    /// A user name or password stands before the host (RFC 9110 §4.2.4 calls it an error).
    UserInfo,
    /// A path, query or fragment follows.
    Path,
}

impl OriginScheme {
    /// Returns its name, as it stands before `://`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// The port where none is written.
    pub const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

impl UrlHost {
    /// The host as the policy is asked about it. An IPv6 literal is no name and yields the root.
    pub fn to_name(&self) -> DomainName {
        match self {
            Self::Name(name) => name.clone(),
            Self::Address(address) => {
                DomainName::parse(&address_text(*address)).unwrap_or_else(|_| Name::ROOT.to_owned())
            }
        }
    }

    /// Appends it as it stands in a URL.
    fn push_to(&self, text: &mut String) {
        match self {
            Self::Name(name) => text.push_str(name.as_str()),
            Self::Address(address @ IpAddr::V4(_)) => push_address(text, *address),
            Self::Address(address @ IpAddr::V6(_)) => {
                text.push('[');
                push_address(text, *address);
                text.push(']');
            }
        }
    }

    /// The addresses that need no look-up: a literal's own, and loopback for `localhost` and what
    /// stands below it (RFC 6761 §6.3).
    pub(super) fn known_addresses(&self) -> Option<Vec<IpAddr>> {
        match self {
            Self::Address(address) => Some(vec![*address]),
            Self::Name(name) => {
                let localhost = Name::from_lowercase("localhost").ok()?;
                name.as_name()
                    .is_at_or_below(localhost)
                    .then(|| vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()])
            }
        }
    }
}

impl Origin {
    /// Reads `host`, `host:port`, `1.2.3.4:80` or `[::1]:80`, as it stands in a URL or in `Host`.
    pub fn from_authority(scheme: OriginScheme, authority: &str) -> Result<Self, OriginError> {
        if authority.contains('@') {
            return Err(OriginError::UserInfo);
        }
        let (host, port) = if let Some(rest) = authority.strip_prefix('[') {
            let (literal, behind) = rest.split_once(']').ok_or(OriginError::Brackets)?;
            let address: Ipv6Addr = literal.parse().map_err(|_| OriginError::Brackets)?;
            let port = behind.strip_prefix(':');
            if port.is_none() && !behind.is_empty() {
                return Err(OriginError::Brackets);
            }
            (UrlHost::Address(address.into()), port)
        } else {
            let (host, port) = match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            };
            (host.parse()?, port)
        };
        let port = match port {
            None | Some("") => scheme.default_port(),
            Some(port) => parse_port(port)?,
        };
        Ok(Self { scheme, host, port })
    }

    /// The `Host` field and the authority of URLs: the port only where it is not the scheme's own.
    pub fn authority(&self) -> String {
        let mut text = String::with_capacity(self.text_bytes_max());
        self.push_authority(&mut text);
        text
    }

    /// The URL of `path` there, which begins with a slash or is empty.
    pub fn url(&self, path: &str) -> String {
        let mut url = String::with_capacity(self.text_bytes_max() + path.len());
        url.push_str(self.scheme.as_str());
        url.push_str("://");
        self.push_authority(&mut url);
        url.push_str(path);
        url
    }

    fn push_authority(&self, text: &mut String) {
        self.host.push_to(text);
        if self.port != self.scheme.default_port() {
            text.push(':');
            push_decimal(text, self.port);
        }
    }

    /// Returns what scheme, host and port take at most.
    fn text_bytes_max(&self) -> usize {
        let host = match &self.host {
            UrlHost::Name(name) => name.as_str().len(),
            UrlHost::Address(_) => "[]".len() + ADDRESS_TEXT_MAX,
        };
        "https://".len() + host + ":65535".len()
    }
}

/// Digits only: `+80` and ` 80` are what one parser takes and the next does not.
fn parse_port(text: &str) -> Result<u16, OriginError> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(OriginError::Port);
    }
    text.parse().ok().filter(|port| *port != 0).ok_or(OriginError::Port)
}

impl FromStr for UrlHost {
    type Err = OriginError;
    fn from_str(text: &str) -> Result<Self, OriginError> {
        // With a dot behind it, too: else it would be a name that reads like an address.
        if let Ok(address) = text.strip_suffix('.').unwrap_or(text).parse::<Ipv4Addr>() {
            return Ok(Self::Address(address.into()));
        }
        DomainName::parse(text).map(Self::Name).map_err(OriginError::Host)
    }
}

impl FromStr for Origin {
    type Err = OriginError;
    fn from_str(text: &str) -> Result<Self, OriginError> {
        let (scheme, rest) = if let Some(rest) = text.strip_prefix("http://") {
            (OriginScheme::Http, rest)
        } else if let Some(rest) = text.strip_prefix("https://") {
            (OriginScheme::Https, rest)
        } else {
            return Err(OriginError::Scheme);
        };
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        if authority.contains(['/', '?', '#']) {
            return Err(OriginError::Path);
        }
        Self::from_authority(scheme, authority)
    }
}

impl fmt::Display for UrlHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.push_to(&mut text);
        f.write_str(&text)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url(""))
    }
}

impl fmt::Display for OriginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scheme => f.write_str("http:// or https:// should stand in front"),
            Self::Host(why) => write!(f, "the host is neither a name nor an address: {why}"),
            Self::Brackets => f.write_str("an IPv6 address should stand in brackets, as in [::1]"),
            Self::Port => f.write_str("the port should be a number from 1 to 65535"),
            Self::UserInfo => f.write_str("a user name or password has no place before the host"),
            Self::Path => f.write_str("nothing should follow the host and port"),
        }
    }
}

impl std::error::Error for OriginError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_print_as_they_are_read() {
        let check = |text: &str, printed: &str| {
            assert_eq!(text.parse::<Origin>().unwrap().to_string(), printed, "{text}");
        };
        check("http://Www.Example", "http://www.example");
        check("https://www.example:443/", "https://www.example");
        check("http://10.0.0.11:8080", "http://10.0.0.11:8080");
        check("http://[2001:db8::1]:81", "http://[2001:db8::1]:81");
        check("http://www.example:", "http://www.example");
        check("http://10.0.0.1.:81", "http://10.0.0.1:81");
    }

    #[test]
    fn urls_lead_to_their_origin() {
        let check = |origin: &str, path: &str, url: &str| {
            assert_eq!(origin.parse::<Origin>().unwrap().url(path), url);
        };
        check("https://Www.Example", "/a?b", "https://www.example/a?b");
        check("https://www.example:80", "/", "https://www.example:80/");
        check("http://[2001:db8::1]:8080", "/", "http://[2001:db8::1]:8080/");
    }

    #[test]
    fn what_two_parsers_could_read_differently_is_refused() {
        let refused = |text: &str| text.parse::<Origin>().unwrap_err();
        assert_eq!(refused("ftp://a.example"), OriginError::Scheme);
        assert_eq!(refused("http://user@a.example"), OriginError::UserInfo);
        assert_eq!(refused("http://a.example:+80"), OriginError::Port);
        assert_eq!(refused("http://a.example:0"), OriginError::Port);
        assert_eq!(refused("http://a.example:99999"), OriginError::Port);
        assert_eq!(refused("http://[::1"), OriginError::Brackets);
        assert_eq!(refused("http://[::1]80"), OriginError::Brackets);
        assert_eq!(refused("http://[1.2.3.4]"), OriginError::Brackets);
        assert_eq!(refused("http://a.example/x"), OriginError::Path);
        assert!(matches!(refused("http://a b"), OriginError::Host(_)));
        assert!(matches!(refused("http://"), OriginError::Host(_)));
        assert!(matches!(refused("http://::1"), OriginError::Host(_) | OriginError::Port));
    }

    #[test]
    fn localhost_needs_no_resolver() {
        let known = |text: &str| text.parse::<UrlHost>().unwrap().known_addresses();
        assert_eq!(known("app.localhost").map(|all| all.len()), Some(2));
        assert_eq!(known("notlocalhost"), None);
        assert_eq!(known("192.0.2.1").map(|all| all.len()), Some(1));
    }
}
