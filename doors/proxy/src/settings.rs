//! Settings of the proxy door: the `proxy` section of the configuration.
//!
//! It opens nothing and asks nobody; `config` reads it and [`Settings::check`] says what is wrong.

mod access;
mod bandwidth;
mod check;
mod exposure;
mod local_endpoints;
mod parents;
mod passing;

pub use self::access::{AuthSettings, TokenDigest};
pub use self::bandwidth::BandwidthSettings;
pub use self::local_endpoints::{PacFallback, PacSettings, TlsSettings};
pub use self::parents::{ParentHosts, ParentSettings, ParentsOf};
pub use self::passing::{ConnectSni, FieldDisclosure, RefererPolicy};

use access_log::AccessLogChoice;
use http_engine::upgrade::WEBSOCKET;
use http_front::{ConnectionCaps, HealthPath};
use origins::{AnswerHeadSettings, DestinationScope, FamilyChoice, OutgoingAddresses};
use redirector::RedirectorSettings;
use schemars::JsonSchema;
use scripting::LuauChoice;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::net::IpAddr;
use std::time::Duration;
use vocab::{DomainName, Listen, NEAR_NETWORKS, Network, PortRange, Scheme, TimeSpan};
use wasm_filters::WasmFilterSettings;

/// The proxy door.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Where to answer: `http://ADDRESS:PORT`, or `https://ADDRESS:PORT` to be spoken to over TLS.
    /// HTTP/1.1 and HTTP/2 at both. `redirect://ADDRESS:PORT` and `tproxy://ADDRESS:PORT` take
    /// connections to others that the packet filter of this machine brings there, HTTP and TLS,
    /// from clients that know of no proxy: by NAT (`redirect` of nftables, `REDIRECT` of iptables),
    /// or as they are (`tproxy`, `TPROXY`; needs `CAP_NET_ADMIN`). Default `http://127.0.0.1:3128`.
    pub listen: Vec<Text<Listen>>,
    /// A path at which the proxy itself answers 200 to `GET` and `HEAD` that are sent to it as to a
    /// web server, for load balancers that ask whether it serves: `/healthz`. No password is asked
    /// for, and nothing recorded. Default: none.
    pub health: Option<HealthPath>,
    /// SOCKS5 at the `http` listeners beside HTTP (RFC 1928, RFC 1929): a client's `CONNECT`, under
    /// the rules of tunnels. Default false.
    pub socks5: bool,
    /// Clients that may use the proxy: networks or addresses. Default: this machine and private
    /// networks (RFC 1918, RFC 4193, link-local). Others get 403.
    pub clients: Vec<Text<Network>>,
    /// Users with passwords or tokens. Default: no password is asked for.
    pub auth: Option<AuthSettings>,
    /// The certificate of `https` listeners.
    pub tls: TlsSettings,
    /// Ports to which a tunnel (`CONNECT`) may lead. Default 443 and 8443 for HTTPS, and 80, over
    /// which browsers tunnel `ws:`; a range is written `8000-8999`. Others get 403: a tunnel to
    /// port 25 would send mail.
    pub connect_ports: Vec<Text<PortRange>>,
    /// Check of the server's name in a tunnel's first bytes by the policy: `check` (the default;
    /// what is not TLS passes), `require` (TLS with a name, or nothing) or `off`.
    pub connect_sni: ConnectSni,
    /// Ports from which `http:` and `https:` URLs are fetched. Default: 80, 443 and all from 1024,
    /// written as none.
    pub fetch_ports: Vec<Text<PortRange>>,
    /// Where clients may be taken: `guarded` (the default: the internet; private networks for
    /// private clients; this machine's loopback only for itself), `public` (the internet only) or
    /// `any`. Link-local addresses, where clouds keep credentials, and the admin listener are
    /// refused always.
    pub destinations: DestinationScope,
    /// Public names that may lead a `guarded` client to private addresses, with all below them, as
    /// in `home.example.com`. Others may not, because a page of theirs could then talk to hosts
    /// inside ("DNS rebinding"). Names that only a private network knows (`nas`, `nas.lan`,
    /// `nas.home.arpa`) may, and those to which `dns.local` gives that address. At most 1000.
    /// Default: none.
    pub rebinding_allow: Vec<Text<DomainName>>,
    /// Time for which a tunnel may be quiet before it is closed. Default 5m, from 10s to 1d.
    pub tunnel_idle: Text<TimeSpan>,
    /// Time that an origin may take to begin its answer, and may fall silent within it. Default 5m,
    /// from 1s to 1h. Beyond it: 504.
    pub response_timeout: Text<TimeSpan>,
    /// The largest head of an origin's answer that is taken. Beyond it: 502.
    pub response_head: AnswerHeadSettings,
    /// Number of connections that may be open at once, all clients together. Default 10000.
    pub connections: u32,
    /// Connections that one client may hold. Default 1024.
    pub connections_per_client: u32,
    /// Connections to one origin (scheme, host and port) that may be open at once, idle ones
    /// included, all clients and cores together; one of HTTP/2 counts once. Requests beyond wait
    /// for one, 1000 at most and for 30 s at most; then 503. Of tunnels and of connections to a
    /// `parent` itself there is no bound. Default: none; from 1 to 10000.
    pub connections_per_origin: Option<u32>,
    /// Bounds on what comes from servers, by clients and URLs: answers, and tunnels to the client.
    /// The first class that names a request counts; what is stored already is sent at once. At most
    /// 64. Default: none.
    pub bandwidth: Vec<BandwidthSettings>,
    /// Other proxies to send everything through that `parents` does not: one, or several that are
    /// tried in turn when one cannot be reached. `http://USER:PASSWORD@HOST:PORT`, `https://…`,
    /// `socks5://…`, `socks4a://…` or `direct`. Default: direct.
    pub parent: Option<ParentSettings>,
    /// The same for some hosts only; the first entry that fits counts. At most 256.
    pub parents: Vec<ParentsOf>,
    /// The addresses of this machine that connections to origins and parents leave from, one of
    /// IPv4 and one of IPv6 at most. Default none: the routes say.
    pub source: Vec<Text<IpAddr>>,
    /// The family of addresses that is connected to: `any`, `ipv4` or `ipv6`. Default `any`.
    pub family: FamilyChoice,
    /// Header fields that are taken out of requests and of answers. At most 64. Default: none.
    pub censor: Vec<String>,
    /// The `Referer` that origins see: `keep` (the default), `same-site` (only pages of the same
    /// site) or `drop`.
    pub referer: RefererPolicy,
    /// The field `Via` (RFC 9110 §7.6.3) in messages: `on` (the default) or `off`. Without, loops
    /// of proxies are not noticed.
    pub via: FieldDisclosure,
    /// The client's address for origins, in `X-Forwarded-For`: `on` or `off` (the default).
    pub x_forwarded_for: FieldDisclosure,
    /// The wish that nobody on the way changes an answer (`Cache-Control: no-transform` in every
    /// request; RFC 9111 §5.2.1.6): `on` or `off` (the default). Proxies of mobile networks scale
    /// images down else.
    pub no_transform: FieldDisclosure,
    /// Protocols for which connections to `http:` and `https:` URLs may leave HTTP (`Upgrade`), by
    /// their names. Any other is not passed on, and the request is answered without it. `h2c`,
    /// `HTTP` and `TLS` are refused, because URLs inside them would pass unread. At most 8. Default
    /// `[websocket]`.
    pub upgrade: Vec<String>,
    /// Hosts of the mirror, with all below them: `/https/HOST/PATH` at the proxy's own address is
    /// `https://HOST/PATH`, for programs that know a base URL and no proxy. Only with `GET` and
    /// `HEAD`, without cookies, and without `auth`. At most 1000. Default: none.
    pub mirror: Vec<Text<DomainName>>,
    /// The setup script at `/proxy.pac` and `/wpad.dat`, by which browsers configure themselves.
    pub pac: PacSettings,
    /// Programs that are asked about each URL that the policy lets pass: Squid's
    /// `url_rewrite_program`, Polipo's `redirector`. Default: none.
    pub redirector: Option<RedirectorSettings>,
    /// A script in Luau that looks at requests and answers (`on_request`, `on_response`, `on_log`):
    /// its file, or in detail. Default: none.
    pub script: Option<LuauChoice>,
    /// Filters in WebAssembly by proxy-wasm, in their order; builds with the feature `wasm` alone
    /// have them. At most 16. Default none.
    pub wasm: Vec<WasmFilterSettings>,
    /// An access log. Default none: the ledger has every request anyway.
    pub access_log: Option<AccessLogChoice>,
    /// The cache of what is fetched over `http:` and `https:` URLs. Default: none.
    pub cache: Option<http_cache::Settings>,
}

