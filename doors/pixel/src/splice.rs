//! A connection to a name that passes for a leave or a pause alone, carried to its real server
//! unread.
//!
//! Browsers keep our address for a minute after a name was let through. The name is read from the
//! first bytes without taking them, and if a rule would block it and a leave or pause spares it,
//! both ends are tied together: the client sees the server's own certificate. Nothing is read or
//! changed, and nobody is led to ourselves or nearer than he is. Called by `door` before anything
//! else is done.

use crate::counters::Count;
use crate::decision::{PolicyClient, is_exempt};
use crate::door::PixelDoor;
use crate::ticket::PixelTicket;
use crate::tunnels::{Beginning, NoTunnel, TunnelPermit};
use http_engine::authority;
use http_engine::first_head::{self, FirstHead};
use ledger::EventSubject;
use origins::{
    Blame, ClientReach, ClientStream, DestinationScope, DialError, DialGuard, OriginConnection,
    UrlHost, tunnel,
};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use transport::tls::peek_hello;
use transport::{Stream, clock, is_own_address, neighbours};
use vocab::{Action, Cause, DomainName, RequestKind, Source};

/// Time for which a tunnel may be quiet, as at the proxy door.
const TUNNEL_IDLE: Duration = Duration::from_mins(5);
/// Bytes of a first request's head that are looked at: as many as most servers take. A longer one
/// is not read to its end and so has no host.
const HEAD_BYTES_MAX: usize = 16 << 10;

/// Tells what a connection speaks, and so which port of the server it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpliceProtocol {
    /// HTTP, at port 80.
    Plain,
    /// TLS, at port 443.
    Tls,
}

/// A connection that is to be carried on.
#[derive(Debug)]
pub(crate) struct SplicedConnection {
    name: DomainName,
    port: u16,
    beginning: Option<Beginning>,
}

/// The bounds of one client.
struct SpliceGuard<'b> {
    reach: ClientReach<'b>,
    doors: &'b [SocketAddr],
    /// The addresses that the operator himself gave the name (`dns.local`): there the DNS door
    /// sends clients, however it protects them from the answers of strangers.
    own: &'b [IpAddr],
}

impl DialGuard for SpliceGuard<'_> {
    fn permits(&self, address: SocketAddr) -> bool {
        let is_door = |door: &SocketAddr| {
            door.port() == address.port()
                && (door.ip().to_canonical() == address.ip().to_canonical()
                    || door.ip().is_unspecified() && is_own_address(address.ip()))
        };
        let is_own = |given: &IpAddr| given.to_canonical() == address.ip().to_canonical();
        let reach = if self.own.iter().any(is_own) {
            ClientReach { destinations: DestinationScope::Guarded, ..self.reach }
        } else {
            self.reach
        };
        reach.permits(address) && !self.doors.iter().any(is_door)
    }
}

/// Returns whom a connection is for, once its first bytes say so, if that name is spared.
pub(crate) async fn exempt_connection(
    door: &PixelDoor,
    stream: &mut Stream,
    way: SpliceProtocol,
) -> Option<SplicedConnection> {
    let client = stream.peer().ip().to_canonical();
    let (name, port, beginning) = match way {
        SpliceProtocol::Plain => (first_host(stream).await?, 80, None),
        SpliceProtocol::Tls => {
            let hello = peek_hello(stream).await?;
            (DomainName::parse(&hello.name).ok()?, 443, Some(hello.prefix))
        }
    };
    let policy = door.parts.policy.load();
    let (wanted, now) = (policy.link_info_needs(), clock::now());
    let who = neighbours::of(wanted, client, || neighbours::local(wanted, stream), now).into();
    let is_spared =
        is_exempt(&policy, PolicyClient { address: client, who: &who }, name.as_name(), now);
    is_spared.then_some(SplicedConnection { name, port, beginning })
}

/// The host of the first request, if it is a name at the usual port.
async fn first_host(stream: &mut Stream) -> Option<DomainName> {
    let mut bytes = vec![0; HEAD_BYTES_MAX];
    let mut seen = 0;
    loop {
        let count = stream.peek_beyond(seen, &mut bytes).await.ok()?;
        if count <= seen {
            return None;
        }
        seen = count;
        match first_head::read(&bytes[..count]) {
            FirstHead::Partial => {}
            FirstHead::Other => return None,
            FirstHead::For(authority) => {
                let name = DomainName::parse(authority::host(authority)).ok()?;
                return names_no_other_port(authority, SpliceProtocol::Plain).then_some(name);
            }
        }
    }
}

