//! Settings of effects at a MikroTik router: who we are to it, its lists, its routes.
//!
//! Plain data with the names and defaults of OxiDNS. It opens nothing. Part of
//! [`crate::EffectSpec`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;
use vocab::TimeSpan;

/// Address lists of a MikroTik router, over its API. At least one list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RouterSpec {
    /// The router's IP address, and the port of its API. Port 8728 if none is given.
    pub address: String,
    /// User name there.
    pub username: String,
    /// Password of that user.
    pub password: RouterPassword,
    /// TLS to the router (API-SSL, port 8729). Default: none, and whoever is on the way reads and
    /// changes everything, the password among it.
    pub tls: Option<RouterTls>,
    /// Time that connecting and logging in may take. Default 5s, from 1s to 5m.
    pub connect_timeout: Text<TimeSpan>,
    /// Time that a command may take on its way there. Default 5s, from 1s to 5m.
    pub send_timeout: Text<TimeSpan>,
    /// Time that its answer may take besides. Default 5s, from 1s to 5m.
    pub receive_timeout: Text<TimeSpan>,
    /// The list for IPv4 addresses; empty: they are ignored.
    pub address_list4: String,
    /// The list for IPv6 addresses.
    pub address_list6: String,
    /// Beginning of the comments of our entries. Default `fdns`.
    pub comment_prefix: String,
    /// Name of their owner in these comments.
    pub owner: String,
    /// Least time that an address stays, in seconds. Default 60.
    pub min_ttl: u32,
    /// Longest time. Default 3600.
    pub max_ttl: u32,
    /// This time instead, whatever the answer says; 0: until it is removed. Default: none.
    pub fixed_ttl: Option<u32>,
    /// Addresses and networks that are in the lists whatever is asked. At most 16384.
    pub persistent: Vec<String>,
    /// True if our entries are removed at the end. Default true.
    pub cleanup_on_shutdown: bool,
    /// Answers that wait; at the cap the newest is dropped and counted. Default 1024, at most
    /// 65536.
    pub queue_size: usize,
}

/// A password that no log shows.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct RouterPassword(pub String);

impl fmt::Debug for RouterPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

/// TLS to a router.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RouterTls {
    /// The name that its certificate must be for. Default: its IP address.
    pub server_name: Option<String>,
    /// The PEM file of the authorities that alone may vouch for it, 1 MiB at most, read at the
    /// start. Default: the public ones, which certify no router of one's own.
    pub ca: Option<PathBuf>,
    /// Public keys of which its certificate must have one, as `sha256/` with the Base64 of the
    /// key's SHA-256. Without `ca` the certificate need be nothing else: for those that routers
    /// sign themselves. At most 16.
    pub pins: Vec<String>,
    /// Not to check the certificate: refused, because the password would go to anybody. Default
    /// false.
    pub insecure: bool,
}

/// Routes to the addresses of answers, in a table of a MikroTik router (RouterOS 7). At least one
/// gateway.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RouteSpec {
    /// The router's IP address, and the port of its API. Port 8728 if none is given, 8729 with
    /// `tls`.
    pub address: String,
    /// User name there.
    pub username: String,
    /// Password of that user.
    pub password: RouterPassword,
    /// TLS to the router. Default: none.
    pub tls: Option<RouterTls>,
    /// Time that connecting and logging in may take. Default 5s, from 1s to 5m.
    pub connect_timeout: Text<TimeSpan>,
    /// Time that a command may take on its way there. Default 5s, from 1s to 5m.
    pub send_timeout: Text<TimeSpan>,
    /// Time that its answer may take besides. Default 5s, from 1s to 5m.
    pub receive_timeout: Text<TimeSpan>,
    /// The routing table, which is there already. Needed.
    pub routing_table: String,
    /// The gateway of routes to IPv4 addresses, as RouterOS has it: `192.0.2.1@main`. Empty: they
    /// are ignored.
    pub gateway4: String,
    /// The gateway of routes to IPv6 addresses.
    pub gateway6: String,
    /// Distance of our routes. Default 100, from 1 to 255.
    pub distance: u8,
    /// Beginning of the comments of our routes. Default `oxi`.
    pub comment_prefix: String,
    /// Name of their owner in these comments.
    pub owner: String,
    /// Least time that a route stays, in seconds. Default 60.
    pub min_ttl: u32,
    /// Longest time. Default 3600.
    pub max_ttl: u32,
    /// This time instead, whatever the answer says; 0: until it is removed. Default: none.
    pub fixed_ttl: Option<u32>,
    /// Addresses and networks that have routes whatever is asked; never all addresses. At most
    /// 16384.
    pub persistent: Vec<String>,
    /// True if a route over which connections still run is not removed before they end. Default
    /// false.
    pub conntrack_guard: bool,
    /// True if our routes are removed at the end. Default true.
    pub cleanup_on_shutdown: bool,
    /// Answers that wait; at the cap the newest is dropped and counted. Default 16384, at most
    /// 65536.
    pub queue_size: usize,
}

impl Default for RouterSpec {
    fn default() -> Self {
        let five = Text(TimeSpan(Duration::from_secs(5)));
        Self {
            address: String::new(),
            username: String::new(),
            password: RouterPassword::default(),
            tls: None,
            connect_timeout: five,
            send_timeout: five,
            receive_timeout: five,
            address_list4: String::new(),
            address_list6: String::new(),
            comment_prefix: "fdns".into(),
            owner: String::new(),
            min_ttl: 60,
            max_ttl: 3600,
            fixed_ttl: None,
            persistent: Vec::new(),
            cleanup_on_shutdown: true,
            queue_size: 1024,
        }
    }
}

impl Default for RouteSpec {
    fn default() -> Self {
        let five = Text(TimeSpan(Duration::from_secs(5)));
        Self {
            address: String::new(),
            username: String::new(),
            password: RouterPassword::default(),
            tls: None,
            connect_timeout: five,
            send_timeout: five,
            receive_timeout: five,
            routing_table: String::new(),
            gateway4: String::new(),
            gateway6: String::new(),
            distance: 100,
            comment_prefix: "oxi".into(),
            owner: String::new(),
            min_ttl: 60,
            max_ttl: 3600,
            fixed_ttl: None,
            persistent: Vec::new(),
            conntrack_guard: false,
            cleanup_on_shutdown: true,
            queue_size: 16_384,
        }
    }
}
