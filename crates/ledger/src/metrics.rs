//! The metrics page, in Prometheus' text format.
//!
//! Counters and histograms are read from the shards when the page is asked for; nothing is kept
//! twice. Other parts add families as collectors of their own. Called through
//! [`crate::Ledger::metrics_text`].

use crate::counters::LedgerCounters;
use crate::writer::WriterShared;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use vocab::Door;

/// The page.
pub(crate) fn text(shared: &Arc<WriterShared>, extra: &[Arc<dyn Collector>]) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(LedgerMetrics(shared.clone())));
    for collector in extra {
        registry.register_collector(Box::new(OtherCollector(collector.clone())));
    }
    let mut page = String::new();
    match prometheus_client::encoding::text::encode(&mut page, &registry) {
        Ok(()) => page,
        // A text grows in memory and cannot fail; a collector of another part might.
        Err(fmt::Error) => "# a collector failed\n# EOF\n".into(),
    }
}

/// A collector of another part.
#[derive(Debug)]
struct OtherCollector(Arc<dyn Collector>);

impl Collector for OtherCollector {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.0.encode(encoder)
    }
}

/// Holds what the ledger counts.
struct LedgerMetrics(Arc<WriterShared>);

impl fmt::Debug for LedgerMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ledger")
    }
}

impl Collector for LedgerMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        requests(&self.0.counters, &mut encoder)?;
        latency(&self.0.counters, &mut encoder)?;
        let lost = [("queue_full", &self.0.dropped_queue), ("store_failed", &self.0.dropped_store)];
        let mut dropped = encoder.encode_descriptor(
            "tidegate_ledger_dropped",
            "Rows of the request log that were not stored",
            None,
            MetricType::Counter,
        )?;
        for (reason, count) in lost {
            counter(&mut dropped, &[("reason", reason)], count.load(Relaxed))?;
        }
        let mut notes = encoder.encode_descriptor(
            "tidegate_notes",
            "Lines that scripts have written to their standard error",
            None,
            MetricType::Counter,
        )?;
        notes.encode_counter::<NoLabelSet, _, u64>(&self.0.notes.seen(), None)?;
        let mut stored = encoder.encode_descriptor(
            "tidegate_ledger_stored",
            "Rows of the request log that were stored",
            None,
            MetricType::Counter,
        )?;
        stored.encode_counter::<NoLabelSet, _, u64>(&self.0.stored.load(Relaxed), None)
    }
}

fn requests(counters: &LedgerCounters, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let mut family = encoder.encode_descriptor(
        "tidegate_requests",
        "Requests by door, by what was done and by where the answer came from",
        None,
        MetricType::Counter,
    )?;
    for (door, action, source, count) in counters.sums().iter() {
        let labels =
            [("door", door.as_str()), ("action", action.as_str()), ("source", source.as_str())];
        counter(&mut family, &labels, count)?;
    }
    Ok(())
}

fn latency(counters: &LedgerCounters, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let mut family = encoder.encode_descriptor(
        "tidegate_request_seconds",
        "Time from a request's last byte in to its answer's first byte out",
        None,
        MetricType::Histogram,
    )?;
    for door in Door::ALL {
        let sum = counters.latency(door);
        let count = sum.count();
        if count == 0 {
            continue;
        }
        // The encoder wants counts of each bucket and adds them up itself.
        let mut below = 0;
        let mut buckets: Vec<(f64, u64)> = sum
            .cumulative()
            .map(|(end_us, cumulative)| {
                let own = cumulative - below;
                below = cumulative;
                (end_us as f64 / 1e6, own)
            })
            .collect();
        buckets.push((f64::INFINITY, count - below));
        family.encode_family(&[("door", door.as_str())])?.encode_histogram::<NoLabelSet>(
            sum.sum_us as f64 / 1e6,
            count,
            &buckets,
            None,
        )?;
    }
    Ok(())
}

fn counter(
    family: &mut prometheus_client::encoding::MetricEncoder<'_>,
    labels: &impl EncodeLabelSet,
    count: u64,
) -> fmt::Result {
    family.encode_family(labels)?.encode_counter::<NoLabelSet, _, u64>(&count, None)
}
