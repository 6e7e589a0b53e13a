//! What can be set for asking a pool's servers how they are.
//!
//! Plain data. Read as part of a pool.

use super::bounds::{bounded, counted};
use http::uri::PathAndQuery;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::time::Duration;
use vocab::{Complaint, TimeSpan};

const INTERVAL_MIN: Duration = Duration::from_millis(100);
const INTERVAL_MAX: Duration = Duration::from_hours(1);
const TIMEOUT_MIN: Duration = Duration::from_millis(10);
const TIMEOUT_MAX: Duration = Duration::from_mins(1);
const IN_A_ROW_MAX: u32 = 1_000;

/// Health checks: each server is asked over a new connection, every `interval`. A server that is
/// down gets no requests; one that has not been asked yet does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HealthSettings {
    /// Kind of check: `http` asks for `path`, `tcp` only connects. Default `http`.
    pub kind: HealthKind,
    /// The path to ask for, with GET. Default `/`.
    pub path: String,
    /// The host to ask for. Default: the server's own.
    pub host: Option<String>,
    /// The statuses that are good. Default none named: every 2xx and 3xx.
    pub status: Vec<u16>,
    /// Interval between checks. Default 5s, from 100ms to 1h.
    pub interval: Text<TimeSpan>,
    /// Amount by which a check may come earlier or later, so that they do not all come at once; in
    /// percent of `interval`. Default 10, at most 50.
    pub jitter: u32,
    /// Time that one may take. Default 2s, from 10ms to 60s.
    pub timeout: Text<TimeSpan>,
    /// After so many good ones in a row a server that is down is up. Default 2, from 1 to 1000.
    pub healthy: u32,
    /// After so many bad ones in a row it is down. Default 3, from 1 to 1000.
    pub unhealthy: u32,
}

/// Tells how a server is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HealthKind {
    /// A request, and its status.
    #[default]
    Http,
    /// A connection.
    Tcp,
}

impl Default for HealthSettings {
    fn default() -> Self {
        Self {
            kind: HealthKind::Http,
            path: "/".into(),
            host: None,
            status: Vec::new(),
            interval: Text(TimeSpan(Duration::from_secs(5))),
            jitter: 10,
            timeout: Text(TimeSpan(Duration::from_secs(2))),
            healthy: 2,
            unhealthy: 3,
        }
    }
}

impl HealthSettings {
    pub(super) fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if !self.path.starts_with('/') || self.path.parse::<PathAndQuery>().is_err() {
            complaints.push(
                Complaint::new("path", format!("{:?} is no path", self.path))
                    .remedy("write one that begins with /, such as /health"),
            );
        }
        if let Some(host) = &self.host
            && host.parse::<http::uri::Authority>().is_err()
        {
            complaints.push(Complaint::new("host", format!("{host:?} is no host")));
        }
        for (index, status) in self.status.iter().enumerate() {
            complaints.extend(counted(&format!("status.{index}"), (*status).into(), 200, 599));
        }
        let found = [
            bounded("interval", self.interval, INTERVAL_MIN, INTERVAL_MAX),
            counted("jitter", self.jitter, 0, 50),
            bounded("timeout", self.timeout, TIMEOUT_MIN, TIMEOUT_MAX),
            counted("healthy", self.healthy, 1, IN_A_ROW_MAX),
            counted("unhealthy", self.unhealthy, 1, IN_A_ROW_MAX),
        ];
        complaints.extend(found.into_iter().flatten());
        complaints
    }
}
