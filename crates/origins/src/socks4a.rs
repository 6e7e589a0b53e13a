//! `SOCKS4a`: the way to an origin through a proxy of that protocol, names being the proxy's to
//! look up.
//!
//! It asks for one connection and then gives the stream back. The user's name is left empty, as
//! proxies ignore it or ask `identd`. Sources: "SOCKS: A protocol for TCP proxy across firewalls"
//! and "SOCKS 4A", both of Ying-Da Lee. Called by [`super::through`].

use super::origin::UrlHost;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

const VERSION: u8 = 4;
const CONNECT: u8 = 1;
const GRANTED: u8 = 90;
/// The address that says that a name follows: 0.0.0.x with x other than 0.
const NAME_FOLLOWS: Ipv4Addr = Ipv4Addr::new(0, 0, 0, 1);

/// Has the proxy at the other end of `stream` connect to `host` and `port`. Sets no deadline. An
/// error of the kind `PermissionDenied` is the proxy's refusal.
pub(super) async fn connect_through<S>(stream: &mut S, host: &UrlHost, port: u16) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut request = vec![VERSION, CONNECT];
    request.extend(port.to_be_bytes());
    let (address, name) = match host {
        UrlHost::Address(IpAddr::V4(address)) => (*address, None),
        // It knows no other addresses, so that proxies read them where a name stands.
        UrlHost::Address(IpAddr::V6(address)) => (NAME_FOLLOWS, Some(address.to_string())),
        UrlHost::Name(name) => (NAME_FOLLOWS, Some(name.as_str().to_owned())),
    };
    request.extend(address.octets());
    request.push(0);
    if let Some(name) = name {
        request.extend(name.as_bytes());
        request.push(0);
    }
    stream.write_all(&request).await?;
    stream.flush().await?;
    let mut reply = [0; 8];
    stream.read_exact(&mut reply).await?;
    match reply {
        [0, GRANTED, ..] => Ok(()),
        [0, 91..=93, ..] => Err(io::ErrorKind::PermissionDenied.into()),
        _ => Err(io::Error::other("this is no SOCKS4 proxy")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;

    async fn asked(host: &str, reply: &[u8]) -> (Vec<u8>, io::Result<()>) {
        let (mut ours, mut theirs) = tokio::io::duplex(512);
        theirs.write_all(reply).await.unwrap();
        let host = match host.parse() {
            Ok(address) => UrlHost::Address(address),
            Err(_) => UrlHost::Name(vocab::DomainName::parse(host).unwrap()),
        };
        let outcome = connect_through(&mut ours, &host, 443).await;
        drop(ours);
        let mut request = Vec::new();
        theirs.read_to_end(&mut request).await.unwrap();
        (request, outcome)
    }

    #[tokio::test]
    async fn a_name_is_the_proxys_to_look_up() {
        let granted = [0, 90, 0, 0, 0, 0, 0, 0];
        let (request, outcome) = asked("www.example", &granted).await;
        assert_eq!(request, b"\x04\x01\x01\xbb\x00\x00\x00\x01\x00www.example\x00");
        assert!(outcome.is_ok());
        let (request, _) = asked("192.0.2.1", &granted).await;
        assert_eq!(request, b"\x04\x01\x01\xbb\xc0\x00\x02\x01\x00");
        let (request, _) = asked("2001:db8::1", &granted).await;
        assert_eq!(request, b"\x04\x01\x01\xbb\x00\x00\x00\x01\x002001:db8::1\x00");
    }

    #[tokio::test]
    async fn a_refusal_is_told_from_something_else() {
        let kind = async |reply: &[u8]| asked("www.example", reply).await.1.unwrap_err().kind();
        assert_eq!(kind(&[0, 91, 0, 0, 0, 0, 0, 0]).await, io::ErrorKind::PermissionDenied);
        assert_eq!(kind(b"HTTP/1.1 400").await, io::ErrorKind::Other);
        assert_eq!(kind(&[5, 0, 0, 0, 0, 0, 0, 0]).await, io::ErrorKind::Other);
        let (mut ours, theirs) = tokio::io::duplex(64);
        drop(theirs);
        let host = UrlHost::Address("192.0.2.1".parse().unwrap());
        assert!(connect_through(&mut ours, &host, 80).await.is_err());
    }
}
