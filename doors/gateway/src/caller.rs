//! Who is at the other end of a connection, and how it came.
//!
//! Known before the first request and the same for all of them. It reads no request. Made by `door`
//! and `secure` once a connection; `request` and `passing` look things up in it.

use balancer::CookieScope;
use http::HeaderValue;
use origins::BecomesTunnel;
use std::net::{IpAddr, SocketAddr};
use std::sync::OnceLock;
use transport::near::ArrivedAt;
use transport::proxy_protocol::ProxyEndpoints;
use transport::{Stream, near};
use vocab::{LinkInfoNeeds, address_text};

/// Who is at the other end of a connection, and how it came.
#[derive(Debug)]
pub(crate) struct ClientConnection {
    /// The other end, or the client of whom a PROXY header has told.
    pub(crate) peer: IpAddr,
    /// Both ends, as they are; none where the connection is gone already.
    pub(crate) ends: Option<ProxyEndpoints>,
    /// Where it came in, where a rule asks for that.
    pub(crate) local: Option<ArrivedAt>,
    /// The handshake that began it, if it has TLS.
    pub(crate) secured: Option<HandshakeInfo>,
    pub(crate) tunnel: BecomesTunnel,
    /// Made for the first request that goes on.
    told: OnceLock<ForwardedAddresses>,
}

/// Holds what servers behind are told of the client's end, the same for all requests of a
/// connection.
#[derive(Debug)]
pub(crate) struct ForwardedAddresses {
    /// The peer, for `X-Forwarded-For`.
    pub(crate) address: HeaderValue,
    /// The port that it came to, for `X-Forwarded-Port`.
    pub(crate) port: Option<HeaderValue>,
}

/// Holds what a connection knows of the handshake that began it.
#[derive(Debug)]
pub(crate) struct HandshakeInfo {
    /// The name that the client asked for, lower-case.
    pub(crate) name: Option<String>,
    /// The number of the certificate that it was shown.
    pub(crate) certificate: usize,
    /// `Client-Cert` (RFC 9440 §2.2) of the certificate that it showed, which was verified.
    pub(crate) client_certificate: Option<HeaderValue>,
}

impl ClientConnection {
    pub(crate) fn of(
        stream: &Stream,
        wanted: LinkInfoNeeds,
        secured: Option<HandshakeInfo>,
        tunnel: BecomesTunnel,
    ) -> Self {
        let ends =
            stream.local().ok().map(|server| ProxyEndpoints { client: stream.peer(), server });
        let local = near::local(wanted, stream);
        Self::at(stream.peer().ip().to_canonical(), ends, local, secured, tunnel)
    }

    pub(crate) const fn at(
        peer: IpAddr,
        ends: Option<ProxyEndpoints>,
        local: Option<ArrivedAt>,
        secured: Option<HandshakeInfo>,
        tunnel: BecomesTunnel,
    ) -> Self {
        Self { peer, ends, local, secured, tunnel, told: OnceLock::new() }
    }

    /// Returns what servers behind are told of it.
    pub(crate) fn told(&self) -> &ForwardedAddresses {
        self.told.get_or_init(|| {
            let address = HeaderValue::try_from(address_text(self.peer));
            ForwardedAddresses {
                address: address.expect("digits, dots and colons are visible ASCII"),
                port: self.ends.map(|ends| HeaderValue::from(ends.server.port())),
            }
        })
    }

    /// Between whom a server is told that the connection is: `client` and us. Of one for whom a
    /// proxy in front speaks, no port is known.
    pub(crate) fn ends_for(&self, client: IpAddr) -> Option<ProxyEndpoints> {
        let ends = self.ends?;
        if client == self.peer {
            return Some(ends);
        }
        Some(ProxyEndpoints { client: SocketAddr::new(client, 0), server: ends.server })
    }

    /// Over what a cookie that it is given may come back.
    pub(crate) fn cookie_scope(&self) -> CookieScope {
        if self.secured.is_some() { CookieScope::Secure } else { CookieScope::Any }
    }

    /// Returns how the client speaks with us.
    pub(crate) fn scheme(&self) -> &'static str {
        if self.secured.is_some() { "https" } else { "http" }
    }
}
