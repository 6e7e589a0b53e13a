//! The profiles that `network.outbound` of OxiDNS names, as they are kept while a file is read.
//!
//! Read by [`super::network`].

use std::net::SocketAddr;

/// All profiles of a file.
#[derive(Debug, Default)]
pub(crate) struct OutboundBook {
    pub(super) usual: Option<String>,
    pub(super) profiles: Vec<OutboundProfile>,
}

/// One profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OutboundProfile {
    pub(super) name: String,
    /// A SOCKS5 proxy.
    pub(crate) socks5: Option<String>,
    /// Plain servers that find names.
    pub(crate) servers: Vec<SocketAddr>,
    /// Servers that it has and that cannot be asked for names: over TLS, HTTPS, QUIC or TCP.
    pub(crate) left_out: Vec<String>,
    /// Which addresses are looked for: 4 or 6.
    pub(crate) version: Option<u8>,
}

/// Tells how a profile was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProfileChoice {
    /// By name.
    Named,
    /// Because it is the usual one.
    Usual,
}

impl OutboundBook {
    pub(super) fn find(&self, name: &str) -> Option<&OutboundProfile> {
        self.profiles.iter().find(|it| it.name == name)
    }

    pub(super) fn usual(&self) -> Option<&OutboundProfile> {
        self.find(self.usual.as_deref()?)
    }
}
