//! Transparent listeners: connections to others that the packet filter of this machine brings here
//! (interception; `redirect` and `tproxy`, as iptables and nftables call it).
//!
//! Whoever opened one knows of no proxy. Plain HTTP is answered as the server would be; TLS is
//! heard as a `CONNECT` to the name in its first bytes, and carried to where it was meant to go
//! without a byte changed. It decides nothing. Called by `serve`.

use crate::connecting_client::TunnelOutcome;
use crate::settings::ConnectSni;
use crate::sni::ACCESS_DENIED;
use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use transport::Stream;
use transport::tls::{CLIENT_HELLO_BYTES_MAX, ClientHello, PREFIX_BYTES, read_client_hello};
use vocab::{DomainName, Scheme};

/// Beginning of a TLS connection: no two begin alike, unless one was passed on.
type Beginning = [u8; PREFIX_BYTES];

/// The first words of a client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FirstWords {
    /// Anything but TLS.
    Plain,
    /// TLS, or what begins so; the server that it names, and how it begins.
    Tls(Option<DomainName>, Option<Box<Beginning>>),
    Nothing,
}

/// The beginnings of connections that are carried: one that is there already has come round. As
/// many as there are connections, whose number is bounded.
#[derive(Debug, Default)]
pub(crate) struct CarriedBeginnings(Mutex<HashSet<Beginning>>);

/// A beginning's place among them; dropping it gives it up.
#[derive(Debug)]
pub(crate) struct CarriedPermit {
    beginnings: Arc<CarriedBeginnings>,
    own: Box<Beginning>,
}

/// The address that a client has connected to; none where the packet filter has not brought it.
pub(crate) fn destination(scheme: Scheme, stream: &Stream) -> Option<SocketAddr> {
    match scheme {
        Scheme::Redirect => stream.original_destination().ok(),
        Scheme::Tproxy => stream.local().ok(),
        Scheme::Udp | Scheme::Tcp | Scheme::Tls | Scheme::Quic | Scheme::Http | Scheme::Https => {
            None
        }
    }
}

/// Looks at a client's first bytes and takes none. Sets no deadline.
pub(crate) async fn first_words(stream: &mut Stream, sni: ConnectSni) -> FirstWords {
    let mut bytes = vec![0; CLIENT_HELLO_BYTES_MAX];
    let mut seen = 0;
    loop {
        let count = match stream.peek_beyond(seen, &mut bytes).await {
            Ok(count) if count > seen => count,
            Ok(_) | Err(_) => return FirstWords::Nothing,
        };
        seen = count;
        let name = match read_client_hello(&bytes[..seen]) {
            ClientHello::Unfinished if seen < bytes.len() => continue,
            ClientHello::Other => return FirstWords::Plain,
            ClientHello::Server(name) if sni != ConnectSni::Off => DomainName::parse(&name).ok(),
            // What is wrong with it is judged once more, where its tunnel begins.
            ClientHello::Server(_)
            | ClientHello::NoServerName
            | ClientHello::Malformed
            | ClientHello::Unfinished => None,
        };
        let beginning = bytes[..seen].first_chunk().map(|it| Box::new(*it));
        return FirstWords::Tls(name, beginning);
    }
}

/// The request that TLS to `name` at `meant` is heard as.
pub(crate) fn connect_request(name: Option<&DomainName>, meant: SocketAddr) -> Vec<u8> {
    let authority = match name {
        Some(name) => format!("{name}:{}", meant.port()),
        None => SocketAddr::new(meant.ip().to_canonical(), meant.port()).to_string(),
    };
    format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n").into_bytes()
}

/// The reply to a client that speaks TLS: an alert where it is refused, and nothing
/// where its server cannot be reached, as if nobody stood between.
pub(crate) fn tls_reply(outcome: TunnelOutcome) -> Vec<u8> {
    match outcome {
        TunnelOutcome::NotAllowed => ACCESS_DENIED.to_vec(),
        TunnelOutcome::Granted
        | TunnelOutcome::ConnectionRefused
        | TunnelOutcome::HostUnreachable
        | TunnelOutcome::Failed => Vec::new(),
    }
}

impl CarriedBeginnings {
    /// A place for a connection that begins so; none if there is one that does.
    pub(crate) fn take(self: &Arc<Self>, beginning: Box<Beginning>) -> Option<CarriedPermit> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(*beginning)
            .then(|| CarriedPermit { beginnings: Arc::clone(self), own: beginning })
    }
}

impl Drop for CarriedPermit {
    fn drop(&mut self) {
        let mut all = self.beginnings.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(&*self.own);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    #[test]
    fn tls_is_heard_as_a_connect_to_its_name_or_address() {
        let heard = |name: Option<&str>, meant: &str| {
            let name = name.map(|name| DomainName::parse(name).unwrap());
            String::from_utf8(connect_request(name.as_ref(), meant.parse().unwrap())).unwrap()
        };
        assert!(heard(Some("a.example"), "192.0.2.1:443").starts_with("CONNECT a.example:443 "));
        assert!(heard(None, "192.0.2.1:8443").starts_with("CONNECT 192.0.2.1:8443 "));
        assert!(heard(None, "[2001:db8::1]:443").starts_with("CONNECT [2001:db8::1]:443 "));
    }

    #[test]
    fn a_beginning_that_comes_again_has_come_round() {
        let all = Arc::new(CarriedBeginnings::default());
        let take = |byte| all.take(Box::new([byte; PREFIX_BYTES]));
        let first = take(1).unwrap();
        assert!(take(1).is_none() && take(2).is_some());
        drop(first);
        assert!(take(1).is_some());
    }
}
