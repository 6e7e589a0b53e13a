//! What can be set for how a pool's servers are chosen, and for how long a bad one rests.
//!
//! Plain data. Read as part of a pool.

use super::bounds::{bounded, counted};
use crate::key::is_token;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::time::Duration;
use vocab::{Complaint, TimeSpan};

const EJECTION_MIN: Duration = Duration::from_millis(100);
const EJECTION_MAX: Duration = Duration::from_mins(5);
const WINDOW_MAX: Duration = Duration::from_hours(1);
const COUNT_MAX: u32 = 1_000_000;

/// Tells how a server is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BalanceMethod {
    /// The less loaded of two picked at random: least time (a peak-sensitive moving average over
    /// about 10 s) times requests under way. A slow server is left alone within a few requests.
    #[default]
    P2c,
    /// In turn, by weight, heavy servers evenly spread.
    RoundRobin,
    /// At random, by weight.
    Random,
    /// One to which a connection of HTTP/1.1 is idle on this core, the one used last; where there
    /// is none, at random by weight. Few connections are opened, and a server gets as much as it
    /// gets done: Perlbal chooses so.
    IdleConnection,
    /// The one with the fewest requests under way for its weight.
    LeastConnections,
    /// The same for the same `hash`, by weight; one that has a quarter more than its share passes
    /// further requests to the next. A server that goes takes only its own keys along.
    ConsistentHash,
    /// The same for the same client address.
    ClientHash,
}

/// Clients come back to the server that they had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StickySettings {
    /// The cookie that says which: it is set with `HttpOnly` and `SameSite=Lax`, lasts as long as
    /// the browser's session, and holds a hash that names no address. Requests that may be answered
    /// from the cache neither get it nor follow it.
    pub cookie: String,
}

/// Outlier ejection: a server that answers with 5xx (other than 501), with no HTTP, or too late is
/// left out for a time. Afterwards one request tries it, and the others follow if that one
/// succeeds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PassiveSettings {
    /// So many failures in a row. Default 5; 0 turns it off.
    pub failures: u32,
    /// Or this share of the requests of the `window`, in percent. Default 50; 0 turns it off.
    pub percent: u32,
    /// Of so many requests at least. Default 20.
    pub requests: u32,
    /// Time within which failures count. Default 30s, from 1s to 1h.
    pub window: Text<TimeSpan>,
    /// Time for which it is ejected: twice as long each time, up to 5m. Default 10s, from 100ms to
    /// 5m.
    pub ejection_time: Text<TimeSpan>,
    /// Largest share of the servers that may be ejected for it, in percent. Default 50: of three,
    /// one; a single server never is.
    pub share: u32,
}

impl Default for PassiveSettings {
    fn default() -> Self {
        Self {
            failures: 5,
            percent: 50,
            requests: 20,
            window: Text(TimeSpan(Duration::from_secs(30))),
            ejection_time: Text(TimeSpan(Duration::from_secs(10))),
            share: 50,
        }
    }
}

impl StickySettings {
    pub(super) fn check(&self) -> Vec<Complaint> {
        if is_token(&self.cookie) {
            return Vec::new();
        }
        let complaint = Complaint::new("cookie", format!("{:?} is no cookie name", self.cookie));
        vec![complaint.remedy("write letters, digits, - and _")]
    }
}

impl PassiveSettings {
    pub(super) fn check(&self) -> Vec<Complaint> {
        let found = [
            counted("failures", self.failures, 0, COUNT_MAX),
            counted("percent", self.percent, 0, 100),
            counted("requests", self.requests, 1, COUNT_MAX),
            bounded("window", self.window, Duration::from_secs(1), WINDOW_MAX),
            bounded("ejection_time", self.ejection_time, EJECTION_MIN, EJECTION_MAX),
            counted("share", self.share, 0, 100),
        ];
        found.into_iter().flatten().collect()
    }
}
