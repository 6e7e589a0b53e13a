//! Counts of a batch by door, client, list and upstream, before they are written.
//!
//! All requests are counted by door, from the counters; by client and list, rows of the log are.
//! Filled while a batch is encoded, and by [`super::backfill`].

use super::{CLIENTS, KeyCounts, dimension_code};
use crate::codes::LedgerCode;
use crate::counters::CountedSums;
use crate::row_facts::RowFacts;
use crate::statistics::{StatisticCounts, StatisticDimension, UpstreamCount, client_key};
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::net::IpAddr;
use vocab::{Action, Door, Source};

/// Different clients that a batch holds; the ones beyond count as others.
const CLIENTS_MAX: usize = 1 << 14;

/// Counts of a batch, in which keys are still numbers or addresses.
#[derive(Default)]
pub(in crate::store) struct StatisticsSums {
    total: StatisticCounts,
    doors: Vec<(Door, StatisticCounts)>,
    clients: HashMap<IpAddr, StatisticCounts, RandomState>,
    other_clients: StatisticCounts,
    lists: HashMap<Box<str>, StatisticCounts, RandomState>,
    upstreams: Vec<KeyCounts>,
}

/// Counts of a batch, ready to be written.
pub(in crate::store) struct StatisticsBatch {
    entries: [(u8, Vec<KeyCounts>); 5],
}

impl StatisticCounts {
    /// Counts one row.
    pub(in crate::store) fn count_row(&mut self, facts: RowFacts, bytes: u32, took_us: u32) {
        self.count(facts.action(), facts.source(), 1);
        self.bytes += u64::from(bytes);
        self.took_us += u64::from(took_us);
    }

    /// Counts requests, without their bytes and times.
    pub(super) fn count(&mut self, action: Action, source: Source, count: u64) {
        match action {
            Action::Pass => self.passed += count,
            Action::Block => self.blocked += count,
        }
        match source {
            Source::Cache | Source::Stale => self.cached += count,
            Source::Failed => self.failed += count,
            Source::Policy
            | Source::Local
            | Source::Upstream
            | Source::Origin
            | Source::File
            | Source::Tunnel
            | Source::Refused => {}
        }
    }
}

impl StatisticsSums {
    /// Takes over what was counted of all requests, rows or not.
    pub(in crate::store) fn add_counted(&mut self, counted: &CountedSums) {
        for (door, action, source, count) in counted.counts.iter() {
            self.door(door).count(action, source, count);
        }
        for (door, _, _, took_us) in counted.times_us.iter() {
            self.door(door).took_us += took_us;
        }
        for door in Door::ALL {
            let bytes = counted.bytes[usize::from(door.code())];
            if bytes > 0 {
                self.door(door).bytes += bytes;
            }
        }
        self.sum_doors();
    }

    /// The counts of a door.
    pub(super) fn door(&mut self, door: Door) -> &mut StatisticCounts {
        let place = self.doors.iter().position(|(it, _)| *it == door).unwrap_or_else(|| {
            self.doors.push((door, StatisticCounts::default()));
            self.doors.len() - 1
        });
        &mut self.doors[place].1
    }

    /// Makes the counts of all doors those of all requests.
    pub(super) fn sum_doors(&mut self) {
        self.total = StatisticCounts::default();
        for (_, counts) in &self.doors {
            self.total.add(counts);
        }
    }

    /// Adds requests of a client.
    pub(in crate::store) fn add_client(&mut self, client: IpAddr, counts: &StatisticCounts) {
        if let Some(sum) = self.clients.get_mut(&client) {
            sum.add(counts);
        } else if self.clients.len() < CLIENTS_MAX {
            self.clients.insert(client, *counts);
        } else {
            self.other_clients.add(counts);
        }
    }

    /// Adds requests that a list decided.
    pub(in crate::store) fn add_list(&mut self, list: &str, counts: &StatisticCounts) {
        if let Some(sum) = self.lists.get_mut(list) {
            sum.add(counts);
        } else {
            self.lists.insert(list.into(), *counts);
        }
    }

    /// Takes over what upstreams were sent.
    pub(in crate::store) fn add_upstreams(&mut self, upstreams: &[UpstreamCount]) {
        self.upstreams.extend(upstreams.iter().map(|it| {
            let counts = StatisticCounts {
                passed: it.sent,
                failed: it.failed,
                took_us: it.took_us,
                ..StatisticCounts::default()
            };
            (it.name.clone().into_bytes(), counts)
        }));
    }

    /// The batch, those with most requests first: they find room before the others.
    pub(in crate::store) fn finish(self) -> StatisticsBatch {
        let door = |(door, counts): (Door, _)| (vec![door.code()], counts);
        let mut clients: Vec<KeyCounts> =
            self.clients.into_iter().map(|(client, counts)| (client_key(client), counts)).collect();
        let mut lists: Vec<KeyCounts> =
            self.lists.into_iter().map(|(list, counts)| (key_of(&list), counts)).collect();
        for entries in [&mut clients, &mut lists] {
            entries.sort_unstable_by(|(a, one), (b, other)| {
                other.requests().cmp(&one.requests()).then_with(|| a.cmp(b))
            });
        }
        if self.other_clients != StatisticCounts::default() {
            clients.push((Vec::new(), self.other_clients));
        }
        let total = if self.doors.is_empty() { Vec::new() } else { vec![(Vec::new(), self.total)] };
        let code = |dimension| dimension_code(Some(dimension));
        StatisticsBatch {
            entries: [
                (dimension_code(None), total),
                (code(StatisticDimension::Door), self.doors.into_iter().map(door).collect()),
                (CLIENTS, clients),
                (code(StatisticDimension::List), lists),
                (code(StatisticDimension::Upstream), self.upstreams),
            ],
        }
    }
}

/// The key of a name: not the empty one, which stands for others.
fn key_of(name: &str) -> Vec<u8> {
    if name.is_empty() { b"?".to_vec() } else { name.as_bytes().to_vec() }
}

impl StatisticsBatch {
    /// Each dimension that has counts.
    pub(super) fn by_dimension(&self) -> impl Iterator<Item = (u8, &[KeyCounts])> {
        self.entries
            .iter()
            .filter(|(_, entries)| !entries.is_empty())
            .map(|(code, entries)| (*code, &**entries))
    }
}
