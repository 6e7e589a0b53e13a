//! The gateway's pools as the admin API and the metrics page see them.
//!
//! It translates; the door does what is asked.

use super::RunningApp;
use super::build::LiveRuleTexts;
use admin::{ControlRefusal, PoolChange, PoolServerChange};
use admin_api::{NewServer, PoolInfo, PoolName, PoolResolve, PoolServer};
use door_gateway::{
    NameState, PoolChange as DoorChange, PoolState, ResolveChoice, ServerDetails, ServerState,
};
use ledger::{UpstreamCount, UpstreamCounts};
use metrics_page::{PoolRow, ServerRow};
use resolver::Resolver;
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

/// The resolvers and the servers of pools, as the ledger's statistics count them.
struct CountedUpstreams {
    resolver: Resolver,
    texts: Arc<LiveRuleTexts>,
}

impl UpstreamCounts for CountedUpstreams {
    fn counts(&self) -> Vec<UpstreamCount> {
        // Asked by the ledger's writer, which must wait for no lock that a flush is called under.
        let resolvers = self.resolver.stats().upstreams.into_iter().map(|upstream| UpstreamCount {
            name: upstream.name.to_string(),
            sent: upstream.sent,
            failed: upstream.failed,
            took_us: upstream.times.sum_us,
        });
        let gateway = self.texts.gateway.load_full();
        let pools = gateway.map(|door| door.pools()).unwrap_or_default();
        let servers = pools.into_iter().flat_map(|pool| {
            let name = pool.name;
            pool.servers.into_iter().map(move |server| UpstreamCount {
                name: format!("{name} {}", server.url),
                sent: server.answers + server.failures,
                failed: server.failures,
                took_us: 0,
            })
        });
        resolvers.chain(servers).collect()
    }
}

impl RunningApp {
    /// Has the ledger count by upstream.
    pub(super) fn count_upstreams(&self) {
        let (resolver, texts) = (self.resolver.clone(), Arc::clone(&self.texts));
        self.ledger.count_upstreams(Arc::new(CountedUpstreams { resolver, texts }));
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
    let (looked_up_at, next_at) = (looked_up_ms.map(vocab::iso), next_ms.map(vocab::iso));
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

/// As the metrics page tells it.
pub(super) fn pool_row(pool: PoolState) -> PoolRow {
    let server = |it: ServerState| ServerRow {
        up: matches!(it.state, "up" | "trial"),
        url: it.url,
        answers: it.answers,
        failures: it.failures,
        pending: it.pending.into(),
        latency_us: it.latency_us,
        times: it.times,
    };
    PoolRow {
        waiting: pool.waiting.iter().sum::<usize>() as u64,
        name: pool.name,
        requests: pool.requests,
        retries: pool.retries,
        waited: pool.queued,
        unserved: pool.rejected,
        servers: pool.servers.into_iter().map(server).collect(),
    }
}
