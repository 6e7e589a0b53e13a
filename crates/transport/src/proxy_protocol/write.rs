//! The PROXY header that we send: to a server behind, about a client in front.
//!
//! It sends nothing and decides nothing: whom it is told of, it writes down. The reading half
//! beside it takes exactly what stands here. Called by `origins` for servers that expect such a
//! header.

use super::V2_SIGNATURE;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// A version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProxyVersion {
    /// A line of text (section 2.1).
    V1,
    /// A binary header (section 2.2).
    V2,
}

/// Between whom the connection is that a header speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProxyEndpoints {
    /// The client.
    pub client: SocketAddr,
    /// Address that the client connected to.
    pub server: SocketAddr,
}

impl ProxyEndpoints {
    /// Both in one family: IPv4 if both are, be it within IPv6, and else IPv6.
    fn in_one_family(self) -> (SocketAddr, SocketAddr) {
        let plain = |it: SocketAddr| SocketAddr::new(it.ip().to_canonical(), it.port());
        let wide = |it: SocketAddr| match it.ip() {
            IpAddr::V4(four) => SocketAddr::new(four.to_ipv6_mapped().into(), it.port()),
            IpAddr::V6(_) => it,
        };
        let (client, server) = (plain(self.client), plain(self.server));
        if client.is_ipv4() == server.is_ipv4() {
            (client, server)
        } else {
            (wide(client), wide(server))
        }
    }
}

impl ProxyVersion {
    /// The header about `addresses`; without any, one that says that we speak for ourselves.
    pub fn header(self, addresses: Option<ProxyEndpoints>) -> Vec<u8> {
        match self {
            Self::V1 => v1(addresses),
            Self::V2 => v2(addresses),
        }
    }
}

fn v1(addresses: Option<ProxyEndpoints>) -> Vec<u8> {
    let Some(addresses) = addresses else { return b"PROXY UNKNOWN\r\n".to_vec() };
    let (client, server) = addresses.in_one_family();
    let family = if client.is_ipv4() { "TCP4" } else { "TCP6" };
    let (from, to) = (client.ip(), server.ip());
    format!("PROXY {family} {from} {to} {} {}\r\n", client.port(), server.port()).into_bytes()
}

fn v2(addresses: Option<ProxyEndpoints>) -> Vec<u8> {
    const LOCAL: u8 = 0x20;
    const PROXY: u8 = 0x21;
    let Some(addresses) = addresses else {
        return [&V2_SIGNATURE[..], &[LOCAL, 0x00, 0, 0]].concat();
    };
    let (client, server) = addresses.in_one_family();
    let (family, length): (u8, u8) = if client.is_ipv4() { (0x11, 12) } else { (0x21, 36) };
    let mut header = [&V2_SIGNATURE[..], &[PROXY, family, 0, length]].concat();
    for address in [client.ip(), server.ip()] {
        match address {
            IpAddr::V4(four) => header.extend(Ipv4Addr::octets(&four)),
            IpAddr::V6(six) => header.extend(six.octets()),
        }
    }
    header.extend(client.port().to_be_bytes());
    header.extend(server.port().to_be_bytes());
    header
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::super::{ProxyHeader, ProxyIntroduction, parse};
    use super::*;

    #[test]
    fn what_is_written_is_read_as_it_was_meant() {
        for (client, server, expected) in [
            ("192.0.2.7:56324", "198.51.100.1:443", "192.0.2.7:56324"),
            ("[2001:db8::7]:1", "[2001:db8::1]:443", "[2001:db8::7]:1"),
            ("[::ffff:192.0.2.7]:9", "198.51.100.1:443", "192.0.2.7:9"),
            ("192.0.2.7:9", "[2001:db8::1]:443", "[::ffff:192.0.2.7]:9"),
        ] {
            let (client, server) = (client.parse().unwrap(), server.parse().unwrap());
            for version in [ProxyVersion::V1, ProxyVersion::V2] {
                let header = version.header(Some(ProxyEndpoints { client, server }));
                let introduced = ProxyIntroduction::Client(expected.parse().unwrap());
                assert_eq!(parse(&header), Ok(ProxyHeader::Complete(introduced, header.len())));
            }
        }
    }

    #[test]
    fn without_a_client_we_speak_for_ourselves() {
        for version in [ProxyVersion::V1, ProxyVersion::V2] {
            let header = version.header(None);
            assert_eq!(
                parse(&header),
                Ok(ProxyHeader::Complete(ProxyIntroduction::Local, header.len()))
            );
        }
    }

    #[test]
    fn the_line_is_the_one_of_the_specification() {
        let (client, server) =
            ("192.0.2.7:5".parse().unwrap(), "198.51.100.1:443".parse().unwrap());
        let line = ProxyVersion::V1.header(Some(ProxyEndpoints { client, server }));
        assert_eq!(line, b"PROXY TCP4 192.0.2.7 198.51.100.1 5 443\r\n");
    }
}
