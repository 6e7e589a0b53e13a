//! What can be set for the proxy door: the `proxy` section of the configuration.
//!
//! It opens nothing and asks nobody; `config` reads it and [`Settings::check`] says what is wrong.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::time::Duration;
use upstream::origins::Destinations;
use vocab::{ByteSize, Complaint, Listen, Network, Scheme, Span};

/// A quiet tunnel is kept at most a day: long enough for any push channel.
const TUNNEL_IDLE_MAX: Duration = Duration::from_hours(24);
/// An hour is longer than any report takes that a person waits for.
const RESPONSE_TIMEOUT_MAX: Duration = Duration::from_hours(1);

/// The proxy door.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Where to answer: `http://ADDRESS:PORT`. Default `http://127.0.0.1:3128`.
    pub listen: Vec<Text<Listen>>,
    /// Who may use the proxy: networks or addresses. Default: this machine and private networks
    /// (RFC 1918, RFC 4193, link-local). Others get 403.
    pub clients: Vec<Text<Network>>,
    /// Ports to which a tunnel (`CONNECT`) may lead. Default 443 and 8443 for HTTPS, and 80, over
    /// which browsers tunnel `ws:`. Others get 403: a tunnel to port 25 would send mail.
    pub connect_ports: Vec<u16>,
    /// Where clients may be taken: `guarded` (the default: the internet; private networks for
    /// private clients; this machine's loopback only for itself), `public` (the internet only) or
    /// `any`. Link-local addresses, where clouds keep credentials, and the admin listener are
    /// refused always.
    pub destinations: Destinations,
    /// How long a tunnel may be quiet before it is closed. Default 5m, from 10s to 1d.
    pub tunnel_idle: Text<Span>,
    /// How long an origin may take to begin its answer, and may fall silent within it. Default 5m,
    /// from 1s to 1h. Beyond it: 504.
    pub response_timeout: Text<Span>,
    /// How many connections may be open at once, all clients together. Default 10000.
    pub connections: u32,
    /// How many of them one client may hold. Default 1024.
    pub connections_per_client: u32,
    /// Another proxy to send everything through. Not built yet: must be absent.
    pub parent: Option<String>,
    /// The cache. Not built yet: must be absent.
    pub cache: Option<CacheSettings>,
}

/// The proxy's cache. Not built yet.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CacheSettings {
    /// Memory that it may take. Default 256MiB.
    pub memory: Text<ByteSize>,
    /// Its part on disk. Default none.
    pub disk: Option<DiskSettings>,
}

/// The cache's part on disk. Not built yet.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiskSettings {
    /// Its folder.
    pub path: String,
    /// The room that it may take.
    pub size: Text<ByteSize>,
}

impl Default for Settings {
    fn default() -> Self {
        let listen = Listen {
            scheme: Scheme::Http,
            address: ([127, 0, 0, 1], 3128).into(),
            path: String::new(),
        };
        Self {
            listen: vec![Text(listen)],
            clients: near_networks(),
            connect_ports: vec![80, 443, 8443],
            destinations: Destinations::Guarded,
            tunnel_idle: Text(Span(Duration::from_mins(5))),
            response_timeout: Text(Span(Duration::from_mins(5))),
            connections: 10_000,
            connections_per_client: 1_024,
            parent: None,
            cache: None,
        }
    }
}

impl Default for CacheSettings {
    fn default() -> Self {
        Self { memory: Text(ByteSize(256 << 20)), disk: None }
    }
}

fn near_networks() -> Vec<Text<Network>> {
    const NEAR: [&str; 8] = [
        "127.0.0.0/8",
        "10.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "169.254.0.0/16",
        "::1/128",
        "fc00::/7",
        "fe80::/10",
    ];
    NEAR.iter().filter_map(|text| text.parse().ok()).map(Text).collect()
}

