//! The key by which requests share a limit: the client, the route, or the value of a field or
//! cookie.
//!
//! It keeps nothing of what it reads: a key is a number that nobody outside can foresee. Called by
//! the guards, and by the settings' check.

use http::header::{COOKIE, HeaderMap, HeaderName, InvalidHeaderName};
use pipeline::limiter::ClientPrefixes;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::IpAddr;

/// An IPv6 client has a /64 to itself, so that is one client.
const PREFIXES: ClientPrefixes = ClientPrefixes { ipv4: 32, ipv6: 64 };

/// Tells what tells requests apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LimitKey {
    Client,
    Route,
    Header(HeaderName),
    Cookie(String),
}

/// Why a text is no key.
#[derive(Debug)]
pub(crate) enum BadLimitKey {
    /// The name is none of a field.
    FieldName(String, InvalidHeaderName),
    /// None of the keys is written so.
    Unknown(String),
}

impl LimitKey {
    /// Reads `client`, `route`, `header:NAME` or `cookie:NAME`.
    pub(crate) fn parse(text: &str) -> Result<Self, BadLimitKey> {
        let is_token = |name: &str| !name.is_empty() && HeaderName::try_from(name).is_ok();
        match text.split_once(':') {
            None if text == "client" => Ok(Self::Client),
            None if text == "route" => Ok(Self::Route),
            Some(("header", name)) => HeaderName::try_from(name)
                .map(Self::Header)
                .map_err(|why| BadLimitKey::FieldName(name.into(), why)),
            Some(("cookie", name)) if is_token(name) => Ok(Self::Cookie(name.into())),
            _ => Err(BadLimitKey::Unknown(text.into())),
        }
    }

    /// Returns its name in `RateLimit`.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Route => "route",
            Self::Header(_) => "header",
            Self::Cookie(_) => "cookie",
        }
    }

    /// Feeds what a request shows to `hasher`. Who shows no such field or cookie is told apart by
    /// address.
    pub(crate) fn feed(&self, client: IpAddr, headers: &HeaderMap, hasher: &mut impl Hasher) {
        let shown = match self {
            Self::Route => return hasher.write_u8(1),
            Self::Client => None,
            Self::Header(name) => headers.get(name).map(http::HeaderValue::as_bytes),
            Self::Cookie(name) => cookie(headers, name),
        };
        match shown {
            Some(shown) => {
                hasher.write_u8(2);
                shown.hash(hasher);
            }
            None => PREFIXES.feed(client, hasher),
        }
    }
}

impl fmt::Display for BadLimitKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FieldName(name, why) => write!(f, "{name:?} is no field: {why}"),
            Self::Unknown(text) => write!(f, "{text:?} is no key"),
        }
    }
}

impl std::error::Error for BadLimitKey {}

/// The value of a cookie (RFC 6265 §4.2).
fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h [u8]> {
    let lines = headers.get_all(COOKIE).iter();
    let mut pairs = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b';'));
    pairs.find_map(|pair| pair.trim_ascii().strip_prefix(name.as_bytes())?.strip_prefix(b"="))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::DefaultHasher;

    fn number(key: &str, client: &str, fields: &[(&'static str, &'static str)]) -> u64 {
        let field = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), http::HeaderValue::from_static(value))
        };
        let headers: HeaderMap = fields.iter().map(field).collect();
        let mut hasher = DefaultHasher::new();
        LimitKey::parse(key).unwrap().feed(client.parse().unwrap(), &headers, &mut hasher);
        hasher.finish()
    }

    #[test]
    fn keys_tell_apart_what_they_name_and_nothing_else() {
        let same =
            |key, a: (&str, &[_]), b: (&str, &[_])| number(key, a.0, a.1) == number(key, b.0, b.1);
        let (one, two) = ("10.0.0.1", "10.0.0.2");
        assert!(!same("client", (one, &[]), (two, &[])));
        assert!(same("client", ("2001:db8::1", &[]), ("2001:db8::2", &[])));
        assert!(!same("client", ("2001:db8::1", &[]), ("2001:db8:0:1::1", &[])));
        assert!(same("route", (one, &[]), (two, &[])));
        let ann = [("x-key", "ann"), ("cookie", "a=b; sid=ann;x=y")];
        let bob = [("x-key", "bob"), ("cookie", "xsid=ann; sid=bob")];
        for key in ["header:X-Key", "cookie:sid"] {
            assert!(same(key, (one, &ann), (two, &ann)), "{key}");
            assert!(!same(key, (one, &ann), (one, &bob)), "{key}");
            assert!(!same(key, (one, &[]), (two, &[])), "{key}");
        }
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for text in ["", "clients", "header:", "header:a b", "cookie:", "cookie:a=b", "ip:1"] {
            assert!(LimitKey::parse(text).is_err(), "{text}");
        }
    }
}
