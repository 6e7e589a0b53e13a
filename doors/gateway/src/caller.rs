//! Who is at the other end of a connection, and how it came.
//!
//! Known before the first request and the same for all of them. It reads no request. Made by `door`
//! and `secure` once a connection; `request` and `passing` look things up in it.

use crate::pools::CookieScope;
use std::net::{IpAddr, SocketAddr};
use transport::near::CameTo;
use transport::proxy_protocol::Addresses;
use transport::{Stream, near};
use upstream::origins::BecomesTunnel;
use vocab::NearWanted;

/// Who is at the other end of a connection, and how it came.
#[derive(Debug)]
pub(crate) struct Caller {
    /// The other end, or the client of whom a PROXY header has told.
    pub(crate) peer: IpAddr,
    /// Both ends, as they are; none where the connection is gone already.
    pub(crate) ends: Option<Addresses>,
    /// Where it came in, where a rule asks for that.
    pub(crate) local: Option<CameTo>,
    /// The handshake that began it, if it has TLS.
    pub(crate) secured: Option<Secured>,
    pub(crate) tunnel: BecomesTunnel,
}

/// What a connection knows of the handshake that began it.
#[derive(Debug)]
pub(crate) struct Secured {
    /// The name that the client asked for, lower-case.
    pub(crate) name: Option<String>,
    /// The number of the certificate that it was shown.
    pub(crate) certificate: usize,
    /// `Client-Cert` (RFC 9440 §2.2) of the certificate that it showed, which was verified.
    pub(crate) client_certificate: Option<http::HeaderValue>,
}

impl Caller {
    pub(crate) fn of(
        stream: &Stream,
        wanted: NearWanted,
        secured: Option<Secured>,
        tunnel: BecomesTunnel,
    ) -> Self {
        Self {
            peer: stream.peer().ip().to_canonical(),
            ends: stream.local().ok().map(|server| Addresses { client: stream.peer(), server }),
            local: near::local(wanted, stream),
            secured,
            tunnel,
        }
    }

    /// The port that the client came to.
    pub(crate) fn port(&self) -> Option<u16> {
        self.ends.map(|ends| ends.server.port())
    }

    /// Between whom a server is told that the connection is: `client` and us. Of one for whom a proxy
    /// in front speaks, no port is known.
    pub(crate) fn ends_for(&self, client: IpAddr) -> Option<Addresses> {
        let ends = self.ends?;
        if client == self.peer {
            return Some(ends);
        }
        Some(Addresses { client: SocketAddr::new(client, 0), server: ends.server })
    }

    /// Over what a cookie that it is given may come back.
    pub(crate) fn cookie_scope(&self) -> CookieScope {
        if self.secured.is_some() { CookieScope::Secure } else { CookieScope::Any }
    }

    /// How the client speaks with us.
    pub(crate) fn scheme(&self) -> &'static str {
        if self.secured.is_some() { "https" } else { "http" }
    }
}
