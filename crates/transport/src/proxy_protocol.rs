//! The PROXY protocol, versions 1 and 2: who the client is, in the words of a proxy in front.
//!
//! It guesses nothing: bytes are a header, the beginning of one, or wrong, and nobody is believed
//! whom the caller has not asked for one. Not a byte behind the header is taken from the socket, so
//! TLS or HTTP follow untouched. Extensions (TLVs) are skipped. Called by doors through
//! [`Stream::read_proxy_header`], before anything else is read; `origins` writes such headers.
//!
//! The specification is `doc/proxy-protocol.txt` of `HAProxy`, of 2020/03/05.

mod write;

pub use write::{ProxyEndpoints, ProxyVersion};

use crate::stream::Stream;
use rustix::fd::AsFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;
use std::time::Duration;

/// Bytes of a header of version 1 with its line end, at most (section 2.1).
pub const V1_BYTES_MAX: usize = 107;
/// Bytes of a header of version 2, at most: what section 2.2 says every receiver must take. One
/// that is longer, by extensions, is refused.
pub const V2_BYTES_MAX: usize = 536;
/// A header must have come within this time; proxies send it before anything else, in one piece.
pub const PROXY_HEADER_DEADLINE: Duration = Duration::from_secs(5);

const V2_SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
const V2_FIXED_BYTES: usize = 16;

const _: () = assert!(V1_BYTES_MAX < V2_BYTES_MAX);

/// Tells whom a header speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyIntroduction {
    /// The proxy speaks for this client.
    Client(SocketAddr),
    /// The proxy speaks for itself (a health check), or does not know: its own address stands.
    Local,
}

/// Tells what the first bytes of a connection are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyHeader {
    /// A whole header of this many bytes.
    Complete(ProxyIntroduction, usize),
    /// The beginning of one.
    Incomplete,
}

/// Why a connection has no introduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotIntroduced {
    /// Begins otherwise.
    NoHeader,
    /// Begins so, and goes on wrongly.
    Malformed,
    /// Header is longer than is allowed.
    TooLong,
    /// Header did not come in time.
    Timeout,
    /// Ended or failed before its header was whole.
    Closed,
    /// The client that it speaks for has too many connections.
    ClientFull,
}

/// Reads the header that `bytes` begin with.
pub fn parse(bytes: &[u8]) -> Result<ProxyHeader, NotIntroduced> {
    let compared = bytes.len().min(V2_SIGNATURE.len());
    if bytes[..compared] == V2_SIGNATURE[..compared] {
        return parse_v2(bytes);
    }
    let compared = bytes.len().min(b"PROXY ".len());
    if bytes[..compared] == b"PROXY "[..compared] {
        return parse_v1(bytes);
    }
    Err(NotIntroduced::NoHeader)
}

fn parse_v1(bytes: &[u8]) -> Result<ProxyHeader, NotIntroduced> {
    let within = &bytes[..bytes.len().min(V1_BYTES_MAX)];
    let Some(end) = within.iter().position(|byte| *byte == b'\n') else {
        let is_full = within.len() == V1_BYTES_MAX;
        return if is_full { Err(NotIntroduced::TooLong) } else { Ok(ProxyHeader::Incomplete) };
    };
    let line = within[..end].strip_suffix(b"\r").and_then(|line| str::from_utf8(line).ok());
    let line = line.ok_or(NotIntroduced::Malformed)?;
    let introduced = words_v1(line).ok_or(NotIntroduced::Malformed)?;
    Ok(ProxyHeader::Complete(introduced, end + 1))
}

