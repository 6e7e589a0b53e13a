//! What can be set for the DNS door: the `dns` section of the configuration.
//!
//! It holds the resolver's settings flat beside the door's own, as the file has them. It opens
//! nothing and resolves nothing; `config` reads it and [`Settings::check`] says what is wrong.

use crate::blocked::Style;
use crate::door::not_built;
use dns_wire::records::{BadRecord, LocalRecords};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::time::Duration;
use transport::ConnectionLimits;
use upstream::resolver::{
    CacheSettings, PlainServer, ResolverSettings, Strategy, UpstreamSettings,
};
use vocab::{Complaint, DomainName, Listen, Scheme, Span};

/// Longest time a made-up answer may be kept by clients: a day. Longer, and lifting a block would
/// not be noticed.
const BLOCKED_TTL_MAX: Duration = Duration::from_hours(24);

/// TCP connections that can be asked for at most: each costs a descriptor and some kilobytes.
const TCP_CONNECTIONS_MAX: u32 = 100_000;

/// The DNS door.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Where to answer: `udp://ADDRESS:PORT` and `tcp://ADDRESS:PORT`; port 53 if none is given.
    /// Clients expect both (RFC 7766 §5). No default: at least one.
    pub listen: Vec<Text<Listen>>,
    /// Whom to ask: `https://HOST/PATH` (DNS over HTTPS), `tls://HOST` (DNS over TLS), `tcp://IP`,
    /// `udp://IP`, or a mapping with `address`, `name` and `domains` (ask this one only about these
    /// names and those below). Default: `https://dns.quad9.net/dns-query` and `tls://1.1.1.1`.
    pub upstreams: Vec<UpstreamSettings>,
    /// How one of several upstreams is chosen: `race`, `ordered`, `fastest` or `random`. Default
    /// `race`.
    pub strategy: Strategy,
    /// The cache of answers, shared by all doors that look names up.
    pub cache: CacheSettings,
    /// IP addresses of plain DNS servers that find the addresses of upstreams given by name.
    /// Default: the upstreams given by IP that speak UDP or TCP, else those of `/etc/resolv.conf`.
    pub bootstrap: Vec<Text<PlainServer>>,
    /// How long an upstream may take, all tries together. Default 5s, from 100ms to 30s.
    pub timeout: Text<Span>,
    /// What is answered for a blocked name: `auto` (the pixel door's address where there is one,
    /// else nodata), `pixel`, `nodata`, `nxdomain`, `null` (0.0.0.0 and ::) or `refused`. Default
    /// `auto`.
    pub blocked: Style,
    /// How long clients may keep the answer for a blocked name. Default 10s, at most 1d.
    pub blocked_ttl: Text<Span>,
    /// Records answered from here, before policy and cache: `NAME TYPE VALUE` for one name,
    /// `||NAME^ TYPE VALUE` for it and all below.
    pub local: Vec<String>,
    /// Whether to answer the names by which programs ask if they should go around this door:
    /// `use-application-dns.net` (no such name), `mask.icloud.com` and `mask-h2.icloud.com` (no
    /// such name) and `_dns.resolver.arpa` (nothing there). Default `answer`; `pass` treats them
    /// like any name.
    pub canaries: Canaries,
    /// How many TCP connections may be open at once, all clients together. Default 1024.
    pub tcp_connections: u32,
    /// How many of them one client may hold. Default 32.
    pub tcp_connections_per_client: u32,
    /// Plugins of mosdns or OxiDNS. Not built yet: must be empty.
    pub pipeline: Vec<serde_json::Value>,
}

/// What becomes of canary names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Canaries {
    /// They are answered so that programs keep using this door.
    Answer,
    /// They are names like any other.
    Pass,
}

impl Default for Settings {
    fn default() -> Self {
        let resolver = ResolverSettings::default();
        Self {
            listen: Vec::new(),
            upstreams: resolver.upstreams,
            strategy: resolver.strategy,
            cache: resolver.cache,
            bootstrap: resolver.bootstrap,
            timeout: resolver.timeout,
            blocked: Style::default(),
            blocked_ttl: Text(Span(Duration::from_secs(10))),
            local: Vec::new(),
            canaries: Canaries::Answer,
            tcp_connections: 1024,
            tcp_connections_per_client: 32,
            pipeline: Vec::new(),
        }
    }
}

