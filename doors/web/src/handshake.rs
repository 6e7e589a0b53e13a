//! The TLS handshake that a site demands, and the one that a connection has had.
//!
//! It touches no socket. Called by `tls`, `site`, `visit` and `quick`.

use crate::settings::SiteSettings;
use http_front::{ClientCertificate, ConnectionContext};

/// Both ends of a client's connection, with its handshake.
pub(crate) type WebContext = ConnectionContext<HandshakeInfo>;

/// Which handshake a site demands, or a connection has had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandshakeDemand {
    /// Any, or none at all.
    None,
    /// That of the site with this number in the list.
    Handshake(usize),
}

/// Holds what a connection knows of the handshake that began it.
#[derive(Clone, Debug)]
pub(crate) struct HandshakeInfo {
    /// Whose handshake it was.
    pub(crate) demand: HandshakeDemand,
    /// The client's certificate, as DER, verified.
    pub(crate) client_certificate: Option<Box<[u8]>>,
}

impl HandshakeDemand {
    /// Returns what the site with this number demands.
    pub(crate) fn of(number: usize, site: &SiteSettings) -> Self {
        match site.tls.client_certificate {
            ClientCertificate::None => Self::None,
            ClientCertificate::Request | ClientCertificate::Require => Self::Handshake(number),
        }
    }

    /// True if a request of this connection may be answered: a handshake for one name must not open
    /// another site, which might have wanted a certificate (RFC 9110 §15.5.20).
    pub(crate) fn allows(self, context: &WebContext) -> bool {
        let had = context.handshake().map_or(Self::None, |it| it.demand);
        match self {
            Self::None => true,
            Self::Handshake(_) => self == had,
        }
    }
}