fn words_v1(line: &str) -> Option<ProxyIntroduction> {
    let mut words = line.split(' ');
    if words.next() != Some("PROXY") {
        return None;
    }
    let family = words.next()?;
    // What follows UNKNOWN is to be ignored (section 2.1).
    if family == "UNKNOWN" {
        return Some(ProxyIntroduction::Local);
    }
    let (client, server) = (words.next()?, words.next()?);
    let address = |text: &str| match family {
        "TCP4" => Ipv4Addr::from_str(text).ok().map(IpAddr::V4),
        "TCP6" => Ipv6Addr::from_str(text).ok().map(IpAddr::V6),
        _ => None,
    };
    let (client, _server) = (address(client)?, address(server)?);
    let (client_port, _server_port) = (port(words.next()?)?, port(words.next()?)?);
    match words.next() {
        None => Some(ProxyIntroduction::Client(SocketAddr::new(client, client_port))),
        Some(_) => None,
    }
}

/// Digits without a leading zero, up to 65535 (section 2.1); `u16::from_str` would take a sign.
fn port(text: &str) -> Option<u16> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    (is_plain && (text.len() == 1 || !text.starts_with('0'))).then(|| text.parse().ok())?
}

fn parse_v2(bytes: &[u8]) -> Result<ProxyHeader, NotIntroduced> {
    let Some((fixed, rest)) = bytes.split_first_chunk::<V2_FIXED_BYTES>() else {
        return Ok(ProxyHeader::Incomplete);
    };
    let [.., version_command, family_protocol, high, low] = *fixed;
    let length = usize::from(u16::from_be_bytes([high, low]));
    let for_another = match version_command {
        0x20 => false,
        0x21 => true,
        _ => return Err(NotIntroduced::Malformed),
    };
    if V2_FIXED_BYTES + length > V2_BYTES_MAX {
        return Err(NotIntroduced::TooLong);
    }
    if rest.len() < length {
        return Ok(ProxyHeader::Incomplete);
    }
    let body = &rest[..length];
    let introduced = match (for_another, family_protocol) {
        // LOCAL: what follows is to be skipped. UNSPEC: the sender does not know.
        (false, _) | (true, 0x00) => ProxyIntroduction::Local,
        (true, 0x11) => client_v2::<4>(body)?,
        (true, 0x21) => client_v2::<16>(body)?,
        // Datagrams and sockets of files do not come over TCP.
        (true, _) => return Err(NotIntroduced::Malformed),
    };
    Ok(ProxyHeader::Complete(introduced, V2_FIXED_BYTES + length))
}

/// Two addresses, then two ports; the client's come first. Extensions may follow.
fn client_v2<const N: usize>(body: &[u8]) -> Result<ProxyIntroduction, NotIntroduced>
where
    IpAddr: From<[u8; N]>,
{
    let client = || {
        let (client, rest) = body.split_first_chunk::<N>()?;
        let (_server, rest) = rest.split_first_chunk::<N>()?;
        let ([high, low, _, _], _extensions) = rest.split_first_chunk::<4>()?;
        Some(SocketAddr::new(IpAddr::from(*client), u16::from_be_bytes([*high, *low])))
    };
    client().map(ProxyIntroduction::Client).ok_or(NotIntroduced::Malformed)
}

impl Stream {
    /// Takes the header with which a proxy begins a connection, within `deadline`; from then on
    /// [`Stream::peer`] is the client of whom it speaks, and counts under the caps as that client.
    pub async fn read_proxy_header(mut self, deadline: Duration) -> Result<Self, NotIntroduced> {
        let introduced = match tokio::time::timeout(deadline, self.take_proxy_header()).await {
            Ok(taken) => taken?,
            Err(_) => return Err(NotIntroduced::Timeout),
        };
        match introduced {
            ProxyIntroduction::Local => Ok(self),
            ProxyIntroduction::Client(client) if self.set_client(client) => Ok(self),
            ProxyIntroduction::Client(_) => Err(NotIntroduced::ClientFull),
        }
    }

