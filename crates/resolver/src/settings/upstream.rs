//! What can be set for one upstream: its address, and how it is reached.
//!
//! The comments of the fields are the manual. It parses and complains; it opens nothing. Called by
//! whoever reads settings, and by [`super::plan`].

use super::address::{AddressError, UpstreamAddress, UpstreamHost, UpstreamProtocol};
use super::pin::KeyPin;
use crate::upstream::socks::SocksProxy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::net::IpAddr;
use vocab::{DomainName, TimeSpan};

/// Names that one upstream is responsible for, at most.
pub const DOMAINS_MAX: usize = 4096;

/// One upstream: an address, or a mapping.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[expect(clippy::large_enum_variant, reason = "there are few, and only while settings are read")]
pub enum UpstreamSettings {
    /// Address.
    Address(String),
    /// Address and more.
    Detailed(UpstreamDetails),
}

/// One upstream in full.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UpstreamDetails {
    /// Address, as in `tls://1.1.1.1`, `quic://dns.example` or `https://dns.example/dns-query`.
    /// `udp`, `tcp`, `tls`, `https` (or `doh`) and `quic` (or `doq`) are known; `udp` and `tcp`
    /// want an IP address. Needed.
    pub address: String,
    /// Name in metrics and the dashboard. Default: its address.
    pub name: Option<String>,
    /// Ask this one about these names and all below them, and about nothing else; the longest name
    /// wins. Default: it is asked about everything. At most 4096.
    pub domains: Vec<Text<DomainName>>,
    /// Connect to this IP address or name, whatever the address says; its name still counts for
    /// TLS. A name is not for `udp`. Default: the address, or what the bootstrap servers say of its
    /// name.
    pub dial: Option<Text<UpstreamHost>>,
    /// Family of addresses of its name: `any`, `ipv4` or `ipv6`. Default `any`.
    pub family: FamilyChoice,
    /// The network interface that is used, as in `eth0` (`SO_BINDTODEVICE`); at most 15 bytes.
    /// Default: what the routes say.
    pub interface: Option<String>,
    /// The firewall mark of its packets (`SO_MARK`), for routing rules; from 0 to 4294967295. Needs
    /// `CAP_NET_ADMIN`. Default: none.
    pub mark: Option<u32>,
    /// The IP address that it is spoken to from. Default: what the routes say.
    pub source: Option<Text<IpAddr>>,
    /// A SOCKS5 proxy in between, as in `127.0.0.1:1080` or `user:password@10.0.0.1:1080`; for
    /// `tcp`, `tls` and `https`. A name in the address is looked up by the proxy. Default: none.
    pub socks5: Option<Text<SocksProxy>>,
    /// Public keys of which its certificate, or an authority that signed it, must have one, besides
    /// being valid: `sha256/` and the Base64 of the key's SHA-256, as in
    /// `sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=`. For `tls`, `https` and `quic`. At
    /// most 16. Default: none.
    pub pins: Vec<Text<KeyPin>>,
    /// Verification of its certificate: `full` (valid, and for its name), or `none`, with which
    /// anyone on the way can answer in its place unless `pins` are given too. Default `full`.
    pub verify: CertificateCheck,
    /// `on`: many questions at once on one connection (RFC 7766 §6.2.1.1). `off`: one at a time on
    /// each, for servers that cannot do better. For `tcp` and `tls`. Default `on`.
    pub pipeline: PipelineMode,
    /// A connection on which nothing is asked is closed after so long, or sooner if the server says
    /// so (RFC 7828). Default 10s for `udp`'s fallback, `tcp` and `tls`, or as long as the server
    /// says, up to 2m; 30s for `https` and `quic`. From 1s to 10m.
    pub idle: Option<Text<TimeSpan>>,
    /// Connections to it at once, at most: for `tcp` and `tls`, default 4, or 16 with `pipeline`
    /// off, where further questions wait their turn; for `https`, those kept open over HTTP/1.1,
    /// default 8. HTTP/2 and `quic` need one. From 1 to 64.
    pub connections: Option<u8>,
    /// Connections that each core keeps open to it though nothing is asked, opened at the start and
    /// again when one is closed, so that no question waits for a handshake. For `tcp`, `tls` and
    /// `https`, where HTTP/2 needs one; `idle` closes those beyond. At most `connections`. Default
    /// 0.
    pub min_connections: u8,
    /// `random`: letters of the name in random case, which the answer must repeat, against forged
    /// answers. What does not repeat it costs one more exchange over TCP, and is counted. For
    /// `udp`. Default `kept`.
    pub case: QueryLetters,
    /// `on`: DNS cookies (RFC 7873) against forged answers, where the server knows them. For `udp`.
    /// Default `off`.
    pub cookies: UpstreamCookieMode,
    /// Passing on of its AD flag, by which it says that it validated an answer (RFC 4035 §3.2.3):
    /// `on`, `off`, or `auto`, if it cannot be impersonated: over `tls`, `https` and `quic` with a
    /// checked certificate or `pins`, and from a loopback address. Default `auto`.
    pub trust_ad: TrustAd,
}

