//! The tunnels that are open: how many, whose, and how each began.
//!
//! A cap on all and on each client's, and a watch for circles: bytes are passed on unchanged, so a
//! first message that comes once more while its tunnel is open has come round. It opens nothing.
//! Asked by `splice`.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use transport::tls::PREFIX_BYTES;

/// Tunnels at once: each takes two descriptors. Beyond it connections are closed at once.
pub(crate) const TUNNELS_MAX: usize = 2048;
/// Tunnels of one client at once: a browser opens six to a host that speaks HTTP/1.1.
pub(crate) const TUNNELS_PER_CLIENT_MAX: usize = 128;

/// The first bytes of a TLS connection.
pub(crate) type Beginning = [u8; PREFIX_BYTES];

/// Why no tunnel is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoTunnel {
    /// There are as many as there may be.
    Full,
    /// The client has as many as it may have.
    ClientFull,
    /// Is one of ours that came round.
    Loop,
}

/// The open tunnels, for all cores.
#[derive(Debug, Default)]
pub(crate) struct OpenTunnels(Mutex<TunnelTable>);

#[derive(Debug, Default)]
struct TunnelTable {
    next: u64,
    open: HashMap<u64, (IpAddr, Option<Beginning>)>,
}

/// A tunnel's place among them; dropping it gives it up.
#[derive(Debug)]
pub(crate) struct TunnelPermit {
    tunnels: Arc<OpenTunnels>,
    number: u64,
}

impl OpenTunnels {
    /// A place for a tunnel of `client`, that begins so if it is one with TLS.
    pub(crate) fn open(
        self: &Arc<Self>,
        client: IpAddr,
        beginning: Option<Beginning>,
    ) -> Result<TunnelPermit, NoTunnel> {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if table.open.len() >= TUNNELS_MAX {
            return Err(NoTunnel::Full);
        }
        // A few thousand at most, looked through once a tunnel.
        if table.open.values().filter(|(other, _)| *other == client).count()
            >= TUNNELS_PER_CLIENT_MAX
        {
            return Err(NoTunnel::ClientFull);
        }
        if beginning.is_some() && table.open.values().any(|(_, other)| *other == beginning) {
            return Err(NoTunnel::Loop);
        }
        let number = table.next;
        table.next += 1;
        table.open.insert(number, (client, beginning));
        Ok(TunnelPermit { tunnels: Arc::clone(self), number })
    }

    /// Returns how many are open.
    pub(crate) fn count(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).open.len() as u64
    }
}

impl Drop for TunnelPermit {
    fn drop(&mut self) {
        let mut table = self.tunnels.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.open.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(number: u32) -> IpAddr {
        IpAddr::V4((0x0a00_0000 + number).into())
    }

    #[test]
    fn there_are_so_many_tunnels_and_so_many_for_a_client() {
        let tunnels = Arc::new(OpenTunnels::default());
        let mut held: Vec<_> =
            (0..TUNNELS_PER_CLIENT_MAX).map(|_| tunnels.open(client(0), None).unwrap()).collect();
        assert_eq!(tunnels.open(client(0), None).unwrap_err(), NoTunnel::ClientFull);
        held.pop();
        held.push(tunnels.open(client(0), None).unwrap());
        let others = (held.len()..TUNNELS_MAX).map(|number| client(number as u32));
        held.extend(others.map(|other| tunnels.open(other, None).unwrap()));
        assert_eq!(tunnels.open(client(1), None).unwrap_err(), NoTunnel::Full);
        drop(held);
        assert_eq!(tunnels.count(), 0);
    }

    #[test]
    fn a_beginning_that_comes_again_has_come_round() {
        let tunnels = Arc::new(OpenTunnels::default());
        let open = |byte| tunnels.open(client(1), Some([byte; PREFIX_BYTES]));
        let first = open(1).unwrap();
        let _other = open(2).unwrap();
        assert_eq!(open(1).unwrap_err(), NoTunnel::Loop);
        drop(first);
        assert!(open(1).is_ok());
    }
}
