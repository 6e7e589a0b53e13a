//! The HTTP caches of the doors.

use crate::family::{FamilyHead, write_family};
use admin_api::StoreInfo;
use ledger::Collector;
use ledger::prometheus_client::encoding::DescriptorEncoder;
use ledger::prometheus_client::metrics::MetricType;
use std::fmt;

type OfStore = (&'static str, &'static str, MetricType, fn(&StoreInfo) -> u64);

/// Families, and the figure of each.
const BY_STORE: [OfStore; 12] = [
    ("tidegate_store_entries", "Responses in memory", MetricType::Gauge, |it| it.entries),
    ("tidegate_store_bytes", "Memory of the responses", MetricType::Gauge, |it| it.bytes),
    ("tidegate_store_hits", "Requests answered from what was fresh", MetricType::Counter, |it| {
        it.hits
    }),
    ("tidegate_store_stale", "Requests answered from what was stale", MetricType::Counter, |it| {
        it.stale
    }),
    (
        "tidegate_store_collapsed",
        "Requests that got what another client's fetch brought",
        MetricType::Counter,
        |it| it.collapsed,
    ),
    (
        "tidegate_store_fetched",
        "Requests for which the origin was asked",
        MetricType::Counter,
        |it| it.fetched,
    ),
    (
        "tidegate_store_confirmed",
        "Stored responses that the origin confirmed",
        MetricType::Counter,
        |it| it.confirmed,
    ),
    ("tidegate_store_stored", "Answers that were stored", MetricType::Counter, |it| it.stored),
    ("tidegate_store_not_stored", "Answers that were not stored", MetricType::Counter, |it| {
        it.not_stored
    }),
    ("tidegate_store_broken", "Fetches that broke off", MetricType::Counter, |it| it.broken),
    ("tidegate_store_disk_entries", "Responses on disk", MetricType::Gauge, |it| {
        it.disk.as_ref().map_or(0, |disk| disk.entries)
    }),
    ("tidegate_store_disk_bytes", "Disk that they take", MetricType::Gauge, |it| {
        it.disk.as_ref().map_or(0, |disk| disk.bytes)
    }),
];

/// All stores.
#[derive(Debug, Default)]
pub struct StoreFigures(pub Vec<StoreInfo>);

impl Collector for StoreFigures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for (name, help, kind, of) in BY_STORE {
            let rows = self.0.iter().map(|store| ([("door", store.door.as_str())], of(store)));
            write_family(&mut encoder, FamilyHead { name, help, kind }, rows)?;
        }
        Ok(())
    }
}