impl Settings {
    /// Everything that is wrong.
    pub fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if self.listen.is_empty() {
            complaints.push(
                Complaint::new("listen", "the proxy has nowhere to listen")
                    .remedy("write listen: [\"http://127.0.0.1:3128\"]"),
            );
        }
        for (index, listen) in self.listen.iter().enumerate() {
            complaints.extend(check_listen(&format!("listen.{index}"), listen));
        }
        if self.clients.is_empty() {
            complaints.push(
                Complaint::new("clients", "nobody may use the proxy")
                    .remedy("name networks, as in [192.168.0.0/16], or leave clients out"),
            );
        }
        for (index, port) in self.connect_ports.iter().enumerate() {
            if *port == 0 {
                complaints
                    .push(Complaint::new(format!("connect_ports.{index}"), "there is no port 0"));
            }
        }
        complaints.extend(check_span(
            "tunnel_idle",
            *self.tunnel_idle,
            Duration::from_secs(10)..=TUNNEL_IDLE_MAX,
        ));
        complaints.extend(check_span(
            "response_timeout",
            *self.response_timeout,
            Duration::from_secs(1)..=RESPONSE_TIMEOUT_MAX,
        ));
        if self.connections == 0 || self.connections_per_client == 0 {
            let path = if self.connections == 0 { "connections" } else { "connections_per_client" };
            complaints.push(Complaint::new(path, "at least one connection is needed"));
        }
        if self.parent.is_some() {
            complaints.push(
                Complaint::new("parent", "parent proxies are not built yet")
                    .remedy("leave parent out"),
            );
        }
        if self.cache.is_some() {
            complaints.push(
                Complaint::new("cache", "the proxy's cache is not built yet")
                    .remedy("leave cache out"),
            );
        }
        complaints
    }
}

fn check_listen(path: &str, listen: &Listen) -> Option<Complaint> {
    match listen.scheme {
        Scheme::Http if listen.path.is_empty() => None,
        Scheme::Http => Some(
            Complaint::new(path, "a proxy listens at an address, not at a path")
                .remedy(format!("write http://{}", listen.address)),
        ),
        Scheme::Https => Some(
            Complaint::new(path, "https:// listeners are not built yet for the proxy")
                .remedy(format!("write http://{}", listen.address)),
        ),
        Scheme::Udp | Scheme::Tcp | Scheme::Tls | Scheme::Quic => Some(
            Complaint::new(path, "the proxy speaks HTTP")
                .remedy(format!("write http://{}", listen.address)),
        ),
    }
}

fn check_span(
    path: &str,
    span: Span,
    bounds: std::ops::RangeInclusive<Duration>,
) -> Option<Complaint> {
    if bounds.contains(&span.0) {
        return None;
    }
    let (least, most) = (Span(*bounds.start()), Span(*bounds.end()));
    Some(
        Complaint::new(path, format!("{span} is out of bounds"))
            .remedy(format!("write a span from {least} to {most}")),
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_right_and_near() {
        let settings = Settings::default();
        assert_eq!(settings.check(), []);
        assert_eq!(settings.clients.len(), 8);
        let allowed = |ip: &str| settings.clients.iter().any(|it| it.contains(ip.parse().unwrap()));
        assert!(allowed("127.0.0.1") && allowed("::1") && allowed("192.168.7.7"));
        assert!(!allowed("203.0.113.1") && !allowed("2001:db8::1"));
    }

    #[test]
    fn everything_wrong_is_said_at_once() {
        let settings = Settings {
            listen: vec![Text("https://127.0.0.1:1".parse().unwrap())],
            clients: Vec::new(),
            connect_ports: vec![443, 0],
            tunnel_idle: Text(Span(Duration::ZERO)),
            parent: Some("http://parent:1".into()),
            cache: Some(CacheSettings::default()),
            ..Settings::default()
        };
        let paths: Vec<_> = settings.check().into_iter().map(|it| it.path).collect();
        let expected = ["listen.0", "clients", "connect_ports.1", "tunnel_idle", "parent", "cache"];
        assert_eq!(paths, expected);
    }
}
