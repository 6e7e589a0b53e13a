//! What can be set for the gateway door: the `gateway` section of the configuration.
//!
//! It reads no pattern file and connects to no server; `config` reads it and [`Settings::check`]
//! says what is wrong.

mod compress;
mod fields;
mod fixed_answer;
mod folder;
mod guards;
mod limits;
mod listeners;
mod reproxy;
mod rewrite;
mod routes;
mod slashes;
mod uploads;

pub use self::compress::{CodingName, CompressChoice, CompressSettings};
pub use self::fields::{FieldRule, FieldSettings, ForwardedStyle};
pub(crate) use self::fixed_answer::{FixedAnswer, RedirectTarget};
pub use self::fixed_answer::{FixedAnswerSettings, RedirectSettings};
pub use self::folder::{FolderSettings, ScriptChoice, ScriptSettings};
pub use self::guards::{
    AnswerSettings, AuthSettings, BlockRedirect, BlockSettings, ForwardAuthSettings, PatternSource,
    SilentClose,
};
pub(crate) use self::guards::{BadCopiedField, BadVerifyUrl, CheckedAnswer, check_copied};
pub(crate) use self::limits::BadLimitRate;
pub use self::limits::{LimitSettings, RequestsSettings};
use self::listeners::HttpsUse;
pub use self::listeners::{ClientSettings, TlsSettings};
pub use self::reproxy::ReproxySettings;
pub(crate) use self::rewrite::{HostSent, HostSetting};
pub use self::routes::RouteSettings;
pub use self::uploads::{UploadMode, UploadSettings, UploadThreshold};
use access_log::AccessLogChoice;
use balancer::PoolSettings;
pub use http_front::{CertificateSettings, ClientCertificate};
use http_front::{ConnectionCaps, HealthPath};
use origins::AnswerHeadSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::collections::BTreeMap;
use std::time::Duration;
use vocab::{ByteSize, Complaint, Door, Listen, Network, Scheme, TimeSpan};

/// Routes: those of one host are looked at one by one.
const ROUTES_MAX: usize = 1_024;
/// Networks of proxies in front: more are better written as wider ones.
const PROXY_NETWORKS_MAX: usize = 64;
/// Limits by rate of one door: each has a table of half a mebibyte.
const LIMITS_MAX: usize = 64;
const TIMEOUT_MAX: Duration = Duration::from_hours(1);
const UPGRADE_IDLE_MAX: Duration = Duration::from_hours(24);

/// The gateway door.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Where to answer: `http://ADDRESS:PORT`, or `https://ADDRESS:PORT` for TLS with HTTP/2 and
    /// HTTP/1.1. Default `http://127.0.0.1:8081`.
    pub listen: Vec<Text<Listen>>,
    /// HTTPS: certificates, and which clients are let in.
    pub tls: TlsSettings,
    /// True if `http` listeners take HTTP/2 too, from clients that know beforehand that they may
    /// (RFC 9113 §3.3): gRPC does. Default false.
    pub h2c: bool,
    /// A path at which the door itself answers 200 to `GET` and `HEAD`, for load balancers that ask
    /// whether it serves: `/healthz`. It stands before routes, passwords, limits and the policy,
    /// and is not recorded. Default: none.
    pub health: Option<HealthPath>,
    /// The networks of proxies in front that say who the client is by the PROXY protocol, version 1
    /// or
    /// 2. Where there are some, every connection must come from them and begin so; any other is
    /// closed. At most 64. Default none.
    pub proxy_protocol: Vec<Text<Network>>,
    /// Timeouts, rates and limits for clients.
    pub client: ClientSettings,
    /// The servers behind, by the name of their pool.
    pub pools: BTreeMap<String, PoolSettings>,
    /// Routes: the first that fits decides. At most 1024.
    pub routes: Vec<RouteSettings>,
    /// URLs to refuse whatever the route. Default none.
    pub block: Option<BlockSettings>,
    /// Proxies in front, as networks or addresses. Their `X-Forwarded-For`, `-Proto`, `-Host` and
    /// `-Port` are believed, or their `Forwarded` where that alone is spoken; anybody else's are
    /// replaced. Default none.
    pub trusted: Vec<Text<Network>>,
    /// Fields that tell servers who the client is: `x_forwarded` (the default: `X-Forwarded-For`,
    /// `-Proto`, `-Host`, `-Port`), `standard` (`Forwarded`, RFC 7239), `both` or `off`. Clients
    /// that are not trusted cannot set any of them.
    pub forwarded: ForwardedStyle,
    /// Changes of header fields on every route, and in the gateway's own answers. Default none.
    pub headers: FieldSettings,
    /// The largest request body. Default 64MiB, at least 1KiB. Beyond it: 413. Bodies are streamed,
    /// so this costs no memory.
    pub body_max: Text<ByteSize>,
    /// Time that a server may take to begin its answer, and may fall silent within it. Default 60s,
    /// from 1s to 1h. Beyond it: 504.
    pub response_timeout: Text<TimeSpan>,
    /// The largest head of a server's answer that is taken. Beyond it: 502.
    pub response_head: AnswerHeadSettings,
    /// Time for which a connection that left HTTP (a WebSocket) may be quiet. Default 5m, from 10s
    /// to 1d.
    pub upgrade_idle: Text<TimeSpan>,
    /// Number of such connections that may be open at once. Default 10000. Beyond it: 503.
    pub upgrades: u32,
    /// Request bodies: streamed to a server, or collected first.
    pub uploads: UploadSettings,
    /// The cache of the routes that have one, shared by all of them.
    pub cache: http_cache::Settings,
    /// An access log of all routes. Default none: the ledger has every request anyway.
    pub access_log: Option<AccessLogChoice>,
    /// Number of connections that may be open at once, all clients together. Default 10000.
    pub connections: u32,
    /// Connections that one client may hold. Default 1024.
    pub connections_per_client: u32,
}

