//! What can be set for how a pool sends requests: who waits, who is asked again.
//!
//! Plain data. Read as part of a pool.

use super::bounds::{bounded, counted};
use crate::sign::RequestSign;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::time::Duration;
use vocab::{Complaint, TimeSpan};

/// Requests that may wait for one pool, at most: each holds a client's connection.
const LENGTH_MAX: u32 = 100_000;
/// Signs of one class, at most: each is looked for in every request that waits.
const SIGNS_MAX: usize = 32;
const DEADLINE_MIN: Duration = Duration::from_millis(1);
const DEADLINE_MAX: Duration = Duration::from_mins(10);
const HEDGE_MAX: Duration = Duration::from_mins(1);
const ATTEMPTS_MAX: u32 = 8;
const PER_SECOND_MAX: u32 = 100_000;

/// Tells who is served first where requests wait for a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequestPriority {
    /// Before all others.
    High,
    /// As most are.
    #[default]
    Normal,
    /// After all others.
    Low,
}

/// Where requests wait while every server that is up has as many as it may have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct QueueSettings {
    /// Number of requests that may wait. Default 1000, at most 100000; with 0 none waits. One more
    /// gets 503 at once, unless it may replace one of a lower class.
    pub length: u32,
    /// Time for which one waits. Then it gets 503 with `Retry-After`. Default 10s, from 1ms to 10m.
    pub deadline: Text<TimeSpan>,
    /// The same for high priority. Default: `deadline`.
    pub deadline_high: Option<Text<TimeSpan>>,
    /// The same for low priority. Default: `deadline`.
    pub deadline_low: Option<Text<TimeSpan>>,
    /// Cookies and fields that give a request high priority: `cookie:NAME`, `cookie:NAME=VALUE`,
    /// `header:NAME` or `header:NAME=VALUE`. Clients choose both themselves. At most 32.
    pub high: Vec<String>,
    /// Cookies and fields that give a request low priority, unless another gives it a high one. At
    /// most 32. Without either, the route's `priority` counts.
    pub low: Vec<String>,
    /// Turns for lower classes, so that they do not starve.
    pub relief: ReliefSettings,
    /// True if servers are told of those that wait, as Perlbal's plug-in Queues does:
    /// `X-Queue-Count` and `X-Queue-Age` (seconds of the one that waits longest), and with `X-HP-`
    /// in front the same for high priority. Clients' own such fields are replaced. Default false.
    pub fields: bool,
}

/// Turns for lower classes in a queue, so that they do not starve.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReliefSettings {
    /// Number of waiting requests, all together, from which on this holds. Default 20.
    pub waiting: u32,
    /// This share of turns goes to the one of the lower classes that has waited longest, in
    /// percent. Default 10, at most 100.
    pub percent: u32,
}

/// When a request is sent to another server. One of which nothing was sent, because no connection
/// came about, goes on whatever it is; any other only if it has no body, or one that was taken as a
/// whole (`uploads`), and a method that may be repeated (RFC 9110 §9.2.2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RetrySettings {
    /// Number of servers that are asked in all. Default 3, from 1 to 8; servers that take no
    /// connection do not count, but no request tries more than 8.
    pub attempts: u32,
    /// After what: `closed` (the connection ended before the answer), `timeout`, `garbage` (the
    /// answer is no HTTP), or a status: 429, 500, 502, 503, 504. Default `closed`.
    pub on: Vec<RetryOn>,
    /// Number that may be sent again, in percent of all requests of the pool. Default 20, at most
    /// 100.
    pub budget: u32,
    /// And so many a second besides, saved up for 10 s. Default 10, at most 100000.
    pub budget_minimum: u32,
    /// Asks a second server if the first has not begun its answer by then, takes the first good
    /// answer and drops the other request. For GET and HEAD; out of the same budget. Default:
    /// never; from 1ms to 60s.
    pub hedge: Option<Text<TimeSpan>>,
}

/// A reason to ask another server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RetryOn {
    /// The way it failed.
    Cause(RetryCause),
    /// The status of the answer.
    Status(u16),
}

/// A way to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RetryCause {
    /// The connection ended before the answer.
    Closed,
    /// The answer did not begin in time.
    Timeout,
    /// The answer is no HTTP.
    Garbage,
}

impl Default for QueueSettings {
    fn default() -> Self {
        Self {
            length: 1_000,
            deadline: Text(TimeSpan(Duration::from_secs(10))),
            deadline_high: None,
            deadline_low: None,
            high: Vec::new(),
            low: Vec::new(),
            relief: ReliefSettings::default(),
            fields: false,
        }
    }
}

impl Default for ReliefSettings {
    fn default() -> Self {
        Self { waiting: 20, percent: 10 }
    }
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self {
            attempts: 3,
            on: vec![RetryOn::Cause(RetryCause::Closed)],
            budget: 20,
            budget_minimum: 10,
            hedge: None,
        }
    }
}

impl QueueSettings {
    pub(super) fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        complaints.extend(counted("length", self.length, 0, LENGTH_MAX));
        let deadlines = [
            ("deadline", Some(self.deadline)),
            ("deadline_high", self.deadline_high),
            ("deadline_low", self.deadline_low),
        ];
        for (path, span) in deadlines {
            let span = span.and_then(|span| bounded(path, span, DEADLINE_MIN, DEADLINE_MAX));
            complaints.extend(span);
        }
        for (path, signs) in [("high", &self.high), ("low", &self.low)] {
            if signs.len() > SIGNS_MAX {
                let message = format!("{} signs are too many: at most {SIGNS_MAX}", signs.len());
                complaints.push(Complaint::new(path, message));
            }
            for (index, sign) in signs.iter().enumerate() {
                if RequestSign::parse(sign).is_none() {
                    let message = format!("{sign:?} is nothing that a request could have");
                    let complaint = Complaint::new(format!("{path}.{index}"), message);
                    complaints
                        .push(complaint.remedy("write cookie:NAME=VALUE or header:NAME=VALUE"));
                }
            }
        }
        complaints.extend(counted("relief.percent", self.relief.percent, 0, 100));
        complaints
    }
}

impl RetrySettings {
    pub(super) fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        complaints.extend(counted("attempts", self.attempts, 1, ATTEMPTS_MAX));
        for (index, on) in self.on.iter().enumerate() {
            match on {
                RetryOn::Cause(_) | RetryOn::Status(429 | 500 | 502..=504) => {}
                RetryOn::Status(status) => {
                    let message = format!("{status} is an answer; another server gives no other");
                    let complaint = Complaint::new(format!("on.{index}"), message);
                    complaints.push(complaint.remedy("write 429, 500, 502, 503 or 504"));
                }
            }
        }
        complaints.extend(counted("budget", self.budget, 0, 100));
        complaints.extend(counted("budget_minimum", self.budget_minimum, 0, PER_SECOND_MAX));
        let hedge = self.hedge.and_then(|span| bounded("hedge", span, DEADLINE_MIN, HEDGE_MAX));
        complaints.extend(hedge);
        complaints
    }
}
