//! Leases: asks for tokens of shared limits ahead of their need, many in one round.

use super::LiveSession;
use crate::server::LiveFailure;
use rate_limit::LeaseGrant;
use std::convert::Infallible;
use std::time::Duration;

/// Leases that are asked for in one round.
const ROUND: usize = 256;
/// Time that a round may take: beyond it the server counts as away.
const LEASE_MAX: Duration = Duration::from_millis(100);

impl LiveSession<'_> {
    /// Asks for whatever leases are wanted, as they are.
    pub(super) async fn keep_leasing(&self) -> Result<Infallible, LiveFailure> {
        let core = self.core;
        let mut commands = self.commands();
        loop {
            let wanted = core.lease_wanted.notified();
            let asks = core.leases.asks(ROUND);
            if asks.is_empty() {
                wanted.await;
                continue;
            }
            let mut round = redis::pipe();
            for ask in &asks {
                let bucket = format!("{}{:032x}", core.keys.buckets, ask.bucket.0);
                let one =
                    round.cmd("EVALSHA").arg(core.scripts.lease.get_hash()).arg(1).arg(bucket);
                one.arg(ask.rate.interval_us())
                    .arg(ask.rate.burst())
                    .arg(ask.spent)
                    .arg(ask.wanted);
            }
            let answer = round.query_async::<Vec<(u32, u32, u64)>>(&mut commands);
            let answer = tokio::time::timeout(LEASE_MAX, answer).await;
            let grants = answer.map_err(|_| LiveFailure::Slow)??;
            if grants.len() != asks.len() {
                return Err(LiveFailure::Answer("leases"));
            }
            core.health.count_exchange(grants.len() as u64);
            let now = (core.clock)();
            for (ask, (granted, left, wait_us)) in asks.iter().zip(grants) {
                core.leases.grant(ask, LeaseGrant { granted, left, wait_us }, now.mono_ms);
            }
        }
    }
}
