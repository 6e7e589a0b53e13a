//! What can be set for one server of a pool.
//!
//! Plain data. Read as part of a pool.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use upstream::origins::Server;
use vocab::Complaint;

/// The largest weight: how many times one server may outweigh another.
pub const WEIGHT_MAX: u32 = 100;

/// One server: its URL, or a mapping.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ServerSettings {
    /// Its URL.
    Url(String),
    /// Its URL and more.
    Detailed(ServerDetails),
}

/// One server in full.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ServerDetails {
    /// `http://HOST:PORT`, `https://HOST:PORT`, `h2c://HOST:PORT` (HTTP/2 without TLS and without asking
    /// first), `unix:/PATH` (a socket of this machine) or `h2c+unix:/PATH`. Needed.
    pub url: String,
    /// How much it gets beside the others. Default 1, from 1 to 100.
    pub weight: u32,
    /// Whether it serves only while no other server is up. Default false.
    pub backup: bool,
    /// Requests that it works on at once, upgraded connections included; further ones go to others, or wait
    /// in the pool's queue. Default 0: no bound.
    pub max_requests: u32,
    /// Whether it takes no new clients, only those that a sticky cookie leads to it. Default false.
    pub drain: bool,
}

impl Default for ServerDetails {
    fn default() -> Self {
        Self { url: String::new(), weight: 1, backup: false, max_requests: 0, drain: false }
    }
}

impl ServerSettings {
    /// Its settings in full.
    pub fn details(&self) -> ServerDetails {
        match self {
            Self::Url(url) => ServerDetails { url: url.clone(), ..Default::default() },
            Self::Detailed(details) => details.clone(),
        }
    }

    /// Its URL.
    pub fn url(&self) -> &str {
        match self {
            Self::Url(url) => url,
            Self::Detailed(details) => &details.url,
        }
    }

    /// Everything that is wrong.
    pub fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if let Err(why) = self.url().parse::<Server>() {
            complaints.push(
                Complaint::new("", format!("{:?}: {why}", self.url()))
                    .remedy("write it as http://10.0.0.11:8080 or unix:/run/app.sock"),
            );
        }
        if let Self::Detailed(details) = self
            && !(1..=WEIGHT_MAX).contains(&details.weight)
        {
            complaints.push(
                Complaint::new("weight", format!("{} is out of bounds", details.weight))
                    .remedy(format!("write a weight from 1 to {WEIGHT_MAX}")),
            );
        }
        complaints
    }
}

impl From<String> for ServerSettings {
    fn from(url: String) -> Self {
        Self::Url(url)
    }
}

impl From<&str> for ServerSettings {
    fn from(url: &str) -> Self {
        Self::Url(url.into())
    }
}
