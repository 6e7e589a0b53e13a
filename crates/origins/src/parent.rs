//! Parent proxies: other proxies that requests are sent through, as they are written in settings.
//!
//! `http://user:password@host:port`, `https://…`, `socks5://…`, or `direct`. It connects to nobody.
//! Called by [`super::proxy_route`] and by whoever reads settings.

use super::origin::{Origin, OriginError, OriginScheme, UrlHost};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use resolver::{BadProxy, SocksCredentials};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// Tells how a parent is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParentKind {
    /// An HTTP proxy.
    Http,
    /// An HTTP proxy, over TLS.
    Https,
    /// A SOCKS5 proxy (RFC 1928). Names are the proxy's to look up.
    Socks5,
    /// A SOCKS4 proxy that looks names up itself (`SOCKS4a`). It knows no passwords.
    Socks4a,
}

/// A proxy in front of us.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ParentProxy {
    /// How it is spoken to.
    pub kind: ParentKind,
    /// Host.
    pub host: UrlHost,
    /// Port, never 0.
    pub port: u16,
    /// Who we are to it.
    pub credentials: Option<SocksCredentials>,
}

/// One way out: a parent, or none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ParentHop {
    /// To the origin itself.
    Direct,
    /// Through this proxy.
    Parent(ParentProxy),
}

/// Why a text is no parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadParent {
    /// No known scheme in front.
    Scheme,
    /// Host or port are wrong.
    Origin(OriginError),
    /// The port is missing: proxies have no usual one.
    NoPort,
    /// User name or password are missing, too long, or malformed.
    Credentials,
    /// A user and password for `SOCKS4a`, which knows none.
    NoPasswords,
}

const SCHEMES: [(&str, ParentKind); 5] = [
    ("http://", ParentKind::Http),
    ("https://", ParentKind::Https),
    ("socks5://", ParentKind::Socks5),
    // What curl calls it when the proxy looks names up: so do we, always.
    ("socks5h://", ParentKind::Socks5),
    ("socks4a://", ParentKind::Socks4a),
];

impl ParentProxy {
    /// Where it is, as an origin: for connections to an HTTP proxy.
    pub(super) fn origin(&self) -> Origin {
        let scheme = match self.kind {
            ParentKind::Http | ParentKind::Socks5 | ParentKind::Socks4a => OriginScheme::Http,
            ParentKind::Https => OriginScheme::Https,
        };
        Origin { scheme, host: self.host.clone(), port: self.port }
    }

    /// The `Proxy-Authorization` that it wants (RFC 7617), if it wants one.
    pub(super) fn authorization(&self) -> Option<HeaderValue> {
        let credentials = self.credentials.as_ref()?;
        let pair = format!("{}:{}", credentials.user(), credentials.password());
        let mut field = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(pair))).ok()?;
        field.set_sensitive(true);
        Some(field)
    }
}

impl FromStr for ParentProxy {
    type Err = BadParent;

    fn from_str(text: &str) -> Result<Self, BadParent> {
        let known =
            SCHEMES.iter().find_map(|(scheme, kind)| Some((text.strip_prefix(scheme)?, *kind)));
        let (rest, kind) = known.ok_or(BadParent::Scheme)?;
        let (credentials, authority) = match rest.rsplit_once('@') {
            None => (None, rest),
            Some((pair, authority)) => {
                let (user, password) = pair.split_once(':').ok_or(BadParent::Credentials)?;
                let credentials = SocksCredentials::new(&decoded(user)?, &decoded(password)?);
                (Some(credentials.map_err(|_: BadProxy| BadParent::Credentials)?), authority)
            }
        };
        if kind == ParentKind::Socks4a && credentials.is_some() {
            return Err(BadParent::NoPasswords);
        }
        let authority = authority.strip_suffix('/').unwrap_or(authority);
        if authority.contains(['/', '?', '#']) {
            return Err(BadParent::Origin(OriginError::Path));
        }
        let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| {
            !port.is_empty() && port.bytes().all(|digit| digit.is_ascii_digit())
        });
        let Origin { host, port, .. } =
            Origin::from_authority(OriginScheme::Http, authority).map_err(BadParent::Origin)?;
        if !has_port {
            return Err(BadParent::NoPort);
        }
        Ok(Self { kind, host, port, credentials })
    }
}