/// True if an authority is that of the usual port, which is all that a connection is carried to.
pub(crate) fn names_no_other_port(authority: &str, way: SpliceProtocol) -> bool {
    let port = &authority[authority::host(authority).len()..];
    match way {
        SpliceProtocol::Plain => matches!(port, "" | ":80"),
        SpliceProtocol::Tls => matches!(port, "" | ":443"),
    }
}

/// Carries the connection to its end, or gives it back untouched where its server cannot be
/// reached; records which.
pub(crate) async fn relay(
    door: &PixelDoor,
    stream: Stream,
    spared: SplicedConnection,
) -> Option<Stream> {
    let client = stream.peer().ip().to_canonical();
    let mut ticket = PixelTicket::open(door, clock::now(), client);
    ticket.asked(RequestKind::Tunnel, EventSubject::name(spared.name.as_name()));
    ticket.decided(Action::Pass, Cause::Paused);
    match connect(door, client, spared).await {
        Ok((place, server)) => {
            door.counters.one(Count::Spliced);
            ticket.answered(Source::Tunnel, 200);
            let (client, becomes) = ClientStream::new(stream);
            becomes.now();
            let carried = tunnel(client, OriginConnection::Plain(server), TUNNEL_IDLE).await;
            drop(place);
            ticket.close(carried.down);
            None
        }
        Err(why) => {
            let (count, source, status) = why.told();
            door.counters.one(count);
            ticket.answered(source, status);
            Some(stream)
        }
    }
}

/// Why a connection is not carried on.
#[derive(Debug)]
enum NotCarried {
    NoTunnel(NoTunnel),
    Dial(DialError),
}

async fn connect(
    door: &PixelDoor,
    client: IpAddr,
    spared: SplicedConnection,
) -> Result<(TunnelPermit, Stream), NotCarried> {
    let place = door.tunnels.open(client, spared.beginning).map_err(NotCarried::NoTunnel)?;
    let bounds = door.bounds.load();
    let reach = ClientReach { client, destinations: bounds.destinations, off_limits: &[] };
    let word = door.parts.dialer.local_override(&spared.name);
    let guard = SpliceGuard { reach, doors: &bounds.doors, own: &word.addresses };
    let host = UrlHost::Name(spared.name);
    let server = door.parts.dialer.dial_tcp(&host, spared.port, &guard).await;
    server.map(|(server, _)| (place, server)).map_err(NotCarried::Dial)
}

impl NotCarried {
    /// Returns how it is counted and recorded.
    fn told(&self) -> (Count, Source, u16) {
        match self {
            Self::NoTunnel(NoTunnel::Full | NoTunnel::ClientFull) => {
                (Count::SpliceFull, Source::Refused, 503)
            }
            // RFC 5842 section 7.2.
            Self::NoTunnel(NoTunnel::Loop) => (Count::SpliceCircle, Source::Refused, 508),
            Self::Dial(why) => match why.blame() {
                Blame::Guard | Blame::Client => (Count::SpliceForbidden, Source::Refused, 403),
                Blame::Origin => (Count::SpliceUnreached, Source::Failed, 502),
                Blame::Busy => (Count::SpliceFull, Source::Refused, 503),
                Blame::Slow => (Count::SpliceUnreached, Source::Failed, 504),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permits(destinations: DestinationScope, to: &str) -> bool {
        let doors: Vec<SocketAddr> =
            ["9.9.9.80:443", "0.0.0.0:80"].iter().map(|it| it.parse().unwrap()).collect();
        let client = "192.168.1.7".parse().unwrap();
        let reach = ClientReach { client, destinations, off_limits: &[] };
        let own = ["192.168.1.20", "127.0.0.1"].map(|it| it.parse().unwrap());
        SpliceGuard { reach, doors: &doors, own: &own }.permits(to.parse().unwrap())
    }

    #[test]
    fn nobody_is_led_to_ourselves_or_nearer_than_he_is() {
        for (to, guarded, public) in [
            ("8.8.8.8:443", true, true),
            ("192.168.1.9:443", true, false),
            ("169.254.169.254:80", false, false),
            // Our own doors, by their address and by any of this machine's.
            ("9.9.9.80:443", false, false),
            ("[::ffff:9.9.9.80]:443", false, false),
            ("127.0.0.1:80", false, false),
            // A neighbour of theirs.
            ("9.9.9.81:443", true, true),
            // Where the operator himself says that the name is; no nearer than the client all the
            // same.
            ("192.168.1.20:443", true, true),
            ("127.0.0.1:443", false, false),
        ] {
            assert_eq!(permits(DestinationScope::Guarded, to), guarded, "{to}");
            assert_eq!(permits(DestinationScope::Public, to), public, "{to}");
        }
    }
}
