//! What can be set for a pool of servers.
//!
//! Plain data. Read as part of the `gateway` section.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use upstream::origins::Origin;
use vocab::Complaint;

/// Servers in one pool: what one byte of a route table can name.
pub(crate) const SERVERS_MAX: usize = 256;

/// Servers that serve the same.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PoolSettings {
    /// `http://HOST:PORT` or `https://HOST:PORT` of each, at most 256.
    pub servers: Vec<String>,
    /// How one is chosen. Default `round_robin`; `p2c` is not built yet.
    pub balance: Balance,
    /// Asking servers how they are. Not built yet: must be absent. A server that takes no
    /// connection is set aside anyway, for 1 s, then 2 s, up to 30 s.
    pub health: Option<HealthSettings>,
}

/// How a server is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Balance {
    /// In turn.
    #[default]
    RoundRobin,
    /// The better of two picked at random. Not built yet.
    P2c,
}

/// Asking servers how they are. Not built yet.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HealthSettings {
    /// The path to ask for.
    pub path: String,
}

impl PoolSettings {
    pub(super) fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if self.servers.is_empty() {
            complaints.push(
                Complaint::new("servers", "the pool has no servers")
                    .remedy("write servers: [\"http://10.0.0.11:8080\"]"),
            );
        }
        if self.servers.len() > SERVERS_MAX {
            let message =
                format!("{} servers are too many: at most {SERVERS_MAX}", self.servers.len());
            complaints.push(Complaint::new("servers", message));
        }
        for (index, server) in self.servers.iter().enumerate() {
            if let Err(why) = server.parse::<Origin>() {
                complaints.push(
                    Complaint::new(format!("servers.{index}"), format!("{server:?}: {why}"))
                        .remedy("write it as http://10.0.0.11:8080"),
                );
            }
        }
        match self.balance {
            Balance::RoundRobin => {}
            Balance::P2c => complaints.push(
                Complaint::new("balance", "p2c is not built yet").remedy("write round_robin"),
            ),
        }
        if self.health.is_some() {
            complaints.push(
                Complaint::new("health", "asking servers how they are is not built yet")
                    .remedy("leave health out; a server that takes no connection is set aside"),
            );
        }
        complaints
    }
}
