//! SOCKS5 at the proxy's own port (RFC 1928, RFC 1929): a client's `CONNECT` in another dress.
//!
//! The handshake becomes a request of HTTP, and the answer's head the reply (`connecting_client`).
//! A client whose first byte is none of SOCKS5 speaks HTTP. It decides nothing. Called by `serve`.

use crate::connecting_client::{ConnectingClient, TunnelOutcome};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

const VERSION: u8 = 5;
const NO_AUTHENTICATION: u8 = 0;
const USER_AND_PASSWORD: u8 = 2;
const NO_METHOD: u8 = 0xff;
const CONNECT: u8 = 1;
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;
/// Reply to a request (RFC 1928 section 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SocksReply {
    Granted = 0,
    Failed = 1,
    NotAllowed = 2,
    HostUnreachable = 4,
    ConnectionRefused = 5,
    UnknownCommand = 7,
    UnknownAddress = 8,
}

/// Tells whether clients have to say who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocksLogin {
    /// The proxy knows users: a client that can tell its name is asked for it.
    Asked,
    /// Nobody is asked.
    NotAsked,
}

/// Reads a client's first bytes. Sets no deadline. An error is a client that broke off, or one that
/// was told what it did wrong.
pub async fn accept_socks<S>(mut stream: S, login: SocksLogin) -> io::Result<ConnectingClient<S>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let first = stream.read_u8().await?;
    if first != VERSION {
        return Ok(ConnectingClient::as_it_is(stream, vec![first]));
    }
    let credentials = negotiate(&mut stream, login).await?;
    let authority = match read_target(&mut stream).await? {
        Ok(authority) => authority,
        Err(reply) => {
            stream.write_all(&reply.bytes()).await?;
            stream.flush().await?;
            return Err(io::ErrorKind::InvalidData.into());
        }
    };
    let mut request = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n");
    if let Some(pair) = credentials {
        request.extend(["Proxy-Authorization: Basic ", &STANDARD.encode(pair), "\r\n"]);
    }
    request.push_str("\r\n");
    Ok(ConnectingClient::asking(stream, request.into_bytes(), reply_to))
}

/// Agrees on how the client says who it is: `user:password`, if it does. Whether that is right is
/// found out with the request.
async fn negotiate<S>(stream: &mut S, login: SocksLogin) -> io::Result<Option<Vec<u8>>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut methods = vec![0; usize::from(stream.read_u8().await?)];
    stream.read_exact(&mut methods).await?;
    let knows = |method| methods.contains(&method);
    let chosen = match login {
        SocksLogin::Asked if knows(USER_AND_PASSWORD) => USER_AND_PASSWORD,
        SocksLogin::Asked | SocksLogin::NotAsked if knows(NO_AUTHENTICATION) => NO_AUTHENTICATION,
        // Some clients offer nothing else, and send words that nobody asked for.
        SocksLogin::NotAsked if knows(USER_AND_PASSWORD) => USER_AND_PASSWORD,
        SocksLogin::Asked | SocksLogin::NotAsked => NO_METHOD,
    };
    stream.write_all(&[VERSION, chosen]).await?;
    stream.flush().await?;
    match chosen {
        NO_AUTHENTICATION => return Ok(None),
        USER_AND_PASSWORD => {}
        _ => return Err(io::ErrorKind::InvalidData.into()),
    }
    if stream.read_u8().await? != 1 {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut user = vec![0; usize::from(stream.read_u8().await?)];
    stream.read_exact(&mut user).await?;
    let mut password = vec![0; usize::from(stream.read_u8().await?)];
    stream.read_exact(&mut password).await?;
    stream.write_all(&[1, 0]).await?;
    stream.flush().await?;
    // A colon in the name would be read as its end.
    let is_named = !user.is_empty() && !user.contains(&b':');
    Ok(is_named.then(|| [&user[..], b":", &password].concat()))
}

