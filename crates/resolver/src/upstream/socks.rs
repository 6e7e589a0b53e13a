//! SOCKS5 (RFC 1928), with user name and password (RFC 1929): the way to an upstream through a
//! proxy.
//!
//! It asks for one connection and then gives the stream back; it listens to nobody and carries no
//! datagrams. A name is handed to the proxy as a name, so nothing is looked up here. Called by
//! [`super::dialer`] and by the origins.

use crate::settings::address::{UpstreamHost, authority_parts};
use std::borrow::Cow;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The port of proxies (RFC 1928 §3).
const PORT_DEFAULT: u16 = 1080;
/// Bytes of a user name or of a password, at most (RFC 1929 §2).
const CREDENTIAL_BYTES_MAX: usize = 255;
const VERSION: u8 = 5;
const NO_AUTHENTICATION: u8 = 0;
const USER_AND_PASSWORD: u8 = 2;
const CONNECT: u8 = 1;
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;
const GRANTED: u8 = 0;

/// A proxy by its address: `127.0.0.1:1080`, `user:password@localhost:1080`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SocksProxy {
    /// Where it is.
    pub address: SocketAddr,
    /// Who we are to it, if it asks.
    pub credentials: Option<SocksCredentials>,
}

/// A user name and its password, 1 to 255 bytes each.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SocksCredentials {
    user: String,
    password: String,
}

/// Why a text is no proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadProxy {
    /// The host is a name, or none at all.
    Address,
    /// User name or password are missing, or too long.
    Credentials,
}

impl FromStr for SocksProxy {
    type Err = BadProxy;

    fn from_str(text: &str) -> Result<Self, BadProxy> {
        let (credentials, address) = match text.rsplit_once('@') {
            None => (None, text),
            Some((credentials, address)) => {
                let (user, password) = credentials.split_once(':').ok_or(BadProxy::Credentials)?;
                (Some(SocksCredentials::new(user, password)?), address)
            }
        };
        let address = match authority_parts(address, PORT_DEFAULT) {
            Ok((UpstreamHost::Ip(ip), port)) => SocketAddr::new(ip, port),
            Ok((UpstreamHost::Name(name), port)) if name.as_str() == "localhost" => {
                SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port)
            }
            Ok((UpstreamHost::Name(_), _)) | Err(_) => return Err(BadProxy::Address),
        };
        Ok(Self { address, credentials })
    }
}

impl SocksCredentials {
    /// A user name without a colon, and a password.
    pub fn new(user: &str, password: &str) -> Result<Self, BadProxy> {
        let fits = |it: &str| (1..=CREDENTIAL_BYTES_MAX).contains(&it.len());
        if !fits(user) || !fits(password) || user.contains(':') {
            return Err(BadProxy::Credentials);
        }
        Ok(Self { user: user.into(), password: password.into() })
    }

    /// The user name.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The password.
    pub fn password(&self) -> &str {
        &self.password
    }
}

/// As it is written in settings, with the password.
impl fmt::Display for SocksProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(SocksCredentials { user, password }) = &self.credentials {
            write!(f, "{user}:{password}@")?;
        }
        self.address.fmt(f)
    }
}

impl fmt::Debug for SocksProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({})", self.address)
    }
}

impl fmt::Debug for SocksCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(..)")
    }
}

impl fmt::Display for BadProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Address => {
                "that is no proxy: write its IP address (or localhost), as in 127.0.0.1:1080"
            }
            Self::Credentials => "write user:password@ before the proxy's address, 1 to 255 bytes",
        })
    }
}

impl std::error::Error for BadProxy {}

impl settings::WrittenWord for SocksProxy {
    const FORMAT: &'static str = "socks5";
    const EXAMPLE: &'static str = "127.0.0.1:1080";

    fn redacted(text: &str) -> Cow<'_, str> {
        settings::without_credentials(text)
    }
}

/// Has the proxy at the other end of `stream` connect to `host` and `port`. Sets no deadline.
pub async fn connect<S>(
    stream: &mut S,
    credentials: Option<&SocksCredentials>,
    host: &UpstreamHost,
    port: u16,
) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    negotiate(stream, credentials).await?;
    let mut request = vec![VERSION, CONNECT, 0];
    match host {
        UpstreamHost::Ip(IpAddr::V4(ip)) => {
            request.push(IPV4);
            request.extend(ip.octets());
        }
        UpstreamHost::Ip(IpAddr::V6(ip)) => {
            request.push(IPV6);
            request.extend(ip.octets());
        }
        UpstreamHost::Name(name) => {
            // A name is at most 253 bytes.
            request.extend([NAME, name.as_str().len() as u8]);
            request.extend(name.as_str().as_bytes());
        }
    }
    request.extend(port.to_be_bytes());
    stream.write_all(&request).await?;
    stream.flush().await?;
    let mut reply = [0; 4];
    stream.read_exact(&mut reply).await?;
    let [VERSION, GRANTED, _, kind] = reply else { return Err(refused()) };
    // The address that the proxy speaks from is of no interest, but stands before the data.
    let length = match kind {
        IPV4 => 4,
        IPV6 => 16,
        NAME => usize::from(stream.read_u8().await?),
        _ => return Err(refused()),
    };
    let mut bound = [0; 257];
    stream.read_exact(&mut bound[..length + 2]).await.map(drop)
}

