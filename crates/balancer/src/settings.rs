//! What can be set for a pool of servers.
//!
//! Plain data. Read as part of the `gateway` section, and when servers are added to a running pool.

mod balancing;
mod bounds;
mod connections;
mod health;
mod queueing;
mod servers;

pub use self::balancing::{BalanceMethod, PassiveSettings, StickySettings};
use self::bounds::bounded;
pub use self::connections::{
    HttpChoice, KeepAliveSettings, ProxyProtocolChoice, ServerTlsSettings, TimeoutSettings,
    VerifyChoice, VerifyConnection,
};
pub use self::health::{HealthKind, HealthSettings};
pub use self::queueing::{
    QueueSettings, ReliefSettings, RequestPriority, RetryCause, RetryOn, RetrySettings,
};
pub use self::servers::{ResolveChoice, ServerDetails, ServerSettings, WEIGHT_MAX};
use crate::key::HashKey;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::collections::BTreeSet;
use std::time::Duration;
use vocab::{Complaint, TimeSpan};

/// Servers in one pool: so many that looking at each for every request costs little.
pub(crate) const SERVERS_MAX: usize = 256;
const SLOW_START_MAX: Duration = Duration::from_hours(1);

/// Servers that serve the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PoolSettings {
    /// `http://HOST:PORT`, `https://HOST:PORT`, `h2c://HOST:PORT` or `unix:/PATH` of each, or a
    /// mapping with `url`, `weight`, `backup`, `max_requests`, `drain` and `resolve`. At most 256,
    /// those included that are found by name; further ones are not taken.
    pub servers: Vec<ServerSettings>,
    /// A file with more servers, looked at every 3 s: `HOST:PORT` or a URL a line, then `weight=N`
    /// and `backup`; a `#` begins a comment. A relative path starts from the configuration's
    /// folder. If it cannot be read later on, its servers stay. Default none.
    pub servers_file: Option<String>,
    /// True if it may begin without a server: they are added while it runs (`tidegate ctl server
    /// add`, the API, the line console), and until then clients get 503. Default false.
    pub starts_empty: bool,
    /// TLS with `https://` servers.
    pub tls: ServerTlsSettings,
    /// Version of HTTP. Default `auto`. A WebSocket needs HTTP/1.1, which `auto` uses for it.
    pub http: HttpChoice,
    /// The PROXY header that every connection begins with. Default `off`. With one, connections are
    /// not shared among clients.
    pub proxy_protocol: ProxyProtocolChoice,
    /// Time for which servers are waited for.
    pub timeouts: TimeoutSettings,
    /// Idle connections that are kept for the next request.
    pub keep_alive: KeepAliveSettings,
    /// Question that a fresh connection asks first, to carry a request only once it is answered, by
    /// anything but 5xx: the kernel takes connections for a server that is stuck. `true` is
    /// `OPTIONS *`, a path such as `/alive` is `OPTIONS` for it. Default false: none.
    pub verify_connection: VerifyConnection,
    /// Choice of the server for a request. Default `p2c`.
    pub balance: BalanceMethod,
    /// Key of `consistent_hash`: `uri`, `host+uri`, `client`, `header:NAME` or `cookie:NAME`.
    /// Default `uri`.
    pub hash: String,
    /// Sticky sessions: clients come back to the server that they had. Default: off.
    pub sticky: Option<StickySettings>,
    /// A server that comes, or comes back, gets a tenth of its share at first and all of it after
    /// this. Default 0s: all of it at once. At most 1h. Of no effect where a hash chooses.
    pub slow_start: Text<TimeSpan>,
    /// Outlier ejection of servers whose answers fail. A server that accepts no connection is
    /// ejected in any case: for 1 s, then 2 s, up to 30 s.
    pub passive: PassiveSettings,
    /// Health checks. Default: none.
    pub health: Option<HealthSettings>,
    /// Requests that all servers together work on at once, upgraded connections included; further
    /// ones wait.
    /// Default 0: no bound.
    pub max_requests: u32,
    /// Where requests wait while every server that is up has as many as it may have.
    pub queue: QueueSettings,
    /// When a request is sent to another server.
    pub retry: RetrySettings,
}

impl Default for PoolSettings {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            servers_file: None,
            starts_empty: false,
            tls: ServerTlsSettings::default(),
            http: HttpChoice::default(),
            proxy_protocol: ProxyProtocolChoice::default(),
            timeouts: TimeoutSettings::default(),
            keep_alive: KeepAliveSettings::default(),
            verify_connection: VerifyConnection::default(),
            balance: BalanceMethod::default(),
            hash: "uri".into(),
            sticky: None,
            slow_start: Text(TimeSpan(Duration::ZERO)),
            passive: PassiveSettings::default(),
            health: None,
            max_requests: 0,
            queue: QueueSettings::default(),
            retry: RetrySettings::default(),
        }
    }
}

impl PoolSettings {
    /// Everything that is wrong.
    pub fn check(&self) -> Vec<Complaint> {
        let mut complaints = self.check_servers(&self.servers);
        let tls = self.tls.check(&self.servers).into_iter().map(|it| it.under("tls"));
        let timeouts = self.timeouts.check().into_iter().map(|it| it.under("timeouts"));
        let keep_alive = self.keep_alive.check().into_iter().map(|it| it.under("keep_alive"));
        complaints.extend(tls.chain(timeouts).chain(keep_alive));
        complaints.extend(self.verify_connection.check());
        if let Err(why) = self.hash.parse::<HashKey>() {
            complaints.push(
                Complaint::new("hash", why.to_string())
                    .remedy("write uri, host+uri, client, header:NAME or cookie:NAME"),
            );
        }
        if let Some(sticky) = &self.sticky {
            complaints.extend(sticky.check().into_iter().map(|it| it.under("sticky")));
        }
        complaints.extend(bounded("slow_start", self.slow_start, Duration::ZERO, SLOW_START_MAX));
        complaints.extend(self.passive.check().into_iter().map(|it| it.under("passive")));
        if let Some(health) = &self.health {
            complaints.extend(health.check().into_iter().map(|it| it.under("health")));
        }
        complaints.extend(self.queue.check().into_iter().map(|it| it.under("queue")));
        complaints.extend(self.retry.check().into_iter().map(|it| it.under("retry")));
        complaints
    }

    /// Returns what is wrong with one server in this pool.
    pub(crate) fn check_server(&self, server: &ServerSettings) -> Vec<Complaint> {
        let mut complaints = server.check();
        complaints.extend(self.http.check(server));
        complaints
    }

    /// Returns what is wrong with these servers in this pool.
    pub(crate) fn check_servers(&self, servers: &[ServerSettings]) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        // A file may name none for a while.
        if servers.is_empty() && self.servers_file.is_none() && !self.starts_empty {
            complaints.push(Complaint::new("servers", "the pool has no servers").remedy(
                "write servers: [\"http://10.0.0.11:8080\"], servers_file, or \
                         starts_empty: true",
            ));
        }
        if servers.len() > SERVERS_MAX {
            let message = format!("{} servers are too many: at most {SERVERS_MAX}", servers.len());
            complaints.push(Complaint::new("servers", message));
        }
        let mut known = BTreeSet::new();
        for (index, server) in servers.iter().enumerate() {
            let place = format!("servers.{index}");
            complaints.extend(self.check_server(server).into_iter().map(|it| it.under(&place)));
            if !known.insert(server.url()) {
                complaints.push(
                    Complaint::new(place, format!("{} is in the pool twice", server.url()))
                        .remedy("give it a larger weight instead"),
                );
            }
        }
        complaints
    }
}