/// Where the client wants to go, as `host:port`, or what it is told instead.
async fn read_target<S>(stream: &mut S) -> io::Result<Result<String, SocksReply>>
where
    S: AsyncRead + Unpin,
{
    let mut head = [0; 4];
    stream.read_exact(&mut head).await?;
    let [VERSION, command, _, kind] = head else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let host = match kind {
        IPV4 => Some(Ipv4Addr::from(stream.read_u32().await?).to_string()),
        IPV6 => Some(format!("[{}]", Ipv6Addr::from(stream.read_u128().await?))),
        NAME => {
            let mut name = vec![0; usize::from(stream.read_u8().await?)];
            stream.read_exact(&mut name).await?;
            host_of(&name)
        }
        _ => return Ok(Err(SocksReply::UnknownAddress)),
    };
    let port = stream.read_u16().await?;
    if command != CONNECT {
        return Ok(Err(SocksReply::UnknownCommand));
    }
    Ok(host.map(|host| format!("{host}:{port}")).ok_or(SocksReply::UnknownAddress))
}

/// A host as it stands in a request line. None for bytes that no name has: they could end the line.
fn host_of(name: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(name).ok()?;
    if text.parse::<Ipv6Addr>().is_ok() {
        return Some(format!("[{text}]"));
    }
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    (!text.is_empty() && text.bytes().all(is_plain)).then(|| text.to_owned())
}

/// The reply that says the same as an answer with this outcome.
fn reply_to(outcome: TunnelOutcome) -> Vec<u8> {
    SocksReply::from(outcome).bytes().to_vec()
}

impl From<TunnelOutcome> for SocksReply {
    fn from(outcome: TunnelOutcome) -> Self {
        match outcome {
            TunnelOutcome::Granted => Self::Granted,
            TunnelOutcome::NotAllowed => Self::NotAllowed,
            TunnelOutcome::ConnectionRefused => Self::ConnectionRefused,
            TunnelOutcome::HostUnreachable => Self::HostUnreachable,
            TunnelOutcome::Failed => Self::Failed,
        }
    }
}

