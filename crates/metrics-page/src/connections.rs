//! Connections of the doors, and what moved over them.

use crate::family::{FamilyHead, write_family};
use ledger::Collector;
use ledger::prometheus_client::encoding::DescriptorEncoder;
use ledger::prometheus_client::metrics::MetricType;
use std::fmt;
use transport::ConnectionCounts;

/// Connections of one door.
#[derive(Clone, Copy, Debug)]
pub struct DoorConnections {
    /// The door.
    pub door: &'static str,
    /// Counts of all its listeners together.
    pub counts: ConnectionCounts,
}

/// Connections of all doors that run.
#[derive(Debug, Default)]
pub struct ConnectionFigures(pub Vec<DoorConnections>);

type OfDoor = (&'static str, &'static str, MetricType, fn(&ConnectionCounts) -> u64);

const BY_DOOR: [OfDoor; 5] = [
    ("tidegate_connections_open", "Connections open now", MetricType::Gauge, |it| it.open as u64),
    ("tidegate_connections_accepted", "Connections accepted", MetricType::Counter, |it| {
        it.accepted
    }),
    (
        "tidegate_accept_pauses",
        "Pauses of accepting because descriptors or memory had run out",
        MetricType::Counter,
        |it| it.exhausted,
    ),
    (
        "tidegate_connection_received_bytes",
        "Bytes that came over connections, TLS included",
        MetricType::Counter,
        |it| it.received_bytes,
    ),
    (
        "tidegate_connection_sent_bytes",
        "Bytes that went out over connections, TLS included",
        MetricType::Counter,
        |it| it.sent_bytes,
    ),
];

impl Collector for ConnectionFigures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for (name, help, kind, of) in BY_DOOR {
            let rows = self.0.iter().map(|it| ([("door", it.door)], of(&it.counts)));
            write_family(&mut encoder, FamilyHead { name, help, kind }, rows)?;
        }
        let refused = self.0.iter().flat_map(|it| {
            [("total", it.counts.refused_full), ("client", it.counts.refused_client)]
                .map(|(limit, count)| ([("door", it.door), ("limit", limit)], count))
        });
        write_family(
            &mut encoder,
            FamilyHead::counter(
                "tidegate_connections_refused",
                "Connections closed at once because a limit was reached",
            ),
            refused,
        )
    }
}
