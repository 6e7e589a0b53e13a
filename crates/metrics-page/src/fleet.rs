//! The live state of the fleet: whether its server is there, and what was exchanged with it.

use crate::family::{FamilyHead, write_family};
use ledger::Collector;
use ledger::prometheus_client::encoding::DescriptorEncoder;
use std::fmt;

/// Figures of the live state.
#[derive(Debug, Default)]
pub struct FleetFigures {
    /// True while its server is away.
    pub degraded: bool,
    /// Machines that were seen, this one with them.
    pub edges: u64,
    /// Connections made to the server.
    pub connections: u64,
    /// Entries, purges and leases exchanged.
    pub exchanged: u64,
    /// Entries and purges that wait to be told.
    pub waiting: u64,
    /// Entries and purges that were dropped because too many waited.
    pub dropped: u64,
    /// Answers looked for at the fleet's cache, and told to it, by outcome; none without one.
    pub cache: Option<[(&'static str, u64); 6]>,
    /// HTTP responses, likewise.
    pub responses: Option<[(&'static str, u64); 6]>,
}

impl Collector for FleetFigures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let to = &mut encoder;
        let gauges = [
            ("tidegate_fleet_live_degraded", "1 while the server is away", self.degraded.into()),
            ("tidegate_fleet_edges_seen", "Machines of the fleet, or those seen last", self.edges),
            ("tidegate_fleet_live_waiting", "Entries and purges to be told", self.waiting),
        ];
        for (name, help, value) in gauges {
            write_family(to, FamilyHead::gauge(name, help), [([], value)])?;
        }
        let counters = [
            ("tidegate_fleet_live_connections", "Connections made", self.connections),
            ("tidegate_fleet_live_exchanged", "Entries, purges and leases told", self.exchanged),
            ("tidegate_fleet_live_dropped", "Entries and purges not told", self.dropped),
        ];
        for (name, help, value) in counters {
            write_family(to, FamilyHead::counter(name, help), [([], value)])?;
        }
        let kinds = [
            (
                "tidegate_fleet_cache_answers",
                "Answers looked for at the fleet's cache, and told to it",
                self.cache,
            ),
            (
                "tidegate_fleet_cache_responses",
                "HTTP responses looked for at the fleet's cache, and told to it",
                self.responses,
            ),
        ];
        for (name, help, counts) in kinds {
            let Some(counts) = counts else { continue };
            let rows = counts.map(|(outcome, count)| ([("outcome", outcome)], count));
            write_family(to, FamilyHead::counter(name, help), rows)?;
        }
        Ok(())
    }
}
