//! How one upstream is reached, as its settings say: checked, parsed, and the same for every
//! protocol that has the option.
//!
//! It opens nothing. Two upstreams that are reached alike, at one address, are one upstream, which
//! a reload keeps. Made by `plan`, read by the transports.

use super::address::{UpstreamAddress, UpstreamHost, UpstreamProtocol};
use super::upstream::{
    CertificateCheck, FamilyChoice, PipelineMode, QueryLetters, TrustAd, UpstreamCookieMode,
    UpstreamDetails, UpstreamSettings,
};
use crate::upstream::socks::SocksProxy;
use std::time::Duration;
use transport::tls::VerifyMode;
use transport::{ClientTls, DialOptions};

/// Silence on a connection after which the kernel looks whether the server is there, where
/// connections are kept open unused: less than any middlebox forgets one in (RFC 5382, REQ-5).
const KEEPALIVE: Duration = Duration::from_secs(30);

/// The options by which one upstream is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct UpstreamReach {
    /// How its sockets leave this machine.
    pub(crate) dial: DialOptions,
    /// Connect there, whatever the name says.
    pub(crate) to: Option<UpstreamHost>,
    /// Which addresses of a name are taken.
    pub(crate) family: FamilyChoice,
    pub(crate) proxy: Option<SocksProxy>,
    pub(crate) check: CertificateCheck,
    pub(crate) pins: Vec<[u8; 32]>,
    pub(crate) pipeline: PipelineMode,
    /// None is the default of its protocol.
    pub(crate) idle: Option<Duration>,
    /// None is the default of its protocol.
    pub(crate) connections: Option<usize>,
    /// Connections that are kept open though nothing is asked.
    pub(crate) min_connections: usize,
    pub(crate) query_letters: QueryLetters,
    pub(crate) cookie: UpstreamCookieMode,
    pub(crate) trust_ad: TrustAd,
}

impl UpstreamReach {
    /// Returns how `settings` say that the upstream is reached; by default where they are but an
    /// address.
    pub(crate) fn of(settings: &UpstreamSettings) -> Self {
        match settings {
            UpstreamSettings::Address(_) => Self::default(),
            UpstreamSettings::Detailed(details) => Self::new(details),
        }
    }

    fn new(details: &UpstreamDetails) -> Self {
        Self {
            dial: DialOptions {
                interface: details.interface.as_deref().map(Into::into),
                mark: details.mark,
                source: details.source.map(|it| it.0),
                keepalive: (details.min_connections > 0).then_some(KEEPALIVE),
            },
            to: details.dial.as_ref().map(|it| it.0.clone()),
            family: details.family,
            proxy: details.socks5.as_ref().map(|it| it.0.clone()),
            check: details.verify,
            pins: details.pins.iter().map(|it| it.0.0).collect(),
            pipeline: details.pipeline,
            idle: details.idle.map(|it| it.0.0),
            connections: details.connections.map(usize::from),
            min_connections: details.min_connections.into(),
            query_letters: details.case,
            cookie: details.cookies,
            trust_ad: details.trust_ad,
        }
    }

    /// The host that is connected to for an upstream whose address has `host`.
    pub(crate) fn target<'h>(&'h self, host: &'h UpstreamHost) -> &'h UpstreamHost {
        self.to.as_ref().unwrap_or(host)
    }

    /// Returns whether an answer from `address` can be nobody else's: TLS proves the server, or
    /// nothing leaves this machine.
    pub(crate) fn authenticates(&self, address: &UpstreamAddress) -> bool {
        match address.protocol {
            UpstreamProtocol::Tls | UpstreamProtocol::Https | UpstreamProtocol::Quic => {
                self.check == CertificateCheck::Full || !self.pins.is_empty()
            }
            UpstreamProtocol::Udp | UpstreamProtocol::Tcp => match self.target(&address.host) {
                UpstreamHost::Ip(ip) => ip.is_loopback(),
                UpstreamHost::Name(_) => false,
            },
        }
    }

    /// TLS as it is to be spoken with this upstream.
    pub(crate) fn tls(&self, tls: &ClientTls) -> ClientTls {
        let verify = match self.check {
            CertificateCheck::Full if self.pins.is_empty() => return tls.clone(),
            CertificateCheck::Full => VerifyMode::Full,
            CertificateCheck::None => VerifyMode::Nothing,
        };
        tls.checking(verify, &self.pins)
    }
}