impl SocksReply {
    /// The reply with the address that it leaves from, which is of no interest to anybody.
    const fn bytes(self) -> [u8; 10] {
        [VERSION, self as u8, 0, IPV4, 0, 0, 0, 0, 0, 0]
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;

    /// What a client that says `said` is heard to say, and what it is told.
    async fn heard(said: &[u8], login: SocksLogin) -> (io::Result<String>, Vec<u8>) {
        let (ours, mut theirs) = tokio::io::duplex(1024);
        theirs.write_all(said).await.unwrap();
        theirs.shutdown().await.unwrap();
        let accepted = accept_socks(ours, login).await;
        let text = match accepted {
            Ok(mut client) => {
                let mut text = String::new();
                client.read_to_string(&mut text).await.map(|_| text)
            }
            Err(why) => Err(why),
        };
        let mut told = Vec::new();
        theirs.read_to_end(&mut told).await.unwrap();
        (text, told)
    }

    #[tokio::test]
    async fn a_request_becomes_one_of_http() {
        let to_name = b"\x05\x01\x00\x05\x01\x00\x03\x0bwww.example\x01\xbbabc";
        let (text, told) = heard(to_name, SocksLogin::NotAsked).await;
        let expected = "CONNECT www.example:443 HTTP/1.1\r\nHost: www.example:443\r\n\r\nabc";
        assert_eq!((text.unwrap().as_str(), &told[..]), (expected, &[5, 0][..]));
        for (address, host) in [
            (&b"\x01\xc0\x00\x02\x01"[..], "192.0.2.1"),
            (b"\x04\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01", "[2001:db8::1]"),
            (b"\x03\x0b2001:db8::2", "[2001:db8::2]"),
        ] {
            let said = [&b"\x05\x01\x00\x05\x01\x00"[..], address, b"\x00\x50"].concat();
            let (text, _) = heard(&said, SocksLogin::NotAsked).await;
            let expected = format!("CONNECT {host}:80 HTTP/1.1\r\nHost: {host}:80\r\n\r\n");
            assert_eq!(text.unwrap(), expected);
        }
    }

    #[tokio::test]
    async fn a_user_is_asked_for_where_there_are_users() {
        let said = b"\x05\x02\x00\x02\x01\x03ann\x02pw\x05\x01\x00\x01\xc0\x00\x02\x01\x00\x50";
        let (text, told) = heard(said, SocksLogin::Asked).await;
        assert!(text.unwrap().contains("Proxy-Authorization: Basic YW5uOnB3\r\n"));
        assert_eq!(told, [5, 2, 1, 0]);
        let without = b"\x05\x01\x00\x05\x01\x00\x01\xc0\x00\x02\x01\x00\x50";
        let (text, told) = heard(without, SocksLogin::Asked).await;
        assert!(!text.unwrap().contains("Authorization"), "clients may be exempt");
        assert_eq!(told, [5, 0]);
    }

    #[tokio::test]
    async fn what_is_no_socks5_is_http() {
        let (text, told) = heard(b"GET http://a/ HTTP/1.1\r\n\r\n", SocksLogin::Asked).await;
        assert_eq!(
            (text.unwrap().as_str(), &told[..]),
            ("GET http://a/ HTTP/1.1\r\n\r\n", &[][..])
        );
    }

    #[tokio::test]
    async fn what_cannot_be_done_is_told() {
        for (request, reply) in [
            (&b"\x05\x03\x00\x01\xc0\x00\x02\x01\x00\x50"[..], 7),
            (b"\x05\x02\x00\x03\x01a\x00\x50", 7),
            (b"\x05\x01\x00\x09", 8),
            (b"\x05\x01\x00\x03\x00\x00\x50", 8),
            (b"\x05\x01\x00\x03\x07a\r\nb: c\x00\x50", 8),
            (b"\x05\x01\x00\x03\x05a b@c\x00\x50", 8),
        ] {
            let said = [b"\x05\x01\x00", request].concat();
            let (text, told) = heard(&said, SocksLogin::NotAsked).await;
            assert!(text.is_err(), "{request:?}");
            assert_eq!(told[2..4], [5, reply], "{request:?}");
        }
        let (text, told) = heard(b"\x05\x01\x01", SocksLogin::NotAsked).await;
        assert!(text.is_err() && told == [5, 0xff]);
    }

    #[tokio::test]
    async fn the_answers_head_becomes_a_reply_however_it_is_written() {
        for (head, reply) in [
            ("HTTP/1.1 200 OK\r\nDate: x\r\n\r\n", 0),
            ("HTTP/1.1 403 Forbidden\r\n\r\n", 2),
            ("HTTP/1.1 407 x\r\n\r\n", 2),
            ("HTTP/1.1 502 x\r\nProxy-Status: tidegate; error=connection_refused\r\n\r\n", 5),
            ("HTTP/1.1 502 x\r\nProxy-Status: a; error=destination_ip_prohibited\r\n\r\n", 2),
            ("HTTP/1.1 504 x\r\n\r\n", 4),
            ("HTTP/1.1 400 x\r\n\r\n", 1),
        ] {
            for piece in [1, 7, 1000] {
                let (ours, mut theirs) = tokio::io::duplex(4);
                let mut client = ConnectingClient::asking(ours, vec![], reply_to);
                let sent = async {
                    let all = [head.as_bytes(), b"more"].concat();
                    for bytes in all.chunks(piece) {
                        client.write_all(bytes).await.unwrap();
                    }
                    client.shutdown().await.unwrap();
                };
                let mut told = Vec::new();
                let ((), read) = tokio::join!(sent, theirs.read_to_end(&mut told));
                read.unwrap();
                let rest: &[u8] = if reply == 0 { b"more" } else { b"" };
                assert_eq!(told, [&[5, reply, 0, 1, 0, 0, 0, 0, 0, 0], rest].concat(), "{head}");
            }
        }
    }
}