    async fn take_proxy_header(&mut self) -> Result<ProxyIntroduction, NotIntroduced> {
        // One byte more than a header may have, so that one too long is seen to be.
        let mut bytes = [0; V2_BYTES_MAX + 1];
        let mut taken = 0;
        loop {
            let peeked = match recv(self.as_fd(), &mut bytes[taken..], RecvFlags::PEEK) {
                Ok((_, 0)) => return Err(NotIntroduced::Closed),
                Ok((_, count)) => count,
                Err(Errno::AGAIN) => {
                    self.readable_again().await.map_err(|_| NotIntroduced::Closed)?;
                    continue;
                }
                Err(_) => return Err(NotIntroduced::Closed),
            };
            let seen = taken + peeked;
            let (end, whole) = match parse(&bytes[..seen])? {
                ProxyHeader::Complete(introduced, length) => (length, Some(introduced)),
                // All that was seen belongs to the header, whatever follows.
                ProxyHeader::Incomplete if seen < bytes.len() => (seen, None),
                ProxyHeader::Incomplete => return Err(NotIntroduced::TooLong),
            };
            self.discard(end - taken)?;
            if let Some(introduced) = whole {
                return Ok(introduced);
            }
            taken = end;
        }
    }

    /// Takes bytes that have been looked at out of the socket.
    fn discard(&self, count: usize) -> Result<(), NotIntroduced> {
        let mut bytes = [0; V2_BYTES_MAX + 1];
        match recv(self.as_fd(), &mut bytes[..count], RecvFlags::empty()) {
            Ok((_, taken)) if taken == count => Ok(()),
            Ok(_) | Err(_) => Err(NotIntroduced::Closed),
        }
    }
}

impl fmt::Display for NotIntroduced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoHeader => "no PROXY header came first",
            Self::Malformed => "the PROXY header is malformed",
            Self::TooLong => "the PROXY header is too long",
            Self::Timeout => "the PROXY header did not come in time",
            Self::Closed => "the connection ended before its PROXY header",
            Self::ClientFull => "the client behind the proxy has too many connections",
        })
    }
}

