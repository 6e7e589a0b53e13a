//! Versions of HTTP that may be spoken for one request.

use super::origin::{Origin, OriginScheme};
use http::HeaderMap;
use http_engine::hop_by_hop::wants_upgrade;
use transport::tls::Alpn;

/// Tells what may be spoken for one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UsableVersions {
    Http1,
    Http2,
    /// HTTP/2 where the server has it.
    Either,
}

impl UsableVersions {
    /// Returns what to speak with an origin that nobody has set terms for. What is to leave HTTP
    /// needs HTTP/1.1.
    pub(super) fn default_for(origin: &Origin, headers: &HeaderMap) -> Self {
        match origin.scheme {
            OriginScheme::Https if wants_upgrade(headers).is_none() => Self::Either,
            OriginScheme::Https | OriginScheme::Http => Self::Http1,
        }
    }

    /// Returns what is offered within TLS.
    pub(super) const fn alpn(self) -> &'static [Alpn] {
        match self {
            Self::Http1 => &[Alpn::Http1],
            Self::Http2 => &[Alpn::Http2],
            Self::Either => &[Alpn::Http2, Alpn::Http1],
        }
    }
}
