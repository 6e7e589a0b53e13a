//! The gateway's pools as the admin API and the metrics page see them.
//!
//! It translates; the door does what is asked.

use super::RunningApp;
use admin::model::{NewServer, PoolInfo, PoolName, PoolResolve, PoolServer};
use admin::{ControlRefusal, PoolChange, PoolServerChange};
use door_gateway::{
    NameState, PoolChange as DoorChange, PoolState, ResolveChoice, ServerDetails, ServerState,
};
use ledger::Collector;
use ledger::prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, NoLabelSet};
use ledger::prometheus_client::metrics::MetricType;
use ledger::prometheus_client::metrics::counter::ConstCounter;
use ledger::prometheus_client::metrics::gauge::ConstGauge;
use std::fmt;
use std::sync::{Arc, PoisonError};

impl RunningApp {
    pub(super) fn gateway(&self) -> Option<Arc<door_gateway::GatewayDoor>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).doors.get()
    }

    /// The gateway's pools as they are now.
    pub(super) fn pools(&self) -> Vec<PoolState> {
        self.gateway().map(|door| door.pools()).unwrap_or_default()
    }

    /// Changes one of them.
    pub(super) fn change_pool(&self, asked: &PoolChange) -> Result<(), ControlRefusal> {
        let door = self.gateway().ok_or("there is no gateway, and so no pool")?;
        let change = match asked.change.clone() {
            PoolServerChange::Add(server) => DoorChange::Add(server_details(server)),
            PoolServerChange::Replace(servers) => {
                DoorChange::Replace(servers.into_iter().map(server_details).collect())
            }
            PoolServerChange::Remove(url) => DoorChange::Remove(url),
            PoolServerChange::Drain(url) => DoorChange::Drain(url),
            PoolServerChange::Undrain(url) => DoorChange::Undrain(url),
            PoolServerChange::SetWeight(url, weight) => DoorChange::SetWeight(url, weight),
        };
        Ok(door.change_pool(&asked.pool, &change)?)
    }
}

fn server_details(server: NewServer) -> ServerDetails {
    let NewServer { url, weight, backup, max_requests, drain, resolve } = server;
    let resolve = resolve.map(|it| match it {
        PoolResolve::Addresses => ResolveChoice::Addresses,
        PoolResolve::Srv => ResolveChoice::Srv,
    });
    ServerDetails { url, weight, backup, max_requests, drain, resolve }
}

/// As the API tells it.
pub(super) fn pool_info(pool: PoolState) -> PoolInfo {
    let [high, normal, low] = pool.waiting.map(|count| count as u64);
    PoolInfo {
        name: pool.name,
        requests: pool.requests,
        retries: pool.retries,
        waiting_high: high,
        waiting_normal: normal,
        waiting_low: low,
        waited: pool.queued,
        unserved: pool.rejected,
        servers: pool.servers.into_iter().map(pool_server).collect(),
        names: pool.names.into_iter().map(pool_name).collect(),
    }
}

fn pool_name(name: NameState) -> PoolName {
    let NameState { url, resolve, servers, failure, looked_up_ms, next_ms } = name;
    let (looked_up_at, next_at) = (looked_up_ms.map(admin::iso), next_ms.map(admin::iso));
    PoolName { url, resolve: resolve.into(), servers, failure, looked_up_at, next_at }
}

fn pool_server(server: ServerState) -> PoolServer {
    PoolServer {
        url: server.url,
        found_by: server.found_by,
        weight: server.weight,
        backup: server.backup,
        state: server.state.into(),
        health: server.health.into(),
        rests_ms: server.ejected_ms,
        pending: server.pending,
        answers: server.answers,
        failures: server.failures,
        latency_us: server.latency_us,
    }
}

type OfPool = (&'static str, &'static str, MetricType, fn(&PoolState) -> u64);
type OfServer = (&'static str, &'static str, MetricType, fn(&ServerState) -> u64);

/// What is told of each pool.
const BY_POOL: [OfPool; 5] = [
    ("tidegate_pool_requests", "Requests sent to a pool", MetricType::Counter, |it| it.requests),
    ("tidegate_pool_retries", "Requests sent to one more server", MetricType::Counter, |it| {
        it.retries
    }),
    ("tidegate_pool_waiting", "Requests that wait for a server", MetricType::Gauge, |it| {
        it.waiting.iter().sum::<usize>() as u64
    }),
    ("tidegate_pool_waited", "Requests that have waited", MetricType::Counter, |it| it.queued),
    ("tidegate_pool_unserved", "Requests that waited in vain", MetricType::Counter, |it| {
        it.rejected
    }),
];

/// What is told of each server.
const BY_SERVER: [OfServer; 5] = [
    ("tidegate_pool_server_answers", "Answers of a server", MetricType::Counter, |it| it.answers),
    ("tidegate_pool_server_failures", "Requests that it failed", MetricType::Counter, |it| {
        it.failures
    }),
    ("tidegate_pool_server_pending", "Requests that it works on", MetricType::Gauge, |it| {
        it.pending.into()
    }),
    (
        "tidegate_pool_server_latency_microseconds",
        "How long its answers take to begin, as a moving average",
        MetricType::Gauge,
        |it| it.latency_us,
    ),
    ("tidegate_pool_server_up", "Whether it gets requests", MetricType::Gauge, |it| {
        u64::from(matches!(it.state, "up" | "trial"))
    }),
];

/// The pools' figures at one moment.
#[derive(Debug)]
pub(super) struct PoolFigures(pub(super) Vec<PoolState>);

impl Collector for PoolFigures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for (name, help, kind, of) in BY_POOL {
            let rows = self.0.iter().map(|pool| ([("pool", pool.name.as_str())], of(pool)));
            family(&mut encoder, name, help, kind, rows)?;
        }
        for (name, help, kind, of) in BY_SERVER {
            let rows = self.0.iter().flat_map(|pool| {
                pool.servers.iter().map(move |server| {
                    ([("pool", pool.name.as_str()), ("server", server.url.as_str())], of(server))
                })
            });
            family(&mut encoder, name, help, kind, rows)?;
        }
        Ok(())
    }
}

fn family<'r, const LABELS: usize>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    kind: MetricType,
    rows: impl Iterator<Item = ([(&'r str, &'r str); LABELS], u64)>,
) -> fmt::Result {
    let told = match kind {
        MetricType::Counter => ConstCounter::new(0_u64).metric_type(),
        _ => ConstGauge::new(0_i64).metric_type(),
    };
    let mut family = encoder.encode_descriptor(name, help, None, told)?;
    for (labels, value) in rows {
        let mut one = family.encode_family(&labels)?;
        match kind {
            MetricType::Counter => one.encode_counter::<NoLabelSet, _, u64>(&value, None)?,
            _ => one.encode_gauge(&value.cast_signed())?,
        }
    }
    Ok(())
}