impl std::error::Error for NotIntroduced {}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn client(text: &str) -> ProxyIntroduction {
        ProxyIntroduction::Client(text.parse().unwrap())
    }

    fn v2(version_command: u8, family_protocol: u8, body: &[u8]) -> Vec<u8> {
        let length = u16::try_from(body.len()).unwrap().to_be_bytes();
        let fixed = [version_command, family_protocol, length[0], length[1]];
        [V2_SIGNATURE, &fixed[..], body].concat()
    }

    /// Whole with something behind it, and every part of it only a beginning.
    fn check(header: &[u8], expected: ProxyIntroduction) {
        let whole = Ok(ProxyHeader::Complete(expected, header.len()));
        assert_eq!(parse(header), whole, "{}", header.escape_ascii());
        assert_eq!(parse(&[header, b"GET / HTTP/1.1"].concat()), whole);
        for part in 0..header.len() {
            assert_eq!(parse(&header[..part]), Ok(ProxyHeader::Incomplete), "{part} bytes");
        }
    }

    #[test]
    fn version_1_names_the_client() {
        let longest = b"PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n";
        check(b"PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\r\n", client("192.0.2.7:56324"));
        check(b"PROXY TCP6 2001:db8::7 2001:db8::1 0 443\r\n", client("[2001:db8::7]:0"));
        check(b"PROXY UNKNOWN\r\n", ProxyIntroduction::Local);
        check(longest, ProxyIntroduction::Local);
    }

    #[test]
    fn version_2_names_the_client() {
        let four = [192, 0, 2, 7, 198, 51, 100, 1, 0xDC, 0x04, 1, 187];
        check(&v2(0x21, 0x11, &four), client("192.0.2.7:56324"));
        let extended = [&four[..], &[0x04, 0, 2, 9, 9]].concat();
        check(&v2(0x21, 0x11, &extended), client("192.0.2.7:56324"));
        let mut six = [0; 36];
        (six[0], six[1], six[15], six[32], six[33]) = (0x20, 0x01, 7, 0x01, 0x02);
        check(&v2(0x21, 0x21, &six), client("[2001::7]:258"));
        check(&v2(0x20, 0x00, &[]), ProxyIntroduction::Local);
        check(&v2(0x20, 0x11, &four), ProxyIntroduction::Local);
        check(&v2(0x21, 0x00, b"whatever"), ProxyIntroduction::Local);
        check(&v2(0x21, 0x11, &[7; V2_BYTES_MAX - 16]), client("7.7.7.7:1799"));
    }

    #[test]
    fn what_is_not_exactly_a_header_is_refused() {
        use NotIntroduced::{Malformed, NoHeader, TooLong};
        let long_line = [&b"PROXY UNKNOWN "[..], &[b'x'; 100]].concat();
        for (bytes, expected) in [
            (b"GET / HTTP/1.1\r\n\r\n".to_vec(), NoHeader),
            (b"\x16\x03\x01\x02\x00".to_vec(), NoHeader),
            (b"PROXI".to_vec(), NoHeader),
            (b" PROXY TCP4".to_vec(), NoHeader),
            (b"PROXY TCP4 192.0.2.7 198.51.100.1 1 2\n".to_vec(), Malformed),
            (b"PROXY TCP4 192.0.2.7 198.51.100.1 1\r\n".to_vec(), Malformed),
            (b"PROXY TCP4 192.0.2.7 198.51.100.1 1 2 3\r\n".to_vec(), Malformed),
            (b"PROXY TCP4 192.0.2.7  198.51.100.1 1 2\r\n".to_vec(), Malformed),
            (b"PROXY TCP4 192.0.2.7 198.51.100.1 01 2\r\n".to_vec(), Malformed),
            (b"PROXY TCP4 192.0.2.7 198.51.100.1 +1 2\r\n".to_vec(), Malformed),
            (b"PROXY TCP4 192.0.2.7 198.51.100.1 65536 2\r\n".to_vec(), Malformed),
            (b"PROXY TCP4 192.0.2.7 198.51.100.1  2\r\n".to_vec(), Malformed),
            (b"PROXY TCP4 192.0.2.700 198.51.100.1 1 2\r\n".to_vec(), Malformed),
            (b"PROXY TCP4 2001:db8::7 2001:db8::1 1 2\r\n".to_vec(), Malformed),
            (b"PROXY TCP6 192.0.2.7 198.51.100.1 1 2\r\n".to_vec(), Malformed),
            (b"PROXY UDP4 192.0.2.7 198.51.100.1 1 2\r\n".to_vec(), Malformed),
            (b"PROXY \xFF\r\n".to_vec(), Malformed),
            (long_line, TooLong),
            (v2(0x11, 0x11, &[0; 12]), Malformed),
            (v2(0x22, 0x11, &[0; 12]), Malformed),
            (v2(0x21, 0x11, &[0; 11]), Malformed),
            (v2(0x21, 0x21, &[0; 35]), Malformed),
            (v2(0x21, 0x12, &[0; 12]), Malformed),
            (v2(0x21, 0x31, &[0; 216]), Malformed),
            (v2(0x21, 0x11, &[0; V2_BYTES_MAX - 15]), TooLong),
        ] {
            assert_eq!(parse(&bytes), Err(expected), "{}", bytes.escape_ascii());
        }
    }

    /// Every single-byte change of good headers: no panic, and never a length beyond what is there.
    #[test]
    fn changed_bytes_never_reach_beyond_the_header() {
        let four = [192, 0, 2, 7, 198, 51, 100, 1, 0xDC, 0x04, 1, 187];
        let line = b"PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\r\nGET".to_vec();
        for good in [line, v2(0x21, 0x11, &four), v2(0x21, 0x21, &[1; 40])] {
            for at in 0..good.len() {
                for byte in 0..=u8::MAX {
                    let mut changed = good.clone();
                    changed[at] = byte;
                    if let Ok(ProxyHeader::Complete(_, length)) = parse(&changed) {
                        assert!(length <= changed.len(), "{}", changed.escape_ascii());
                    }
                }
            }
        }
    }
}