impl Settings {
    /// Every complaint, with paths relative to this section.
    pub fn check(&self) -> Vec<Complaint> {
        let mut complaints = self.check_listen();
        complaints.extend(self.resolver().check());
        if self.blocked_ttl.0.0 > BLOCKED_TTL_MAX {
            complaints.push(
                Complaint::new("blocked_ttl", format!("{} is over a day", self.blocked_ttl))
                    .remedy("write 1d or less"),
            );
        }
        if let Err(bad) = LocalRecords::parse(&self.local) {
            complaints.extend(bad.into_iter().map(complaint_of));
        }
        for (path, number) in [
            ("tcp_connections", self.tcp_connections),
            ("tcp_connections_per_client", self.tcp_connections_per_client),
        ] {
            if !(1..=TCP_CONNECTIONS_MAX).contains(&number) {
                complaints.push(
                    Complaint::new(path, format!("{number} is out of bounds"))
                        .remedy(format!("write 1 to {TCP_CONNECTIONS_MAX}")),
                );
            }
        }
        if !self.pipeline.is_empty() {
            complaints.push(
                Complaint::new("pipeline", "plugin pipelines are not built yet")
                    .remedy("leave it out, and say it with lists, local and upstreams"),
            );
        }
        complaints
    }

    fn check_listen(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if self.listen.is_empty() {
            complaints.push(
                Complaint::new("listen", "the DNS door needs an address to listen on")
                    .remedy("write listen: [\"udp://127.0.0.1:5353\", \"tcp://127.0.0.1:5353\"]"),
            );
        }
        for (index, entry) in self.listen.iter().enumerate() {
            let path = format!("listen.{index}");
            match entry.scheme {
                Scheme::Udp | Scheme::Tcp if !entry.path.is_empty() => {
                    complaints.push(
                        Complaint::new(
                            &path,
                            format!(
                                "{entry} has a path; DNS over {} has none",
                                entry.scheme.as_str()
                            ),
                        )
                        .remedy("end it after the port"),
                    );
                }
                Scheme::Udp | Scheme::Tcp => {}
                Scheme::Tls | Scheme::Quic | Scheme::Http | Scheme::Https => {
                    complaints.push(Complaint { path: path.clone(), ..not_built(entry) });
                }
            }
            if self.listen[..index].contains(entry) {
                complaints.push(
                    Complaint::new(path, format!("{entry} stands here twice"))
                        .remedy("leave one out"),
                );
            }
        }
        complaints
    }

    /// The part that is the resolver's.
    pub fn resolver(&self) -> ResolverSettings {
        ResolverSettings {
            upstreams: self.upstreams.clone(),
            strategy: self.strategy,
            cache: self.cache.clone(),
            bootstrap: self.bootstrap.clone(),
            timeout: self.timeout,
        }
    }

    /// Caps on TCP connections, all listeners together.
    pub(crate) fn connection_limits(&self) -> ConnectionLimits {
        ConnectionLimits::new(
            self.tcp_connections as usize,
            self.tcp_connections_per_client as usize,
        )
    }

    pub(crate) fn blocked_ttl_s(&self) -> u32 {
        u32::try_from(self.blocked_ttl.0.0.as_secs()).unwrap_or(u32::MAX)
    }

    pub(crate) fn local_records(&self) -> Result<LocalRecords, Vec<Complaint>> {
        LocalRecords::parse(&self.local).map_err(|bad| bad.into_iter().map(complaint_of).collect())
    }

    /// The names that some upstream is responsible for.
    pub(crate) fn delegated(&self) -> Vec<DomainName> {
        let domains = self.upstreams.iter().flat_map(UpstreamSettings::domains);
        domains.map(|domain| domain.0.clone()).collect()
    }
}

fn complaint_of(bad: BadRecord) -> Complaint {
    Complaint::new(format!("local.{}", bad.index), bad.message)
        .remedy("write NAME TYPE VALUE, as in router.lan A 192.168.1.1")
}