impl Settings {
    /// The caps on its connections.
    pub(crate) const fn connection_caps(&self) -> ConnectionCaps {
        ConnectionCaps::new(self.connections, self.connections_per_client)
    }
}

impl Default for Settings {
    fn default() -> Self {
        let listen = Listen {
            scheme: Scheme::Http,
            address: ([127, 0, 0, 1], 8081).into(),
            path: String::new(),
        };
        Self {
            listen: vec![Text(listen)],
            tls: TlsSettings::default(),
            h2c: false,
            health: None,
            proxy_protocol: Vec::new(),
            client: ClientSettings::default(),
            pools: BTreeMap::new(),
            routes: Vec::new(),
            block: None,
            trusted: Vec::new(),
            forwarded: ForwardedStyle::default(),
            headers: FieldSettings::default(),
            body_max: Text(ByteSize(64 << 20)),
            response_timeout: Text(TimeSpan(Duration::from_mins(1))),
            response_head: AnswerHeadSettings::default(),
            upgrade_idle: Text(TimeSpan(Duration::from_mins(5))),
            upgrades: 10_000,
            access_log: None,
            uploads: UploadSettings::default(),
            cache: http_cache::Settings::default(),
            connections: 10_000,
            connections_per_client: 1_024,
        }
    }
}

