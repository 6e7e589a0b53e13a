//! The gateway's pools as the admin API and the metrics page see them.
//!
//! It translates; the door does what is asked.

use super::RunningApp;
use admin::model::{NewServer, PoolInfo, PoolName, PoolResolve, PoolServer};
use admin::{ControlRefusal, PoolChange, PoolServerChange};
use door_gateway::{
    NameState, PoolChange as DoorChange, PoolState, ResolveChoice, ServerDetails, ServerState,
};
use metrics_page::{PoolRow, ServerRow};
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
