//! Who is at the other end of a connection, and how it came.
//!
//! Known before the first request and the same for all of them. It reads no request. Made by `door`
//! and `secure` once a connection; `request` and `passing` look things up in it.

use std::net::{IpAddr, SocketAddr};
use transport::near::CameTo;
use transport::{Stream, near};
use upstream::origins::BecomesTunnel;
use vocab::NearWanted;

/// Who is at the other end of a connection, and how it came.
#[derive(Debug)]
pub(crate) struct Caller {
    /// The other end, or the client of whom a PROXY header has told.
    pub(crate) peer: IpAddr,
    /// Its port.
    pub(crate) peer_port: u16,
    /// Where the client came to; none where the connection is gone already.
    pub(crate) server: Option<SocketAddr>,
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
            peer_port: stream.peer().port(),
            server: stream.local().ok(),
            local: near::local(wanted, stream),
            secured,
            tunnel,
        }
    }

    /// How the client speaks with us.
    pub(crate) fn scheme(&self) -> &'static str {
        if self.secured.is_some() { "https" } else { "http" }
    }
}