impl Settings {
    /// Everything that is wrong.
    pub fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if self.listen.is_empty() {
            complaints.push(
                Complaint::new("listen", "the gateway has nowhere to listen")
                    .remedy("write listen: [\"http://127.0.0.1:8081\"]"),
            );
        }
        for (index, listen) in self.listen.iter().enumerate() {
            complaints.extend(check_listen(&format!("listen.{index}"), listen));
        }
        complaints.extend(self.check_clients());
        complaints.extend(AccessLogChoice::check_if(self.access_log.as_ref()));
        for (name, pool) in &self.pools {
            complaints
                .extend(pool.check().into_iter().map(|it| it.under(&format!("pools.{name}"))));
        }
        if self.routes.is_empty() {
            complaints.push(
                Complaint::new("routes", "the gateway leads nowhere")
                    .remedy("write routes: [{ path: \"/*\", pool: NAME }]"),
            );
        }
        if self.routes.len() > ROUTES_MAX {
            let message =
                format!("{} routes are too many: at most {ROUTES_MAX}", self.routes.len());
            complaints.push(Complaint::new("routes", message));
        }
        for (index, route) in self.routes.iter().enumerate() {
            let found = route.check(&self.pools);
            complaints.extend(found.into_iter().map(|it| it.under(&format!("routes.{index}"))));
        }
        complaints.extend(routes::check_order(&self.routes));
        complaints.extend(self.check_guards());
        complaints.extend(self.check_internal());
        complaints.extend(self.check_route_listeners());
        complaints.extend(self.check_bounds());
        complaints
    }

    /// The folders that routes serve, by the number of the route.
    pub fn folders(&self) -> impl Iterator<Item = (usize, FolderSettings)> {
        let body_max = self.body_max.bytes();
        let routes = self.routes.iter().enumerate();
        routes.filter_map(move |(index, route)| Some((index, route.folder(body_max)?)))
    }

    /// Complaints about listeners that a route names and the gateway has not.
    fn check_route_listeners(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        for (index, route) in self.routes.iter().enumerate() {
            for (at, listen) in route.listen.iter().enumerate() {
                let path = format!("routes.{index}.listen.{at}");
                let is_there = self.listen.iter().any(|own| own.0 == listen.0);
                let (wrong, remedy) = match listen.address.port() {
                    0 => ("no port is known beforehand", "give the listener a port"),
                    _ if is_there => continue,
                    _ => ("the gateway does not listen there", "write it as gateway.listen has it"),
                };
                let message = format!("{}: {wrong}", listen.0);
                complaints.push(Complaint::new(path, message).remedy(remedy));
            }
        }
        complaints
    }

    fn check_internal(&self) -> Option<Complaint> {
        let reroutes = |route: &RouteSettings| route.reproxy.as_ref().is_some_and(|it| it.reroute);
        let index = self.routes.iter().position(|route| route.internal)?;
        if self.routes.iter().any(reroutes) {
            return None;
        }
        let path = format!("routes.{index}.internal");
        let complaint = Complaint::new(path, "nothing leads to this route");
        let remedy = "write reproxy: { reroute: true } at the route whose servers lead to it";
        Some(complaint.remedy(remedy))
    }

    fn check_guards(&self) -> Vec<Complaint> {
        let block = self.block.as_ref().map_or_else(Vec::new, BlockSettings::check);
        let mut complaints: Vec<_> = block.into_iter().map(|it| it.under("block")).collect();
        let limits = self.routes.iter().filter(|route| route.limit.is_some()).count();
        if limits > LIMITS_MAX {
            let message = format!("{limits} routes have a limit: at most {LIMITS_MAX} may");
            complaints.push(Complaint::new("routes", message));
        }
        complaints
    }

    /// Returns what is wrong with the way clients come in.
    fn check_clients(&self) -> Vec<Complaint> {
        let is_https = |listen: &Text<Listen>| listen.scheme == Scheme::Https;
        let https = match () {
            () if self.listen.iter().all(is_https) => HttpsUse::Everywhere,
            () if self.listen.iter().any(is_https) => HttpsUse::Somewhere,
            () => HttpsUse::Nowhere,
        };
        let tls = self.tls.check(https).into_iter().map(|it| it.under("tls"));
        let client = self.client.check().into_iter().map(|it| it.under("client"));
        let headers = self.headers.check().into_iter().map(|it| it.under("headers"));
        let health = self.health.as_ref().and_then(HealthPath::check);
        let mut complaints: Vec<_> = tls.chain(client).chain(headers).chain(health).collect();
        if self.h2c && https == HttpsUse::Everywhere {
            complaints.push(
                Complaint::new("h2c", "every listener speaks TLS, so this is not used")
                    .remedy("leave h2c out: over TLS clients choose HTTP/2 by themselves"),
            );
        }
        if self.proxy_protocol.len() > PROXY_NETWORKS_MAX {
            complaints.push(
                Complaint::new("proxy_protocol", format!("at most {PROXY_NETWORKS_MAX} networks"))
                    .remedy("write wider networks"),
            );
        }
        complaints
    }

    fn check_bounds(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        let mut check = |path: &str, span: TimeSpan, least: Duration, most: Duration| {
            if span.0 < least || span.0 > most {
                let (least, most) = (TimeSpan(least), TimeSpan(most));
                complaints.push(
                    Complaint::new(path, format!("{span} is out of bounds"))
                        .remedy(format!("write a span from {least} to {most}")),
                );
            }
        };
        check("response_timeout", *self.response_timeout, Duration::from_secs(1), TIMEOUT_MAX);
        check("upgrade_idle", *self.upgrade_idle, Duration::from_secs(10), UPGRADE_IDLE_MAX);
        let of_heads = self.response_head.check();
        complaints.extend(of_heads.into_iter().map(|it| it.under("response_head")));
        complaints.extend(self.uploads.check().into_iter().map(|it| it.under("uploads")));
        complaints.extend(self.cache.check().into_iter().map(|it| it.under("cache")));
        complaints.extend(self.cache.check_reverse().into_iter().map(|it| it.under("cache")));
        if self.body_max.bytes() < 1 << 10 {
            complaints.push(
                Complaint::new("body_max", format!("{} is out of bounds", self.body_max))
                    .remedy("write a size of at least 1KiB"),
            );
        }
        for (path, count) in [
            ("connections", self.connections),
            ("connections_per_client", self.connections_per_client),
        ] {
            if count == 0 {
                complaints.push(Complaint::new(path, "at least one connection is needed"));
            }
        }
        complaints
    }
}

