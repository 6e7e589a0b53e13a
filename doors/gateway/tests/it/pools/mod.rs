//! Pools of the gateway on real sockets: who is asked, who waits, who is asked again, who rests.

use crate::support;

mod choosing;
mod health;
mod load;
mod trouble;
mod waiting;

use door_gateway::{BalanceMethod, PoolSettings, Settings};
use std::net::SocketAddr;
use support::simple;
use test_support::until;

/// One pool of these servers, taken in turn, with changes.
fn pool_of(servers: &[SocketAddr], change: impl FnOnce(&mut PoolSettings)) -> Settings {
    let mut settings = simple(servers);
    let pool = settings.pools.get_mut("app").unwrap();
    pool.balance = BalanceMethod::RoundRobin;
    change(pool);
    settings
}

fn span(text: &str) -> settings::Text<vocab::TimeSpan> {
    settings::Text(text.parse().unwrap())
}
