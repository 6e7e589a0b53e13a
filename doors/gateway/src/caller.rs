//! One connection, as its requests see it: who asks, and how it came.
//!
//! Known before the first request and the same for all of them. It reads no request. Made by `door`
//! and `secure` once a connection; `request` and `passing` look things up in it.

use balancer::CookieScope;
use http::{HeaderValue, Request};
use http_front::ConnectionContext;
use origins::BecomesTunnel;
use route_matching::MatchInput;
use std::net::{IpAddr, SocketAddr};
use std::sync::OnceLock;
use transport::neighbours::ArrivedAt;
use transport::proxy_protocol::ProxyEndpoints;
use vocab::address_text;

/// One connection, as its requests see it.
#[derive(Debug)]
pub(crate) struct ClientConnection {
    pub(crate) context: ConnectionContext<HandshakeInfo>,
    pub(crate) tunnel: BecomesTunnel,
    /// Made for the first request that goes on.
    forwarded: OnceLock<ForwardedAddresses>,
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
    pub(crate) const fn new(
        context: ConnectionContext<HandshakeInfo>,
        tunnel: BecomesTunnel,
    ) -> Self {
        Self { context, tunnel, forwarded: OnceLock::new() }
    }

    /// The other end, or the client of whom a PROXY header has told.
    pub(crate) const fn peer(&self) -> IpAddr {
        self.context.client_ip()
    }

    /// Part of a request over it that routes look at.
    pub(crate) fn match_input<'r, B>(&self, request: &'r Request<B>) -> MatchInput<'r> {
        MatchInput::of(request, self.context.local, self.peer())
    }

    /// The address of ours that it came to, by which the policy knows the interface.
    pub(crate) fn arrived_at(&self) -> Option<ArrivedAt> {
        self.context.local.map(ArrivedAt::Address)
    }

    /// Returns what servers behind are told of it.
    pub(crate) fn forwarded(&self) -> &ForwardedAddresses {
        self.forwarded.get_or_init(|| {
            let address = HeaderValue::try_from(address_text(self.peer()));
            ForwardedAddresses {
                address: address.expect("digits, dots and colons are visible ASCII"),
                port: self.context.local.map(|local| HeaderValue::from(local.port())),
            }
        })
    }

    /// Between whom a server is told that the connection is: `client` and us. Of one for whom a
    /// proxy in front speaks, no port is known.
    pub(crate) fn endpoints_for(&self, client: IpAddr) -> Option<ProxyEndpoints> {
        let server = self.context.local?;
        let port = if client == self.peer() { self.context.client.port() } else { 0 };
        Some(ProxyEndpoints { client: SocketAddr::new(client, port), server })
    }

    /// Over what a cookie that it is given may come back.
    pub(crate) fn cookie_scope(&self) -> CookieScope {
        if self.context.handshake().is_some() { CookieScope::Secure } else { CookieScope::Any }
    }

    /// Returns how the client speaks with us.
    pub(crate) const fn scheme(&self) -> &'static str {
        self.context.scheme()
    }
}