/// Which addresses of a name are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FamilyChoice {
    /// All.
    #[default]
    Any,
    /// IPv4 only.
    Ipv4,
    /// IPv6 only.
    Ipv6,
}

impl FamilyChoice {
    /// True if an address of its family may be connected to.
    pub const fn accepts(self, ip: IpAddr) -> bool {
        match self {
            Self::Any => true,
            Self::Ipv4 => ip.is_ipv4(),
            Self::Ipv6 => ip.is_ipv6(),
        }
    }
}

/// Tells what a certificate must be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CertificateCheck {
    /// Valid, from a trusted authority, for the upstream's name.
    #[default]
    Full,
    /// Anything.
    None,
}

/// Tells whether several questions are under way on one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PipelineMode {
    /// Yes.
    #[default]
    On,
    /// One at a time.
    Off,
}

/// The case of letters in questions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum QueryLetters {
    /// Lower case.
    #[default]
    Kept,
    /// Random.
    Random,
}

/// Tells whether cookies are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UpstreamCookieMode {
    /// No.
    #[default]
    Off,
    /// Yes.
    On,
}

/// Tells whether an upstream's word on validation is passed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TrustAd {
    /// Where nobody can answer in its place.
    #[default]
    Auto,
    /// Yes.
    On,
    /// No.
    Off,
}

impl From<&str> for UpstreamSettings {
    fn from(address: &str) -> Self {
        Self::Address(address.into())
    }
}

impl UpstreamSettings {
    /// Returns its address as written.
    pub fn address(&self) -> &str {
        match self {
            Self::Address(address) => address,
            Self::Detailed(details) => &details.address,
        }
    }

    /// Names that it alone is asked about; empty if it is asked about everything.
    pub fn domains(&self) -> &[Text<DomainName>] {
        match self {
            Self::Address(_) => &[],
            Self::Detailed(details) => &details.domains,
        }
    }

    /// Returns what it is called.
    pub fn name(&self) -> &str {
        match self {
            Self::Address(address) => address,
            Self::Detailed(details) => details.name.as_ref().unwrap_or(&details.address),
        }
    }

    pub(crate) fn parsed(&self) -> Result<UpstreamAddress, AddressError> {
        let address: UpstreamAddress = self.address().parse()?;
        match (address.protocol, &address.host) {
            // Plain DNS to a name would trust whoever answers for that name first.
            (UpstreamProtocol::Udp | UpstreamProtocol::Tcp, UpstreamHost::Name(name)) => {
                Err(AddressError::Host(name.to_string()))
            }
            (UpstreamProtocol::Udp | UpstreamProtocol::Tcp, UpstreamHost::Ip(_))
            | (UpstreamProtocol::Tls | UpstreamProtocol::Https | UpstreamProtocol::Quic, _) => {
                Ok(address)
            }
        }
    }
}
