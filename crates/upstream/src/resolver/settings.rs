//! What can be set for the resolver. The DNS door has these keys flat in its own section; whoever
//! else resolves names uses the same resolver.

use super::address::{AddressError, Host, PlainServer, Protocol, UpstreamAddress};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::time::Duration;
use vocab::{ByteSize, Complaint, DomainName, Span};

/// Upstreams, at most.
pub const UPSTREAMS_MAX: usize = 64;
/// Names that one upstream is responsible for, at most.
pub const DOMAINS_MAX: usize = 4096;
const TIMEOUT_MIN: Duration = Duration::from_millis(100);
const TIMEOUT_MAX: Duration = Duration::from_secs(30);
const CACHE_MAX: u64 = 64 << 30;
/// RFC 8767 §5 suggests one to three days as the longest use of stale data.
const STALE_MAX: Duration = Duration::from_hours(7 * 24);

/// How names are looked up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ResolverSettings {
    /// Whom to ask: `https://HOST/PATH` (DNS over HTTPS), `tls://HOST` (DNS over TLS), `tcp://IP`,
    /// `udp://IP` or just an IP address; or a mapping with `address`, `name` and `domains`. At most
    /// 64. Default: `https://dns.quad9.net/dns-query` and `tls://1.1.1.1`.
    pub upstreams: Vec<UpstreamSettings>,
    /// How one of several upstreams is chosen: `race` asks up to three at once and takes the first
    /// answer, `ordered` takes them as written and goes on when one fails, `fastest` prefers the
    /// one that answered soonest of late, `random` spreads. Default `race`.
    pub strategy: Strategy,
    /// The cache of answers.
    pub cache: CacheSettings,
    /// IP addresses of plain DNS servers that find the addresses of upstreams given by name.
    /// Default: the upstreams given by IP that speak UDP or TCP, else those of `/etc/resolv.conf`.
    pub bootstrap: Vec<Text<PlainServer>>,
    /// How long a question may take, all tries together. Default 5s, from 100ms to 30s.
    pub timeout: Text<Span>,
}

/// One upstream: an address, or a mapping.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum UpstreamSettings {
    /// Its address.
    Address(String),
    /// Its address and more.
    Detailed(UpstreamDetails),
}

/// One upstream in full.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UpstreamDetails {
    /// Its address, as in `tls://1.1.1.1`. Needed.
    pub address: String,
    /// What it is called in metrics and the dashboard. Default: its address.
    pub name: Option<String>,
    /// Ask this one about these names and all below them, and about nothing else; the longest name
    /// wins. Default: it is asked about everything. At most 4096.
    pub domains: Vec<Text<DomainName>>,
}

/// How one of several upstreams is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    /// Up to three at once; the first answer wins.
    #[default]
    Race,
    /// As written; the next when one fails or is slow.
    Ordered,
    /// The one that answered soonest of late; the others are tried now and then.
    Fastest,
    /// Any.
    Random,
}

/// The cache of answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CacheSettings {
    /// Memory it may take; grows up to it. Default 64MiB, from 0 (no cache) to 64GiB.
    pub size: Text<ByteSize>,
    /// How long an answer may still be used when its time is over and no upstream gives a newer one
    /// (RFC 8767). Default 12h, from 0 (never) to 7d.
    pub stale: Text<Span>,
    /// How long clients wait for an upstream before they get the stale answer (RFC 8767 §5: 1.8 s).
    /// Default 1800ms, up to `timeout`.
    pub stale_after: Text<Span>,
    /// Whether an answer that is still in use is looked up again shortly before its time is over.
    /// Default true.
    pub prefetch: bool,
}

impl Default for ResolverSettings {
    fn default() -> Self {
        let address = |text: &str| UpstreamSettings::Address(text.into());
        Self {
            upstreams: vec![address("https://dns.quad9.net/dns-query"), address("tls://1.1.1.1")],
            strategy: Strategy::default(),
            cache: CacheSettings::default(),
            bootstrap: Vec::new(),
            timeout: Text(Span(Duration::from_secs(5))),
        }
    }
}

impl Default for CacheSettings {
    fn default() -> Self {
        Self {
            size: Text(ByteSize(64 << 20)),
            stale: Text(Span(Duration::from_hours(12))),
            stale_after: Text(Span(Duration::from_millis(1800))),
            prefetch: true,
        }
    }
}

impl From<&str> for UpstreamSettings {
    fn from(address: &str) -> Self {
        Self::Address(address.into())
    }
}

impl UpstreamSettings {
    /// Its address as written.
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

    /// What it is called.
    pub fn name(&self) -> &str {
        match self {
            Self::Detailed(UpstreamDetails { name: Some(name), .. }) => name,
            Self::Address(_) | Self::Detailed(_) => self.address(),
        }
    }

    pub(super) fn parsed(&self) -> Result<UpstreamAddress, AddressError> {
        let address: UpstreamAddress = self.address().parse()?;
        match (address.protocol, &address.host) {
            // Plain DNS to a name would trust whoever answers for that name first.
            (Protocol::Udp | Protocol::Tcp, Host::Name(name)) => {
                Err(AddressError::Host(name.to_string()))
            }
            (Protocol::Udp | Protocol::Tcp, Host::Ip(_)) | (Protocol::Tls | Protocol::Https, _) => {
                Ok(address)
            }
        }
    }
}

