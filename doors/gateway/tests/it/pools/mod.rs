//! Pools of the gateway on real sockets: who is asked, who waits, who is asked again, who rests.

use crate::support;

mod choosing;
mod health;
mod load;
mod trouble;
mod waiting;

use door_gateway::{BalanceMethod, PoolSettings, Settings};
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use support::{DEADLINE, simple};

/// One pool of these servers, taken in turn, with changes.
fn pool_of(servers: &[SocketAddr], change: impl FnOnce(&mut PoolSettings)) -> Settings {
    let mut settings = simple(servers);
    let pool = settings.pools.get_mut("app").unwrap();
    pool.balance = BalanceMethod::RoundRobin;
    change(pool);
    settings
}

/// Waits until it is so; a test that waits for longer has failed.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn span(text: &str) -> settings::Text<vocab::TimeSpan> {
    settings::Text(text.parse().unwrap())
}
