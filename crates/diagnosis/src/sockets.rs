//! Sockets that listen on this machine, as `/proc/net` lists them (`proc_pid_net(5)`).
//!
//! What makes no sense there is passed over.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Sockets that are read, at most.
const SOCKETS_MAX: usize = 1 << 20;

/// Protocol of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketProtocol {
    /// TCP; of its sockets those that listen.
    Tcp,
    /// UDP; of its sockets those that have not been given a peer.
    Udp,
}

/// A socket that takes what comes to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListeningSocket {
    /// The protocol.
    pub protocol: SocketProtocol,
    /// The address.
    pub address: SocketAddr,
    /// Number, by which processes hold it.
    pub inode: u64,
}

impl SocketProtocol {
    /// The state of a listening socket.
    const fn listening(self) -> &'static str {
        match self {
            Self::Tcp => "0A",
            // TCP_CLOSE: bound, without a peer.
            Self::Udp => "07",
        }
    }

    /// Names of the tables.
    pub(crate) const fn tables(self) -> [&'static str; 2] {
        match self {
            Self::Tcp => ["tcp", "tcp6"],
            Self::Udp => ["udp", "udp6"],
        }
    }
}

impl ListeningSocket {
    /// True if it takes what is sent to `address`, or `address` would take what it does.
    pub(crate) fn is_in_the_way(&self, address: SocketAddr) -> bool {
        let both_families = |ip: IpAddr| ip == IpAddr::V6(Ipv6Addr::UNSPECIFIED);
        let (ours, theirs) = (address.ip(), self.address.ip());
        let same = ours == theirs
            || both_families(theirs)
            || ours.is_ipv4() == theirs.is_ipv4()
                && (ours.is_unspecified() || theirs.is_unspecified());
        address.port() == self.address.port() && same
    }
}

/// The listening sockets of one table.
pub fn parse_sockets(table: &str, protocol: SocketProtocol) -> Vec<ListeningSocket> {
    let socket = |line: &str| {
        // sl local_address rem_address st tx_queue rx_queue tr tm->when retrnsmt uid timeout inode
        let mut words = line.split_ascii_whitespace().skip(1);
        let (local, _, state) = (words.next()?, words.next()?, words.next()?);
        let inode = words.nth(5)?.parse().ok()?;
        let address = address(local)?;
        (state == protocol.listening()).then_some(ListeningSocket { protocol, address, inode })
    };
    table.lines().skip(1).take(SOCKETS_MAX).filter_map(socket).collect()
}

/// `0100007F:0035`: words of 32 bits in the machine's order, then the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| {
        let digits = ip.get(at * 8..at * 8 + 8)?;
        Some(u32::from_str_radix(digits, 16).ok()?.to_ne_bytes())
    };
    let ip = match ip.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let mut bytes = [0; 16];
            for at in 0..4 {
                bytes[at * 4..at * 4 + 4].copy_from_slice(&word(at)?);
            }
            IpAddr::V6(Ipv6Addr::from(bytes))
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    const HEAD: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";

    #[cfg(target_endian = "little")]
    #[test]
    fn listening_sockets_are_read_and_others_passed_over() {
        let table = format!(
            "{HEAD}   0: 3500007F:0035 00000000:0000 0A 00000000:00000000 00:00000000 00000000   102        0 21847 1\n   \
             1: 0100007F:8124 0100007F:0035 01 00000000:00000000 00:00000000 00000000  1000        0 999 1\n\
             no sense\n   2: 00:0035 x 0A\n"
        );
        let found = parse_sockets(&table, SocketProtocol::Tcp);
        let expected = ListeningSocket {
            protocol: SocketProtocol::Tcp,
            address: "127.0.0.53:53".parse().unwrap(),
            inode: 21847,
        };
        assert_eq!(found, [expected]);
        let six = format!(
            "{HEAD}  9: 00000000000000000000000001000000:1F90 0:0 07 0:0 00:0 0 0 0 77 2 0 0\n"
        );
        let found = parse_sockets(&six, SocketProtocol::Udp);
        assert_eq!(found[0].address, "[::1]:8080".parse().unwrap());
    }

    #[test]
    fn a_socket_is_in_the_way_of_its_address_and_of_all_addresses() {
        let at = |text: &str| ListeningSocket {
            protocol: SocketProtocol::Udp,
            address: text.parse().unwrap(),
            inode: 1,
        };
        let way = |theirs: &str, ours: &str| at(theirs).is_in_the_way(ours.parse().unwrap());
        assert!(way("127.0.0.53:53", "0.0.0.0:53") && way("0.0.0.0:53", "10.0.0.1:53"));
        assert!(way("[::]:53", "10.0.0.1:53") && way("[::]:53", "[::1]:53"));
        assert!(!way("127.0.0.53:53", "127.0.0.1:53") && !way("0.0.0.0:53", "0.0.0.0:54"));
    }
}