impl ResolverSettings {
    /// Every complaint about them.
    pub fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if self.upstreams.is_empty() {
            complaints.push(
                Complaint::new("upstreams", "no upstream is given")
                    .remedy("for example [\"https://dns.quad9.net/dns-query\"]"),
            );
        }
        if self.upstreams.len() > UPSTREAMS_MAX {
            let message = format!("{} upstreams are too many", self.upstreams.len());
            complaints.push(Complaint::new("upstreams", message).remedy("64 is the most"));
        }
        for (index, upstream) in self.upstreams.iter().enumerate() {
            self.check_upstream(index, upstream, &mut complaints);
        }
        if !self.upstreams.is_empty() && self.upstreams.iter().all(|it| !it.domains().is_empty()) {
            let message = "every upstream has domains, so no one is asked about other names";
            complaints.push(
                Complaint::new("upstreams", message).remedy("add one upstream without domains"),
            );
        }
        let timeout = self.timeout.0.0;
        if !(TIMEOUT_MIN..=TIMEOUT_MAX).contains(&timeout) {
            complaints.push(
                Complaint::new("timeout", format!("{} is out of bounds", self.timeout))
                    .remedy("from 100ms to 30s"),
            );
        }
        complaints.extend(self.cache.check(timeout).into_iter().map(|it| it.under("cache")));
        complaints
    }

    fn check_upstream(&self, index: usize, it: &UpstreamSettings, all: &mut Vec<Complaint>) {
        let (place, address) = match it {
            UpstreamSettings::Address(_) => {
                (format!("upstreams.{index}"), format!("upstreams.{index}"))
            }
            UpstreamSettings::Detailed(_) => {
                (format!("upstreams.{index}"), format!("upstreams.{index}.address"))
            }
        };
        match it.address().parse::<UpstreamAddress>() {
            Err(why) => {
                all.push(Complaint::new(address, why.to_string()).remedy(why.remedy()));
            }
            Ok(_) if it.parsed().is_err() => all.push(
                Complaint::new(address, "plain DNS goes to an IP address, not to a name")
                    .remedy("write its address, or use tls:// or https://"),
            ),
            Ok(_) => {}
        }
        if it.domains().len() > DOMAINS_MAX {
            let message = format!("{} domains are too many", it.domains().len());
            all.push(
                Complaint::new(format!("{place}.domains"), message).remedy("4096 is the most"),
            );
        }
        if self.upstreams[..index].iter().any(|other| other.name() == it.name()) {
            let message = format!("another upstream is called {:?} too", it.name());
            all.push(Complaint::new(place, message).remedy("give it a `name` of its own"));
        }
    }
}

impl CacheSettings {
    fn check(&self, timeout: Duration) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if self.size.bytes() > CACHE_MAX {
            let message = format!("{} is out of bounds", self.size);
            complaints.push(Complaint::new("size", message).remedy("at most 64GiB"));
        }
        if self.stale.0.0 > STALE_MAX {
            let message = format!("{} is out of bounds", self.stale);
            complaints.push(Complaint::new("stale", message).remedy("at most 7d"));
        }
        // The default is left alone where only the timeout is shorter.
        if self.stale_after.0.0 > timeout && self.stale_after != Self::default().stale_after {
            let message = format!("{} is longer than the timeout", self.stale_after);
            complaints.push(Complaint::new("stale_after", message).remedy("at most the timeout"));
        }
        complaints
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;

    fn check(yaml_like: serde_json::Value, expected: &[(&str, &str)]) {
        let settings: ResolverSettings = serde_json::from_value(yaml_like).unwrap();
        let complaints = settings.check();
        let found: Vec<_> =
            complaints.iter().map(|it| (it.path.as_str(), it.message.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_default_is_right() {
        assert_eq!(ResolverSettings::default().check(), []);
        check(serde_json::json!({}), &[]);
    }

    #[test]
    fn the_contract_example_is_read() {
        check(
            serde_json::json!({
                "upstreams": ["https://dns.quad9.net/dns-query",
                    { "address": "tls://1.1.1.1", "name": "cf", "domains": ["corp.example"] }],
                "strategy": "race",
                "cache": { "size": "64MiB", "stale": "12h", "prefetch": true },
                "bootstrap": ["9.9.9.9"],
            }),
            &[],
        );
    }

    #[test]
    fn all_complaints_come_at_once_with_their_places() {
        check(
            serde_json::json!({
                "upstreams": ["quic://9.9.9.9", { "address": "udp://dns.example" },
                    "tls://a.example", "tls://a.example"],
                "timeout": "1ms",
                "cache": { "stale": "30d", "size": "1TiB", "stale_after": "40s" },
            }),
            &[
                ("upstreams.0", "quic:// upstreams are not built yet"),
                ("upstreams.1.address", "plain DNS goes to an IP address, not to a name"),
                ("upstreams.3", "another upstream is called \"tls://a.example\" too"),
                ("timeout", "1ms is out of bounds"),
                ("cache.size", "1TiB is out of bounds"),
                ("cache.stale", "30d is out of bounds"),
                ("cache.stale_after", "40s is longer than the timeout"),
            ],
        );
    }

    #[test]
    fn someone_must_be_asked_about_everything() {
        check(
            serde_json::json!({ "upstreams": [{ "address": "9.9.9.9", "domains": ["a.example"] }] }),
            &[("upstreams", "every upstream has domains, so no one is asked about other names")],
        );
        check(serde_json::json!({ "upstreams": [] }), &[("upstreams", "no upstream is given")]);
    }
}