fn decoded(text: &str) -> Result<String, BadParent> {
    let text = percent_decode_str(text).decode_utf8().map_err(|_| BadParent::Credentials)?;
    Ok(text.into_owned())
}

impl FromStr for ParentHop {
    type Err = BadParent;

    fn from_str(text: &str) -> Result<Self, BadParent> {
        if text == "direct" { Ok(Self::Direct) } else { text.parse().map(Self::Parent) }
    }
}

impl settings::WrittenWord for ParentHop {
    const FORMAT: &'static str = "parent";
    const EXAMPLE: &'static str = "http://10.0.0.1:3128";

    fn redacted(text: &str) -> Cow<'_, str> {
        settings::without_credentials(text)
    }
}

impl ParentKind {
    /// True if requests are sent to it as they are, with absolute URLs.
    pub(super) const fn speaks_http(self) -> bool {
        match self {
            Self::Http | Self::Https => true,
            Self::Socks5 | Self::Socks4a => false,
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
            Self::Socks5 => "socks5",
            Self::Socks4a => "socks4a",
        }
    }
}

/// As it is written in settings, with the password.
impl fmt::Display for ParentProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://", self.kind.as_str())?;
        if let Some(credentials) = &self.credentials {
            let user = utf8_percent_encode(credentials.user(), NON_ALPHANUMERIC);
            let password = utf8_percent_encode(credentials.password(), NON_ALPHANUMERIC);
            write!(f, "{user}:{password}@")?;
        }
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Without the password.
impl fmt::Debug for ParentProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}:{}", self.kind.as_str(), self.host, self.port)
    }
}

impl fmt::Display for ParentHop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Direct => f.write_str("direct"),
            Self::Parent(parent) => parent.fmt(f),
        }
    }
}

impl fmt::Display for BadParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scheme => {
                f.write_str("write http://, https://, socks5:// or socks4a:// in front, or direct")
            }
            Self::Origin(why) => why.fmt(f),
            Self::NoPort => f.write_str("the port is missing"),
            Self::NoPasswords => {
                f.write_str("socks4a:// knows no user and password: leave them out")
            }
            Self::Credentials => {
                f.write_str("write user:password@, 1 to 255 bytes each, special ones as %XX")
            }
        }
    }
}

impl std::error::Error for BadParent {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_print_as_they_are_read() {
        let check = |text: &str, printed: &str| {
            assert_eq!(text.parse::<ParentHop>().unwrap().to_string(), printed, "{text}");
        };
        check("direct", "direct");
        check("http://Proxy.example:3128/", "http://proxy.example:3128");
        check("socks5h://[::1]:1080", "socks5://[::1]:1080");
        check("socks4a://tor.lan:9050", "socks4a://tor.lan:9050");
        check("https://me:p%40s%3As@10.0.0.1:443", "https://me:p%40s%3As@10.0.0.1:443");
        check("http://me:p@ss@10.0.0.1:1", "http://me:p%40ss@10.0.0.1:1");
    }

    #[test]
    fn what_is_no_parent_says_why() {
        let refused = |text: &str| text.parse::<ParentHop>().unwrap_err();
        assert_eq!(refused("ftp://a:1"), BadParent::Scheme);
        assert_eq!(refused("10.0.0.1:3128"), BadParent::Scheme);
        assert_eq!(refused("http://a.example"), BadParent::NoPort);
        assert_eq!(refused("http://[::1]"), BadParent::NoPort);
        assert_eq!(refused("http://a.example:1/x"), BadParent::Origin(OriginError::Path));
        assert_eq!(refused("http://me@a.example:1"), BadParent::Credentials);
        assert_eq!(refused("http://:x@a.example:1"), BadParent::Credentials);
    }

    #[test]
    fn a_password_is_sent_and_not_shown() {
        let parent: ParentProxy = "http://me:secret@10.0.0.1:1".parse().unwrap();
        assert!(!format!("{parent:?}").contains("secret"));
        assert_eq!(parent.authorization().unwrap(), "Basic bWU6c2VjcmV0");
    }
}
