//! The order in which servers take turns: by weight, the heavy ones evenly spread.
//!
//! Laid out once when the servers or their weights change, so that a turn costs one step. Called by
//! `pool`.

use crate::server::PooledServer;
use std::sync::Arc;

/// Servers of one rank: those that serve, or those that stand by.
#[derive(Debug, Default)]
pub(crate) struct ServerTier {
    /// Each once, by its index in the pool.
    pub(crate) members: Vec<u16>,
    /// Each as often as its weight says. At most 256 servers × weight 100.
    pub(crate) schedule: Vec<u16>,
}

/// Both ranks of a pool.
#[derive(Debug, Default)]
pub(crate) struct PoolTiers {
    pub(crate) first: ServerTier,
    pub(crate) backup: ServerTier,
}

impl PoolTiers {
    pub(crate) fn of(servers: &[Arc<PooledServer>]) -> Self {
        let lane = |backup: bool| {
            let ranked = servers.iter().enumerate().filter(|(_, it)| it.is_backup() == backup);
            let each = ranked.filter_map(|(index, _)| u16::try_from(index).ok()).collect();
            ServerTier::new(each, |index| servers[index].weight())
        };
        Self { first: lane(false), backup: lane(true) }
    }
}

impl ServerTier {
    /// The smooth order that nginx made known: each gains its weight every turn, the richest is
    /// taken and pays what all have gained.
    fn new(members: Vec<u16>, weight: impl Fn(usize) -> u32) -> Self {
        let weights: Vec<i64> = members.iter().map(|&it| i64::from(weight(it.into()))).collect();
        let shared = weights.iter().copied().fold(0, divisor).max(1);
        let total: i64 = weights.iter().sum::<i64>() / shared;
        let mut riches = vec![0_i64; members.len()];
        let mut schedule = Vec::with_capacity(usize::try_from(total).unwrap_or(0));
        for _ in 0..total {
            for (rich, weight) in riches.iter_mut().zip(&weights) {
                *rich += weight / shared;
            }
            // The first of equals: `max_by_key` would take the last.
            let richest = (0..riches.len()).rev().max_by_key(|&at| riches[at]);
            if let Some(at) = richest {
                riches[at] -= total;
                schedule.push(members[at]);
            }
        }
        Self { members, schedule }
    }
}

fn divisor(one: i64, other: i64) -> i64 {
    if other == 0 { one } else { divisor(other, one % other) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heavy_servers_are_spread_evenly() {
        let check = |weights: &[u32], turns: &[u16]| {
            let each = (0..u16::try_from(weights.len()).expect("few")).collect();
            assert_eq!(
                ServerTier::new(each, |index| weights[index]).schedule,
                turns,
                "{weights:?}"
            );
        };
        check(&[1, 1, 1], &[0, 1, 2]);
        check(&[5, 1, 1], &[0, 0, 1, 0, 2, 0, 0]);
        check(&[20, 10], &[0, 1, 0]);
        check(&[], &[]);
    }
}