fn check_listen(path: &str, listen: &Listen) -> Option<Complaint> {
    let no_path = "a gateway listens at an address; paths belong in its routes";
    http_front::check_listen(Door::Gateway, path, listen, no_path)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;
    use balancer::HealthSettings;

    fn small() -> Settings {
        let pool =
            PoolSettings { servers: vec!["http://10.0.0.1:80".into()], ..Default::default() };
        Settings {
            pools: [("app".to_owned(), pool)].into(),
            routes: vec![RouteSettings { pool: Some("app".into()), ..Default::default() }],
            ..Settings::default()
        }
    }

    #[test]
    fn a_pool_and_a_route_are_enough() {
        assert_eq!(small().check(), []);
    }

    #[test]
    fn a_route_names_listeners_that_the_gateway_has() {
        let listen = |text: &str| Text(text.parse().unwrap());
        let mut settings = small();
        settings.listen = vec![listen("http://127.0.0.1:80"), listen("http://127.0.0.1:0")];
        settings.routes[0].listen = vec![listen("http://127.0.0.1:80")];
        let all = RouteSettings { pool: Some("app".into()), ..Default::default() };
        settings.routes.push(all.clone());
        assert_eq!(settings.check(), []);
        settings.routes[0].listen.push(listen("https://127.0.0.1:80"));
        settings.routes[0].listen.push(listen("http://127.0.0.1:0"));
        settings.routes.push(RouteSettings { listen: settings.routes[0].listen.clone(), ..all });
        let paths: Vec<_> = settings.check().into_iter().map(|it| it.path).collect();
        let expected = [
            "routes.2",
            "routes.0.listen.1",
            "routes.0.listen.2",
            "routes.2.listen.1",
            "routes.2.listen.2",
        ];
        assert_eq!(paths, expected);
    }

    #[test]
    fn everything_wrong_is_said_at_once() {
        let mut settings = small();
        settings.listen = vec![Text("udp://127.0.0.1:1".parse().unwrap())];
        let pool = settings.pools.get_mut("app").unwrap();
        pool.servers.push("10.0.0.2:80".into());
        pool.hash = "url".into();
        pool.health = Some(HealthSettings { path: "health".into(), ..Default::default() });
        let patterns = PatternSource::Inline(vec!["/ok".into(), "*".into()]);
        settings.routes = vec![
            RouteSettings {
                path: "static/*x".into(),
                root: Some("/srv".into()),
                cache: true,
                ..Default::default()
            },
            RouteSettings {
                host: Some("a..b".into()),
                pool: Some("ap".into()),
                ..Default::default()
            },
            RouteSettings {
                block: Some(BlockSettings { patterns, ..Default::default() }),
                cache: true,
                ..Default::default()
            },
            RouteSettings::default(),
        ];
        settings.cache.never = vec!["||a.example^".into()];
        settings.body_max = Text(ByteSize(10));
        let paths: Vec<_> = settings.check().into_iter().map(|it| it.path).collect();
        let expected = [
            "listen.0",
            "pools.app.servers.1",
            "pools.app.hash",
            "pools.app.health.path",
            "routes.0.path",
            "routes.0.cache",
            "routes.1.host",
            "routes.1.pool",
            "routes.2.cache",
            "routes.2.block.patterns.1",
            "routes.3.pool",
            "cache.never",
            "body_max",
        ];
        assert_eq!(paths, expected);
    }

    #[test]
    fn the_contract_example_is_read() {
        let text = r#"{
            "listen": ["http://0.0.0.0:8081"],
            "pools": { "app": { "servers": ["http://10.0.0.11:8080", "http://10.0.0.12:8080"] } },
            "routes": [
                { "path": "/static/*", "block": { "patterns": "lists/attacks.txt" } },
                { "host": "app.example", "block": { "patterns": ["/.env"] }, "pool": "app" }
            ]
        }"#;
        let settings: Settings = serde_json::from_str(text).unwrap();
        assert_eq!(settings.check(), []);
    }
}
