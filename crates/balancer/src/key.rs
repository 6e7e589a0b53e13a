//! Parts of a request that keep it with a server: the key of a hash, the cookie of a client.
//!
//! It reads fields; it never asks whether they are true. Called by `pool`, and by the
//! settings' check.

use http::header::{COOKIE, HOST, HeaderMap, HeaderName};
use http::{Request, Uri};
use siphasher::sip::SipHasher13;
use std::fmt;
use std::hash::Hasher;
use std::net::IpAddr;
use std::str::FromStr;

/// Tells what a hash keeps together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HashKey {
    /// Path and query.
    Uri,
    /// Host, path and query.
    HostUri,
    /// The client's address.
    Client,
    /// A field.
    Header(HeaderName),
    /// A cookie.
    Cookie(String),
}

/// A text that is no such key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NoHashKey(String);

impl FromStr for HashKey {
    type Err = NoHashKey;
    fn from_str(text: &str) -> Result<Self, NoHashKey> {
        let wrong = || NoHashKey(text.into());
        match text.split_once(':') {
            None if text == "uri" => Ok(Self::Uri),
            None if text == "host+uri" => Ok(Self::HostUri),
            None if text == "client" => Ok(Self::Client),
            Some(("header", name)) => name.parse().map(Self::Header).map_err(|_| wrong()),
            Some(("cookie", name)) if is_token(name) => Ok(Self::Cookie(name.into())),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for NoHashKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is nothing that a hash could keep together", self.0)
    }
}

impl HashKey {
    /// The key of a request. One that lacks the field or cookie goes by its client.
    pub(crate) fn of<B>(&self, request: &Request<B>, client: IpAddr) -> u64 {
        let headers = request.headers();
        let mut hasher = SipHasher13::new();
        match self {
            Self::Uri => hasher.write(path(request.uri())),
            Self::HostUri => {
                hasher.write(headers.get(HOST).map_or(b"", |host| host.as_bytes()));
                hasher.write(path(request.uri()));
            }
            Self::Client => write_client(&mut hasher, client),
            Self::Header(name) => match headers.get(name) {
                Some(value) => hasher.write(value.as_bytes()),
                None => write_client(&mut hasher, client),
            },
            Self::Cookie(name) => match cookie(headers, name) {
                Some(value) => hasher.write(value.as_bytes()),
                None => write_client(&mut hasher, client),
            },
        }
        hasher.finish()
    }
}

fn path(uri: &Uri) -> &[u8] {
    uri.path_and_query().map_or(b"/", |path| path.as_str().as_bytes())
}

fn write_client(hasher: &mut SipHasher13, client: IpAddr) {
    match client {
        IpAddr::V4(v4) => hasher.write(&v4.octets()),
        IpAddr::V6(v6) => hasher.write(&v6.octets()),
    }
}

/// The value of a cookie (RFC 6265 §5.4); the first where there are several.
pub(crate) fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let fields = headers.get_all(COOKIE).into_iter().filter_map(|field| field.to_str().ok());
    let pairs = fields.flat_map(|field| field.split(';')).filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(key, value)| (key.trim(), value.trim()))
        .find(|(key, _)| *key == name)
        .map(|it| it.1)
}

/// True if it may be the name of a cookie or field (RFC 9110 §5.6.2), and a plain one.
pub(crate) fn is_token(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=64).contains(&name.len()) && name.bytes().all(plain)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    fn key(key: &str, uri: &str, cookies: &str, client: &str) -> u64 {
        let request = Request::builder().uri(uri).header("host", "a").header("cookie", cookies);
        key.parse::<HashKey>().unwrap().of(&request.body(()).unwrap(), client.parse().unwrap())
    }

    #[test]
    fn a_key_follows_what_it_names_and_nothing_else() {
        let one = ["/a?b", "x=1; user=ann", "10.0.0.1"];
        let other_client = key("client", one[0], one[1], "10.0.0.2");
        assert_ne!(key("client", one[0], one[1], one[2]), other_client);
        assert_eq!(key("client", "/z", "", one[2]), key("client", one[0], one[1], one[2]));
        assert_ne!(key("uri", "/a?c", one[1], one[2]), key("uri", one[0], one[1], one[2]));
        assert_eq!(key("uri", one[0], "", "::1"), key("uri", one[0], one[1], one[2]));
        let of_ann = key("cookie:user", one[0], one[1], one[2]);
        assert_eq!(of_ann, key("cookie:user", "/z", "user=ann", "::1"));
        assert_ne!(of_ann, key("cookie:user", "/z", "user=bob", "::1"));
        assert_eq!(other_client, key("header:x-none", "/z", "", "10.0.0.2"), "no such field");
        for wrong in ["", "url", "header:", "header:a b", "cookie:a=b", "cookie:"] {
            assert!(wrong.parse::<HashKey>().is_err(), "{wrong}");
        }
    }
}