impl Settings {
    /// The addresses that connections to origins leave from, and the family that they go to.
    pub(crate) fn outgoing(&self) -> OutgoingAddresses {
        OutgoingAddresses::new(self.source.iter().map(|source| source.0), self.family)
    }

    /// The caps on its connections.
    pub(crate) const fn connection_caps(&self) -> ConnectionCaps {
        ConnectionCaps::new(self.connections, self.connections_per_client)
    }
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
            health: None,
            socks5: false,
            clients: private_networks(),
            auth: None,
            tls: TlsSettings::default(),
            connect_ports: [80, 443, 8443]
                .into_iter()
                .filter_map(PortRange::one)
                .map(Text)
                .collect(),
            connect_sni: ConnectSni::Check,
            fetch_ports: Vec::new(),
            destinations: DestinationScope::Guarded,
            rebinding_allow: Vec::new(),
            mirror: Vec::new(),
            tunnel_idle: Text(TimeSpan(Duration::from_mins(5))),
            response_timeout: Text(TimeSpan(Duration::from_mins(5))),
            response_head: AnswerHeadSettings::default(),
            connections: 10_000,
            connections_per_client: 1_024,
            connections_per_origin: None,
            bandwidth: Vec::new(),
            parent: None,
            parents: Vec::new(),
            source: Vec::new(),
            family: FamilyChoice::Any,
            censor: Vec::new(),
            referer: RefererPolicy::Keep,
            via: FieldDisclosure::On,
            x_forwarded_for: FieldDisclosure::Off,
            no_transform: FieldDisclosure::Off,
            upgrade: vec![WEBSOCKET.into()],
            pac: PacSettings::default(),
            redirector: None,
            script: None,
            wasm: Vec::new(),
            access_log: None,
            cache: None,
        }
    }
}

fn private_networks() -> Vec<Text<Network>> {
    NEAR_NETWORKS.iter().filter_map(|text| text.parse().ok()).map(Text).collect()
}
