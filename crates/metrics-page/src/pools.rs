//! The gateway's pools and their servers.

use crate::family::{FamilyHead, write_family, write_histogram};
use latency_histogram::LatencyFigures;
use ledger::Collector;
use ledger::prometheus_client::encoding::DescriptorEncoder;
use ledger::prometheus_client::metrics::MetricType;
use std::fmt;

/// One pool.
#[derive(Clone, Debug, Default)]
pub struct PoolRow {
    /// Name.
    pub name: String,
    /// Requests sent to it, retries not counted.
    pub requests: u64,
    /// Requests sent to one more server.
    pub retries: u64,
    /// Requests that wait.
    pub waiting: u64,
    /// Requests that have waited.
    pub waited: u64,
    /// Requests that waited in vain.
    pub unserved: u64,
    /// Servers.
    pub servers: Vec<ServerRow>,
}

/// A server of a pool.
#[derive(Clone, Debug, Default)]
pub struct ServerRow {
    /// URL.
    pub url: String,
    /// Answers.
    pub answers: u64,
    /// Requests that it failed.
    pub failures: u64,
    /// Requests that it works on.
    pub pending: u64,
    /// Moving average of the time that its answers take to begin, in microseconds.
    pub latency_us: u64,
    /// True if it gets requests.
    pub up: bool,
    /// Times that its answers took to begin.
    pub times: LatencyFigures,
}

/// All pools.
#[derive(Debug, Default)]
pub struct PoolFigures(pub Vec<PoolRow>);

type OfPool = (&'static str, &'static str, MetricType, fn(&PoolRow) -> u64);
type OfServer = (&'static str, &'static str, MetricType, fn(&ServerRow) -> u64);

const BY_POOL: [OfPool; 5] = [
    ("tidegate_pool_requests", "Requests sent to a pool", MetricType::Counter, |it| it.requests),
    ("tidegate_pool_retries", "Requests sent to one more server", MetricType::Counter, |it| {
        it.retries
    }),
    ("tidegate_pool_waiting", "Requests that wait for a server", MetricType::Gauge, |it| {
        it.waiting
    }),
    ("tidegate_pool_waited", "Requests that have waited", MetricType::Counter, |it| it.waited),
    ("tidegate_pool_unserved", "Requests that waited in vain", MetricType::Counter, |it| {
        it.unserved
    }),
];
const BY_SERVER: [OfServer; 4] = [
    ("tidegate_pool_server_answers", "Answers of a server", MetricType::Counter, |it| it.answers),
    ("tidegate_pool_server_failures", "Requests that it failed", MetricType::Counter, |it| {
        it.failures
    }),
    ("tidegate_pool_server_pending", "Requests that it works on", MetricType::Gauge, |it| {
        it.pending
    }),
    ("tidegate_pool_server_up", "Whether it gets requests", MetricType::Gauge, |it| it.up.into()),
];

impl PoolFigures {
    fn servers(&self) -> impl Iterator<Item = ([(&str, &str); 2], &ServerRow)> {
        self.0.iter().flat_map(|pool| {
            pool.servers.iter().map(move |server| {
                ([("pool", pool.name.as_str()), ("server", server.url.as_str())], server)
            })
        })
    }
}

impl Collector for PoolFigures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for (name, help, kind, of) in BY_POOL {
            let rows = self.0.iter().map(|pool| ([("pool", pool.name.as_str())], of(pool)));
            write_family(&mut encoder, FamilyHead { name, help, kind }, rows)?;
        }
        for (name, help, kind, of) in BY_SERVER {
            let rows = self.servers().map(|(labels, server)| (labels, of(server)));
            write_family(&mut encoder, FamilyHead { name, help, kind }, rows)?;
        }
        let help = "How long its answers take to begin, as a moving average";
        let rows = self.servers().map(|(labels, it)| (labels, it.latency_us as f64 / 1e6));
        let head = FamilyHead::gauge("tidegate_pool_server_latency_seconds", help);
        write_family(&mut encoder, head, rows)?;
        write_histogram(
            &mut encoder,
            "tidegate_pool_server_answer_seconds",
            "Time that its answers took to begin",
            self.servers().map(|(labels, it)| (labels, it.times)),
        )
    }
}