/// Agrees on who we are.
async fn negotiate<S>(stream: &mut S, credentials: Option<&SocksCredentials>) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let methods: &[u8] = match credentials {
        None => &[VERSION, 1, NO_AUTHENTICATION],
        Some(_) => &[VERSION, 2, NO_AUTHENTICATION, USER_AND_PASSWORD],
    };
    stream.write_all(methods).await?;
    stream.flush().await?;
    let mut chosen = [0; 2];
    stream.read_exact(&mut chosen).await?;
    match (chosen, credentials) {
        ([VERSION, NO_AUTHENTICATION], _) => Ok(()),
        ([VERSION, USER_AND_PASSWORD], Some(SocksCredentials { user, password })) => {
            let mut request = vec![1, user.len() as u8];
            request.extend(user.as_bytes());
            request.push(password.len() as u8);
            request.extend(password.as_bytes());
            stream.write_all(&request).await?;
            stream.flush().await?;
            let mut outcome = [0; 2];
            stream.read_exact(&mut outcome).await?;
            if outcome[1] == 0 { Ok(()) } else { Err(refused()) }
        }
        _ => Err(refused()),
    }
}

fn refused() -> io::Error {
    io::ErrorKind::PermissionDenied.into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;

    fn check(given: &str, expected: Result<&str, BadProxy>) {
        assert_eq!(
            given.parse::<SocksProxy>().map(|it| it.to_string()),
            expected.map(str::to_owned)
        );
    }

    #[test]
    fn a_proxy_is_an_address_with_or_without_credentials() {
        check("127.0.0.1:1081", Ok("127.0.0.1:1081"));
        check("localhost", Ok("127.0.0.1:1080"));
        check("[::1]:1080", Ok("[::1]:1080"));
        check("me:p@ss:word@10.0.0.1:1080", Ok("me:p@ss:word@10.0.0.1:1080"));
        check("proxy.example:1080", Err(BadProxy::Address));
        check("me@10.0.0.1:1080", Err(BadProxy::Credentials));
        check(":x@10.0.0.1:1080", Err(BadProxy::Credentials));
        check(&format!("me:{}@10.0.0.1", "x".repeat(256)), Err(BadProxy::Credentials));
    }

    #[test]
    fn a_password_is_not_shown() {
        let proxy: SocksProxy = "me:secret@10.0.0.1:1080".parse().unwrap();
        assert!(!format!("{proxy:?}").contains("secret"));
    }

    /// What is asked of a proxy that replies so, and how it ends.
    async fn asked(
        credentials: Option<&SocksCredentials>,
        host: &UpstreamHost,
        replies: &[u8],
    ) -> (Vec<u8>, io::Result<()>) {
        let (mut ours, mut theirs) = tokio::io::duplex(1024);
        theirs.write_all(replies).await.unwrap();
        let outcome = connect(&mut ours, credentials, host, 853).await;
        drop(ours);
        let mut said = Vec::new();
        theirs.read_to_end(&mut said).await.unwrap();
        (said, outcome)
    }

    #[tokio::test]
    async fn names_and_addresses_are_asked_for() {
        let ip = UpstreamHost::Ip("192.0.2.7".parse().unwrap());
        let replies = b"\x05\x00\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00";
        let (said, outcome) = asked(None, &ip, replies).await;
        outcome.unwrap();
        assert_eq!(said, b"\x05\x01\x00\x05\x01\x00\x01\xc0\x00\x02\x07\x03\x55");
        let name = UpstreamHost::Name(vocab::DomainName::parse("dns.test").unwrap());
        let credentials = SocksCredentials { user: "me".into(), password: "pw".into() };
        let replies = b"\x05\x02\x01\x00\x05\x00\x00\x03\x02ab\x00\x00";
        let (said, outcome) = asked(Some(&credentials), &name, replies).await;
        outcome.unwrap();
        let expected = b"\x05\x02\x00\x02\x01\x02me\x02pw\x05\x01\x00\x03\x08dns.test\x03\x55";
        assert_eq!(said, expected);
    }

    #[tokio::test]
    async fn a_proxy_that_refuses_or_babbles_is_an_error() {
        let ip = UpstreamHost::Ip("192.0.2.7".parse().unwrap());
        let replies: [&[u8]; 5] = [
            b"\x05\xff",
            b"\x05\x02",
            b"\x04\x00",
            b"\x05\x00\x05\x05\x00\x01\x00\x00\x00\x00\x00\x00",
            b"\x05\x00\x05\x00\x00\x09\x00\x00\x00\x00\x00\x00",
        ];
        for reply in replies {
            let (_, outcome) = asked(None, &ip, reply).await;
            assert_eq!(outcome.unwrap_err().kind(), io::ErrorKind::PermissionDenied, "{reply:?}");
        }
    }
}
